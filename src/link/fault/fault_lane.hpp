// fault: wraps any lane and does, by seed and rate, what a bad network does: it drops, duplicates, swaps, corrupts,
// truncates and delays frames, and dies. It is between the channel, which must detect the damage, and the wrapped lane.
// Wrap both ends, since the traits demand check sums.
// Invariants: only arriving frames are damaged, so that the wrapped lane itself sees only good ones; a run with the
// same seed over a lane that behaves the same does the same; if only `delay` is set, nothing is damaged.
// Tests: tests/conformance/link, tests/sim.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "link/link.hpp"

namespace couplet::link {

// Each rate is the probability for one frame.
struct FaultOptions {
  double drop = 0;
  double duplicate = 0;
  double swap = 0;            // the next frame comes first; nothing happens if none follows
  double corrupt_header = 0;  // one bit
  double corrupt_payload = 0;
  double truncate = 0;  // the payload is shorter than the header says
  double delay = 0;     // the frame and all after it wait for some polls
  std::uint32_t longest_delay_polls = 8;
  // Number of delivered frames after which this end is gone. The peer then sees its lane end.
  std::uint64_t die_after_frames = UINT64_MAX;
  std::string_view name = "fault";  // the name of the link in the lane's traits
};

// Counts the damage. If it is given, it outlives the lane.
struct FaultCounts {
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t swapped = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t truncated = 0;
  std::uint64_t delayed = 0;
  std::uint64_t died = 0;
  [[nodiscard]] std::uint64_t damaged() const noexcept {
    return dropped + duplicated + swapped + corrupted + truncated;
  }
};

[[nodiscard]] std::unique_ptr<Lane> make_fault_lane(std::unique_ptr<Lane> lane, const FaultOptions& options,
                                                    std::uint64_t seed, FaultCounts* counts = nullptr);

}  // namespace couplet::link
