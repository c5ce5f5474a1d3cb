// Which lane takes a frame.
#include "channel/lane_policy.hpp"

#include <gtest/gtest.h>

#include <vector>

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

LaneLoad in_use(LaneLoad load, LaneUse use) {
  load.use = use;
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
  const LaneLoad for_short = in_use(idle, LaneUse::short_ones);
  const LaneLoad for_long = in_use(idle, LaneUse::long_ones);
  const std::vector<Row> rows = {
      {LaneRule::first, 8, {}, no_lane_now},
      {LaneRule::first, 8, {idle, idle}, 0},
      {LaneRule::first, 8, {busy, idle}, no_lane_now},
      {LaneRule::first, 8, {dead, idle}, 1},
      {LaneRule::first, 80, {narrow, idle}, 1},
      {LaneRule::by_size, 100, {idle, idle, idle}, 0},
      {LaneRule::by_size, 100, {busy, idle, idle}, no_lane_now},
      {LaneRule::by_size, 5, {dead, busy, idle}, no_lane_now},
      // Several streams: long payloads over all lanes.
      {LaneRule::by_size, 101, {given(5), given(4), given(4)}, 1},
      {LaneRule::by_size, 101, {idle, busy}, 0},
      {LaneRule::by_size, 101, {busy, busy}, no_lane_now},
      {LaneRule::by_size, 101, {idle, dead}, 0},
      // A hybrid connection.
      {LaneRule::by_size, 100, {for_short, for_long}, 0},
      {LaneRule::by_size, 101, {for_short, for_long}, 1},
      {LaneRule::by_size, 101, {for_long, for_short, for_long}, 0},
      {LaneRule::by_size, 101, {for_short, in_use(busy, LaneUse::long_ones)}, no_lane_now},
      {LaneRule::by_size, 100, {in_use(busy, LaneUse::short_ones), for_long}, no_lane_now},
      // What one of its lanes no longer carries, the other one does.
      {LaneRule::by_size, 101, {for_short, in_use(dead, LaneUse::long_ones)}, 0},
      {LaneRule::by_size, 100, {in_use(dead, LaneUse::short_ones), for_long}, 1},
      {LaneRule::by_size, 101, {for_short, in_use(narrow, LaneUse::long_ones)}, 0},
      {LaneRule::round_robin, 8, {given(5), given(4), given(4)}, 1},
      {LaneRule::round_robin, 8, {given(5), busy, given(9)}, 0},
      {LaneRule::round_robin, 8, {busy, busy}, no_lane_now},
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const LanePolicy policy{.rule = rows[row].rule, .max_short_bytes = 100};
    const FrameSize frame{.payload_bytes = rows[row].payload_bytes};
    EXPECT_EQ(choose_lane(policy, frame, rows[row].lanes), rows[row].chosen) << "row " << row;
  }
}

TEST(LanePolicy, keeps_all_frames_of_a_long_message_on_one_lane) {
  const LanePolicy policy{.rule = LaneRule::by_size, .max_short_bytes = 100};
  const std::vector<LaneLoad> lanes = {in_use(idle, LaneUse::short_ones), in_use(idle, LaneUse::long_ones)};
  EXPECT_EQ(choose_lane(policy, {.payload_bytes = 7, .of_long_message = true}, lanes), 1U);
}

TEST(LanePolicy, knows_what_a_link_is_for) {
  const LanePolicy hybrid{.rule = LaneRule::by_size, .max_short_bytes = 100, .short_link = "tcp", .long_link = "file"};
  EXPECT_EQ(lane_use(hybrid, "tcp"), LaneUse::short_ones);
  EXPECT_EQ(lane_use(hybrid, "file"), LaneUse::long_ones);
  EXPECT_EQ(lane_use(hybrid, "shm"), LaneUse::all);
  EXPECT_EQ(lane_use({.rule = LaneRule::by_size}, "tcp"), LaneUse::all);
  EXPECT_EQ(lane_use({.rule = LaneRule::first, .short_link = "tcp"}, "tcp"), LaneUse::all);
}

TEST(LanePolicy, says_what_a_lane_carries) {
  const LanePolicy hybrid{.rule = LaneRule::by_size, .max_short_bytes = 100, .short_link = "tcp", .long_link = "file"};
  EXPECT_EQ(carries(hybrid, LaneUse::short_ones), "messages of up to 100 bytes");
  EXPECT_EQ(carries(hybrid, LaneUse::long_ones), "messages of more than 100 bytes");
  EXPECT_EQ(carries({.rule = LaneRule::by_size, .max_short_bytes = 7}, LaneUse::all),
            "parts of messages of more than 7 bytes");
  EXPECT_EQ(carries({}, LaneUse::all), "all messages");
}

TEST(LanePolicy, has_a_threshold_for_each_pair_of_links) {
  EXPECT_EQ(default_threshold("tcp", "file"), thresholds[0].max_short_bytes);
  EXPECT_EQ(default_threshold("file", "tcp"), thresholds[1].max_short_bytes);
}

}  // namespace
}  // namespace couplet::channel
