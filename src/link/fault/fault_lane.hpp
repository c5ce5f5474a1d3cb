// fault: wraps any lane and does, by seed and rate, what a bad network does: drop, duplicate, swap, corrupt, truncate, delay,
// die. Above: channel, which must find out; tests. Below: the wrapped lane. Wrap both ends, as the traits demand check sums.
// Invariants: damage is done to what arrives, so that the wrapped lane itself sees only good frames; a run with the same seed
// over a lane that behaves the same does the same; with only `delay` set nothing is damaged.
// Tests: tests/conformance/link, tests/sim.
#pragma once

#include <cstdint>
#include <memory>

#include "link/link.hpp"

namespace couplet::link {

// Each rate is the probability per frame.
struct FaultOptions {
  double drop = 0;
  double duplicate = 0;
  double swap = 0;            // the next frame comes first (nothing happens where none follows)
  double corrupt_header = 0;  // one bit
  double corrupt_payload = 0;
  double truncate = 0;  // the payload is shorter than the header says
  double delay = 0;     // the frame and all behind it wait for some polls
  std::uint32_t longest_delay_polls = 8;
  std::uint64_t die_after_frames = UINT64_MAX;  // delivered; then this end is gone, the peer sees its lane end
};

// What was done; outlives the lane where given.
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
