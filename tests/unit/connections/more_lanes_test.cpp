// Which lanes a connection has beside its first one, and when a missing one is dialed.
#include "connections/more_lanes.hpp"

#include <gmock/gmock.h>

namespace couplet::connections {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr LanePlan hybrid{.short_link = "tcp", .long_link = "file"};

std::vector<WantedLanes> tcp_and_file() {
  return {{.link = "tcp", .count = 1}, {.link = "file", .count = 1}};
}

TEST(WantedLanes, are_none_beside_one_lane) {
  EXPECT_TRUE(wanted_lanes({}, "tcp").empty());
  EXPECT_TRUE(wanted_lanes({}, "file").empty());
}

TEST(WantedLanes, of_a_hybrid_connection_are_both_whichever_was_first) {
  EXPECT_EQ(wanted_lanes(hybrid, "tcp"), tcp_and_file());
  EXPECT_EQ(wanted_lanes(hybrid, "file"), tcp_and_file());
  EXPECT_TRUE(wanted_lanes(hybrid, "shm").empty());
}

TEST(WantedLanes, are_streams_of_tcp_for_long_messages_only) {
  EXPECT_EQ(wanted_lanes({.tcp_streams = 4}, "tcp"), (std::vector<WantedLanes>{{.link = "tcp", .count = 4}}));
  EXPECT_TRUE(wanted_lanes({.tcp_streams = 4}, "file").empty());
  LanePlan both = hybrid;
  both.tcp_streams = 4;
  EXPECT_EQ(wanted_lanes(both, "tcp"), tcp_and_file());
  std::swap(both.short_link, both.long_link);
  EXPECT_EQ(wanted_lanes(both, "tcp")[1].count, 4U);
}

TEST(MoreLanes, dials_what_is_missing_one_after_the_other) {
  MoreLanes more({{.link = "tcp", .count = 3}}, true, 1);
  EXPECT_EQ(more.next({3}, second_ns), std::nullopt);
  EXPECT_EQ(more.next({1}, second_ns), "tcp");
  more.dialing("tcp");
  EXPECT_TRUE(more.is_dialing("tcp"));
  EXPECT_EQ(more.next({1}, second_ns), std::nullopt);
  more.made("tcp");
  EXPECT_EQ(more.next({2}, second_ns), "tcp");
}

TEST(MoreLanes, lets_one_side_dial_first_and_the_other_later) {
  MoreLanes more(tcp_and_file(), false, 1);
  EXPECT_EQ(more.next({1, 0}, second_ns), std::nullopt);
  EXPECT_EQ(more.next({1, 0}, 2 * second_ns), std::nullopt);
  EXPECT_EQ(more.next({1, 0}, 3 * second_ns), "file");
  // A lane that is lost later is waited for anew.
  EXPECT_EQ(more.next({1, 1}, 4 * second_ns), std::nullopt);
  EXPECT_EQ(more.next({0, 1}, 5 * second_ns), std::nullopt);
  EXPECT_EQ(more.next({0, 1}, 7 * second_ns), "tcp");
}

TEST(MoreLanes, dials_again_later_if_nobody_answers_and_says_why) {
  MoreLanes more(tcp_and_file(), true, 1);
  more.dialing("file");
  more.failed("file", fail(Code::peer_lost, "it has no inbox"), second_ns);
  EXPECT_EQ(more.next({1, 0}, second_ns), std::nullopt);
  EXPECT_EQ(more.next({1, 0}, 2 * second_ns), "file");
  EXPECT_EQ(more.reasons(), "file: it has no inbox");
  more.made("file");
  EXPECT_EQ(more.reasons(), "");
}

TEST(MoreLanes, does_not_dial_again_if_the_peer_does_not_want_the_lane) {
  MoreLanes more(tcp_and_file(), true, 1);
  more.dialing("file");
  more.failed("file", fail(Code::unsupported, "process 8 uses one lane"), second_ns);
  EXPECT_EQ(more.next({1, 0}, 100 * second_ns), std::nullopt);
  EXPECT_THAT(more.reasons(), HasSubstr("process 8 uses one lane"));
  EXPECT_EQ(more.next({0, 0}, 100 * second_ns), "tcp") << "the other lane is made again";
  more.made("file");
  EXPECT_EQ(more.next({1, 0}, 200 * second_ns), "file") << "the peer has dialed it, so it wants it after all";
}

TEST(MoreLanes, keeps_as_many_as_the_peer_takes) {
  MoreLanes more({{.link = "tcp", .count = 4}}, true, 1);
  const auto dial = [&more](unsigned present, std::uint64_t now_ns) {
    const auto link = more.next({present}, now_ns);
    if (link) more.dialing(*link);
    return link.has_value();
  };
  EXPECT_TRUE(dial(1, second_ns));
  more.made("tcp");
  EXPECT_TRUE(dial(2, second_ns));
  more.failed("tcp", fail(Code::unsupported, "process 8 uses 2 lanes"), second_ns);
  EXPECT_FALSE(dial(2, 100 * second_ns));
  EXPECT_TRUE(dial(1, 100 * second_ns)) << "one of the two is lost";
  more.made("tcp");
  EXPECT_FALSE(dial(2, 200 * second_ns));
  EXPECT_THAT(more.reasons(), HasSubstr("process 8 uses 2 lanes"));
  more.made("tcp");
  EXPECT_FALSE(dial(3, 300 * second_ns)) << "the peer has dialed a third one";
  EXPECT_TRUE(dial(2, 300 * second_ns)) << "so it takes three";
}

TEST(MoreLanes, a_lane_that_is_lost_during_a_refused_dial_is_made_again) {
  MoreLanes more({{.link = "tcp", .count = 4}}, true, 1);
  EXPECT_EQ(more.next({3}, second_ns), "tcp");
  more.dialing("tcp");
  EXPECT_EQ(more.next({2}, second_ns), std::nullopt);
  more.failed("tcp", fail(Code::unsupported, "process 8 uses 3 lanes"), second_ns);
  EXPECT_EQ(more.next({2}, 100 * second_ns), "tcp");
}

TEST(MoreLanes, dials_again_after_its_dials_were_cancelled) {
  MoreLanes more(tcp_and_file(), true, 1);
  more.dialing("file");
  more.cancelled();
  EXPECT_EQ(more.next({1, 0}, second_ns), "file");
}

TEST(MoreLanes, knows_how_many_lanes_a_link_has) {
  const MoreLanes more({{.link = "tcp", .count = 3}}, true, 1);
  EXPECT_EQ(more.wanted("tcp"), 3U);
  EXPECT_EQ(more.wanted("file"), 0U);
}

}  // namespace
}  // namespace couplet::connections
