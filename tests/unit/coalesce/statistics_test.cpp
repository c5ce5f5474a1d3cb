#include "coalesce/statistics.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coalesce/timeline.hpp"

namespace couplet::coalesce {
namespace {

Counts example() {
  Counts counts{.name = "flow \"1\"", .method = "mapped", .rank = 3, .rounds = 10};
  counts.clients.push_back({.name = "kernel", .sent_parts = 20, .sent_bytes = 160, .calls_ns = 5});
  counts.peers.push_back({.rank = 1, .sent_messages = 10, .sent_bytes = 160, .wait_ns = 7});
  counts.phases.push_back({.waits = 10, .wait_ns = 7});
  return counts;
}

TEST(Statistics, JsonHasEachCount) {
  const auto json = nlohmann::json::parse(json_of(example()));
  EXPECT_EQ(json["name"], "flow \"1\"");
  EXPECT_EQ(json["rounds"], 10);
  EXPECT_EQ(json["merge_waits"], true);
  EXPECT_EQ(json["clients"][0]["sent_parts"], 20);
  EXPECT_EQ(json["clients"][0]["calls_ns"], 5);
  EXPECT_EQ(json["peers"][0]["sent_messages"], 10);
  EXPECT_EQ(json["phases"][0]["synchronisation_points"], 10);
}

TEST(Statistics, TheTableNamesClientsPeersAndWhatARoundCosts) {
  const std::string table = table_of(example());
  for (const char* part : {"kernel", "rank 1", "10 rounds by mapped", "1 messages sent", "1 synchronisation points"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  }
}

TEST(Statistics, PeersAreInOrderOfRanks) {
  std::vector<PeerCounts> peers;
  for (const std::int32_t rank : {5, 1, 3, 1}) ++peer_of(peers, rank).sent_messages;
  ASSERT_EQ(peers.size(), 3U);
  EXPECT_EQ(peers[0].rank, 1);
  EXPECT_EQ(peers[0].sent_messages, 2U);
  EXPECT_EQ(peers[2].rank, 5);
}

TEST(Timeline, IsJsonInTheChromeTraceFormatAndBounded) {
  Timeline timeline(2, 2);
  timeline.add("fill", 1, 7, 0, 1500, 4500);
  timeline.add("wait", 0, 7, 0, 5000, 6000);
  timeline.add("use", 1, 7, 0, 7000, 8000);
  const auto json = nlohmann::json::parse(timeline.json({"kernel"}));
  EXPECT_EQ(json["otherData"]["events_left_out"], 1);
  const auto& events = json["traceEvents"];
  ASSERT_EQ(events.size(), 5U);  // the names of the process and of two rows come first
  EXPECT_EQ(events[2]["args"]["name"], "kernel");
  EXPECT_EQ(events[3]["name"], "fill");
  EXPECT_EQ(events[3]["ph"], "X");
  EXPECT_EQ(events[3]["pid"], 2);
  EXPECT_EQ(events[3]["tid"], 1);
  EXPECT_EQ(events[3]["ts"], 1.5);
  EXPECT_EQ(events[3]["dur"], 3);
}

}  // namespace
}  // namespace couplet::coalesce
