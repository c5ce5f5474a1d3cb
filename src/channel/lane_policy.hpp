// Chooses the lane of a channel that takes the next frame. Pure; ties go to list order. Tests:
// tests/unit/channel/lane_policy_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace couplet::channel {

enum class LaneRule : std::uint8_t {
  first,  // the first lane that works; the others are a reserve
  // Short payloads over the first lane that works and is for short ones. Long payloads over that lane for long ones,
  // among those that can take a frame now, that was given the fewest bytes so far.
  by_size,
  round_robin,  // among the lanes that can take a frame now, the one that was given the fewest bytes so far
};

// Which payloads a lane is for, by the rule by_size. If no lane for a payload works, any other one takes it.
enum class LaneUse : std::uint8_t { all, short_ones, long_ones };

struct LanePolicy {
  LaneRule rule = LaneRule::first;
  std::uint64_t max_short_bytes = 16U << 10;  // used by by_size
  // Used by by_size. Lanes over short_link carry only short payloads, and lanes over long_link only long ones. The
  // names are those of LaneTraits, and outlive the policy. Empty: there is no such link.
  std::string_view short_link;
  std::string_view long_link;
};

// Returns what a lane over that link is for.
[[nodiscard]] constexpr LaneUse lane_use(const LanePolicy& policy, std::string_view link) noexcept {
  if (policy.rule != LaneRule::by_size || link.empty()) {
    return LaneUse::all;
  }
  return link == policy.short_link ? LaneUse::short_ones : link == policy.long_link ? LaneUse::long_ones : LaneUse::all;
}

// Payloads (of messages) that are longer than this go over the second of two links, unless a setting says otherwise.
struct Threshold {
  std::string_view short_link;
  std::string_view long_link;
  std::uint64_t max_short_bytes = 0;
};
// What was measured, see docs/guide/links.md. The last row is for all other pairs.
inline constexpr std::array<Threshold, 2> thresholds = {{
    {.short_link = "tcp", .long_link = "file", .max_short_bytes = 512U << 10},
    {.short_link = {}, .long_link = {}, .max_short_bytes = 64U << 10},
}};
[[nodiscard]] constexpr std::uint64_t default_threshold(std::string_view short_link,
                                                        std::string_view long_link) noexcept {
  for (const Threshold& row : thresholds) {
    if (row.short_link.empty() || (row.short_link == short_link && row.long_link == long_link)) {
      return row.max_short_bytes;
    }
  }
  return 0;
}

// Is a message of that size long for the policy? Then all its frames go over the lanes for long payloads.
[[nodiscard]] constexpr bool is_long(const LanePolicy& policy, std::uint64_t message_bytes) noexcept {
  return policy.rule == LaneRule::by_size && message_bytes > policy.max_short_bytes;
}

// Says which messages a lane carries, for `couplet explain`.
[[nodiscard]] inline std::string carries(const LanePolicy& policy, LaneUse use) {
  switch (use) {
    case LaneUse::short_ones:
      return fmt::format("messages of up to {} bytes", policy.max_short_bytes);
    case LaneUse::long_ones:
      return fmt::format("messages of more than {} bytes", policy.max_short_bytes);
    case LaneUse::all:
      break;
  }
  const bool by_size = policy.rule == LaneRule::by_size;
  return by_size ? fmt::format("parts of messages of more than {} bytes", policy.max_short_bytes) : "all messages";
}

// The state of a lane, as far as the choice needs it.
struct LaneLoad {
  bool works = false;  // it has not broken, and both sides know the session
  bool free = false;   // no frame is sent in part, and no frame was refused in this round
  std::uint32_t largest_payload = 0;
  std::uint64_t given_bytes = 0;
  LaneUse use = LaneUse::all;
};

inline constexpr std::size_t no_lane_now = SIZE_MAX;

// A frame, as far as the choice needs it.
struct FrameSize {
  std::uint64_t payload_bytes = 0;
  bool of_long_message = false;  // it is a part of a message that is longer than LanePolicy::max_short_bytes
};

// Returns the lane for a frame of this size, or no_lane_now if the frame has to wait.
[[nodiscard]] inline std::size_t choose_lane(const LanePolicy& policy, const FrameSize& frame,
                                             std::span<const LaneLoad> lanes) noexcept {
  const bool is_long = frame.of_long_message || frame.payload_bytes > policy.max_short_bytes;
  const LaneUse wrong = is_long ? LaneUse::short_ones : LaneUse::long_ones;
  const bool balanced = policy.rule == LaneRule::round_robin || (policy.rule == LaneRule::by_size && is_long);
  const auto fits = [&](const LaneLoad& lane) { return lane.works && lane.largest_payload >= frame.payload_bytes; };
  bool any_right = false;
  for (const LaneLoad& lane : lanes) {
    any_right = any_right || (fits(lane) && lane.use != wrong);
  }
  std::size_t chosen = no_lane_now;
  for (std::size_t index = 0; index < lanes.size(); ++index) {
    const LaneLoad& lane = lanes[index];
    if (!fits(lane) || (any_right && lane.use == wrong) || (balanced && !lane.free)) {
      continue;
    }
    if (chosen == no_lane_now || (balanced && lane.given_bytes < lanes[chosen].given_bytes)) {
      chosen = index;
    }
  }
  return chosen != no_lane_now && lanes[chosen].free ? chosen : no_lane_now;
}

}  // namespace couplet::channel
