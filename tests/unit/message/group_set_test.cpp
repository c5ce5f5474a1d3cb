#include "message/group_set.hpp"

#include <gtest/gtest.h>

#include <string>

namespace couplet::message {
namespace {

struct GroupSetTest : ::testing::Test {
  counters::Counters counters;
  Requests requests{counters};
  GroupSet groups{1, 4, requests};
};

TEST_F(GroupSetTest, BeginsWithAllRanks) {
  EXPECT_EQ(groups.universe().size(), 4);
  EXPECT_EQ(groups.universe().rank(), 1);
  EXPECT_EQ(groups.free(groups.universe()).code(), Code::state);
}

TEST_F(GroupSetTest, AProgramIsARangeOfRanks) {
  auto program = groups.add_program("ocean", 1, 2);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ((*program)->rank(), 0);
  EXPECT_EQ((*program)->peer(1), 2U);
}

TEST_F(GroupSetTest, TheSameGroupMayBeMadeAgain) {
  const std::int32_t ranks[] = {2, 1};
  auto one = groups.create("turned", ranks);
  auto two = groups.create("turned", ranks);
  ASSERT_TRUE(one.ok());
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(groups.count_like(**one), 2);
  ASSERT_TRUE(groups.free(**two).ok());
  EXPECT_EQ(groups.count_like(**one), 1);
}

TEST_F(GroupSetTest, AGroupWithPendingRequestsStays) {
  const std::int32_t ranks[] = {1, 3};
  auto group = groups.create("pair", ranks);
  ASSERT_TRUE(group.ok());
  Flow flow;
  Request* request = requests.take();
  request->group = *group;
  request->flow = &flow;
  requests.begin(*request);
  const Status refused = groups.free(**group);
  EXPECT_EQ(refused.code(), Code::state);
  EXPECT_NE(refused.text().find("1 of its requests"), std::string::npos) << refused.text();
  requests.finish(*request);
  EXPECT_TRUE(groups.free(**group).ok());
  EXPECT_EQ(request->group, &groups.universe());  // nobody has waited for it yet
  requests.give(request);
}

TEST_F(GroupSetTest, MisuseIsNamed) {
  const std::int32_t outside[] = {0, 4};
  EXPECT_EQ(groups.create("pair", outside).code(), Code::argument);
}

}  // namespace
}  // namespace couplet::message
