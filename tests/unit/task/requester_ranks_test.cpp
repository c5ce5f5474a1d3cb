#include "task/requester_ranks.hpp"

#include <gtest/gtest.h>

namespace couplet::task {
namespace {

const Status was_killed(Code::peer_lost, "rank 1 was killed");

TEST(RequesterRanks, EndWhenAllHaveClosed) {
  RequesterRanks ranks;
  ranks.add(1);
  ranks.add(2);
  ranks.closed(1);
  EXPECT_TRUE(ranks.any());
  ranks.closed(2);
  EXPECT_FALSE(ranks.any());
  EXPECT_TRUE(ranks.all_closed());
  EXPECT_TRUE(ranks.loss("t").ok());
}

TEST(RequesterRanks, OneThatIsLostHasNotClosed) {
  RequesterRanks ranks;
  ranks.add(1);
  ranks.add(2);
  ranks.lost(1, was_killed);
  EXPECT_TRUE(ranks.loss("t").ok()) << "another one may submit";
  ranks.closed(2);
  EXPECT_FALSE(ranks.any());
  EXPECT_FALSE(ranks.all_closed());
  const Status loss = ranks.loss("t");
  EXPECT_EQ(loss.code(), Code::peer_lost);
  EXPECT_NE(loss.text().find("tasks 't': no requester is left"), std::string::npos) << loss.text();
  EXPECT_NE(loss.text().find("rank 1 was killed"), std::string::npos) << loss.text();
}

TEST(RequesterRanks, OneThatHadClosedIsNotMissedWhenItIsLost) {
  RequesterRanks ranks;
  ranks.add(1);
  ranks.closed(1);
  ranks.lost(1, was_killed);
  EXPECT_TRUE(ranks.all_closed());
  ranks.returned(1);
  EXPECT_FALSE(ranks.any());
}

TEST(RequesterRanks, OneThatIsStartedAgainCounts) {
  RequesterRanks ranks;
  ranks.add(1);
  ranks.lost(1, was_killed);
  ranks.returned(1);
  EXPECT_TRUE(ranks.any());
  EXPECT_TRUE(ranks.loss("t").ok());
  ranks.lost(1, was_killed);
  ranks.add(1);  // it has submitted
  ranks.closed(1);
  EXPECT_TRUE(ranks.all_closed());
}

}  // namespace
}  // namespace couplet::task
