// Chooses the lane of a channel that takes the next frame. Pure; ties go to list order. Tests:
// tests/unit/channel/test_lane_policy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace couplet::channel {

enum class LaneRule : std::uint8_t {
  first,        // the first lane that works; the others are a reserve
  by_size,      // short payloads over the first lane that works, long ones over the last
  round_robin,  // among the lanes that can take a frame now, the one that was given the fewest bytes so far
};

struct LanePolicy {
  LaneRule rule = LaneRule::first;
  std::uint32_t max_short_bytes = 16U << 10;  // used by by_size
};

// The state of a lane, as far as the choice needs it.
struct LaneLoad {
  bool works = false;  // it has not broken, and both sides know the session
  bool free = false;   // no frame is sent in part, and no frame was refused in this round
  std::uint32_t largest_payload = 0;
  std::uint64_t given_bytes = 0;
};

inline constexpr std::size_t no_lane_now = SIZE_MAX;

// Returns the lane for a payload of this size, or no_lane_now if the frame has to wait.
[[nodiscard]] inline std::size_t choose_lane(const LanePolicy& policy, std::uint64_t payload_bytes,
                                             std::span<const LaneLoad> lanes) noexcept {
  std::size_t chosen = no_lane_now;
  for (std::size_t index = 0; index < lanes.size(); ++index) {
    const LaneLoad& lane = lanes[index];
    if (!lane.works || lane.largest_payload < payload_bytes) {
      continue;
    }
    const bool first = chosen == no_lane_now;
    switch (policy.rule) {
      case LaneRule::first:
        chosen = first ? index : chosen;
        break;
      case LaneRule::by_size:
        chosen = first || payload_bytes > policy.max_short_bytes ? index : chosen;
        break;
      case LaneRule::round_robin:
        if (lane.free && (first || lane.given_bytes < lanes[chosen].given_bytes)) {
          chosen = index;
        }
        break;
    }
  }
  return chosen != no_lane_now && lanes[chosen].free ? chosen : no_lane_now;
}

}  // namespace couplet::channel
