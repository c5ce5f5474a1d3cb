// Which lane takes a frame.
#include <gtest/gtest.h>

#include <vector>

#include "channel/lane_policy.hpp"

namespace couplet::channel {
namespace {

constexpr LaneLoad idle{.works = true, .free = true, .largest_payload = 1'000'000, .given_bytes = 0};
constexpr LaneLoad busy{.works = true, .free = false, .largest_payload = 1'000'000, .given_bytes = 0};
constexpr LaneLoad dead{.works = false, .free = true, .largest_payload = 1'000'000, .given_bytes = 0};

LaneLoad given(std::uint64_t bytes) {
  LaneLoad load = idle;
  load.given_bytes = bytes;
  return load;
}

TEST(LanePolicy, chooses) {
  struct Row {
    LaneRule rule;
    std::uint64_t payload_bytes;
    std::vector<LaneLoad> lanes;
    std::size_t chosen;
  };
  const LaneLoad narrow{.works = true, .free = true, .largest_payload = 10, .given_bytes = 0};
  const std::vector<Row> rows = {
      {LaneRule::first, 8, {}, no_lane_now},
      {LaneRule::first, 8, {idle, idle}, 0},
      {LaneRule::first, 8, {busy, idle}, no_lane_now},
      {LaneRule::first, 8, {dead, idle}, 1},
      {LaneRule::first, 80, {narrow, idle}, 1},
      {LaneRule::by_size, 100, {idle, idle, idle}, 0},
      {LaneRule::by_size, 101, {idle, idle, idle}, 2},
      {LaneRule::by_size, 101, {idle, busy}, no_lane_now},
      {LaneRule::by_size, 101, {idle, dead}, 0},
      {LaneRule::by_size, 5, {dead, busy, idle}, no_lane_now},
      {LaneRule::round_robin, 8, {given(5), given(4), given(4)}, 1},
      {LaneRule::round_robin, 8, {given(5), busy, given(9)}, 0},
      {LaneRule::round_robin, 8, {busy, busy}, no_lane_now},
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const LanePolicy policy{.rule = rows[row].rule, .max_short_bytes = 100};
    EXPECT_EQ(choose_lane(policy, rows[row].payload_bytes, rows[row].lanes), rows[row].chosen) << "row " << row;
  }
}

}  // namespace
}  // namespace couplet::channel
