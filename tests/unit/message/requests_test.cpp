#include "message/requests.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace couplet::message {
namespace {

struct RequestsTest : ::testing::Test {
  counters::Counters counters;
  Requests requests{counters};
  Group group = Group::range("pair", 0, 2, 0);
  Flow flow;
  Flow other;

  Request* begin(bool sending) {
    Request* made = requests.take();
    made->sending = sending;
    made->flow = &flow;
    made->group = &group;
    requests.begin(*made);
    return made;
  }
};

TEST_F(RequestsTest, ARequestCountsUntilItEnds) {
  Request* made = begin(true);
  EXPECT_EQ(requests.pending(), 1U);
  EXPECT_EQ(group.pending, 1);
  requests.finish(*made, Code::peer_lost);
  EXPECT_TRUE(made->done);
  EXPECT_EQ(made->status.code(), Code::peer_lost);
  EXPECT_EQ(requests.pending(), 0U);
  EXPECT_EQ(group.pending, 0);
  requests.give(made);
}

TEST_F(RequestsTest, ACookieLeadsOnlyToItsRequestAndOnlyForItsPeer) {
  Request* made = begin(true);
  ASSERT_TRUE(requests.register_cookie(*made));
  const std::uint64_t cookie = made->cookie;
  EXPECT_EQ(requests.find(cookie, flow, true), made);
  EXPECT_EQ(requests.find(cookie, flow, false), nullptr);  // it is no receive
  EXPECT_EQ(requests.find(cookie, other, true), nullptr);  // it is another peer's
  EXPECT_EQ(requests.find(cookie + 1, flow, true), nullptr);
  EXPECT_EQ(requests.find(UINT64_MAX, flow, true), nullptr);
  requests.finish(*made);
  EXPECT_EQ(requests.find(cookie, flow, true), nullptr);
  requests.give(made);
}

TEST_F(RequestsTest, ACookieIsNotUsedAgainForALaterRequest) {
  std::set<std::uint64_t> seen;
  for (int turn = 0; turn < 1000; ++turn) {
    Request* made = begin(false);
    ASSERT_TRUE(requests.register_cookie(*made));
    EXPECT_NE(made->cookie, 0U);
    EXPECT_TRUE(seen.insert(made->cookie).second);
    requests.finish(*made);
    requests.give(made);
  }
}

TEST_F(RequestsTest, ADetachedRequestGoesBackByItself) {
  Request* made = begin(true);
  made->detached = true;
  requests.finish(*made);
  EXPECT_EQ(requests.take(), made);  // the pool hands out what came back last
}

TEST_F(RequestsTest, WhatARequestOwnedIsFreedWhenItIsGivenBack) {
  auto datatype = std::make_shared<const layout::Datatype>(*find_type(COUPLET_INT32));
  Request* made = begin(true);
  made->owned = std::make_unique<OwnMemory>();
  made->owned->datatype = datatype;
  EXPECT_EQ(datatype.use_count(), 2);
  requests.finish(*made);
  requests.give(made);
  EXPECT_EQ(datatype.use_count(), 1);
}

TEST_F(RequestsTest, ACompleteRequestOutlivesItsGroup) {
  Group universe = Group::range("universe", 0, 2, 0);
  Request* made = begin(false);
  requests.finish(*made);
  requests.change_group(group, universe);
  EXPECT_EQ(made->group, &universe);
  requests.give(made);
}

TEST_F(RequestsTest, AHeldRequestGoesBackUnlessItIsReleased) {
  Request* first = nullptr;
  {
    RequestHold hold(requests);
    first = &*hold;
  }
  RequestHold again(requests);
  EXPECT_EQ(&*again, first);
  EXPECT_EQ(again.release(), first);
  requests.give(first);
}

}  // namespace
}  // namespace couplet::message
