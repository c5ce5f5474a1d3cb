#include "message/credit.hpp"

#include <gtest/gtest.h>

namespace couplet::message {
namespace {

TEST(Credit, BeginsWithTheShareOfARankAndNeverWithMoreThanTheOptionSays) {
  FrameSender frames(false);
  MessengerOptions options;
  Flow flow;
  Credit(options, 2, frames).reset(flow);
  EXPECT_EQ(flow.credit, wire::first_payload_credit(2));
  EXPECT_EQ(flow.granted, flow.credit);
  options.payload_credit_bytes = 1000;
  Flow small;
  Credit(options, 2, frames).reset(small);
  EXPECT_EQ(small.credit, 1000U);
}

TEST(Credit, WhatIsGivenBackIsOwedUntilThereIsAChannel) {
  FrameSender frames(false);
  const MessengerOptions options;
  Credit credit(options, 2, frames);
  Flow flow;
  credit.reset(flow);
  credit.give_back(flow, flow.granted);
  EXPECT_EQ(flow.owed, flow.granted);
  credit.reset(flow);
  EXPECT_EQ(flow.owed, 0U);
}

TEST(Credit, APeerCannotGiveBackMoreThanItGot) {
  FrameSender frames(false);
  MessengerOptions options;
  options.payload_credit_bytes = 1000;
  Credit credit(options, 2, frames);
  Flow flow;
  credit.reset(flow);
  EXPECT_FALSE(credit.can_take(flow, 1));
  flow.credit -= 400;
  EXPECT_TRUE(credit.can_take(flow, 400));
  EXPECT_FALSE(credit.can_take(flow, 401));
  EXPECT_TRUE(credit.take(flow, 400).ok());
  EXPECT_EQ(flow.credit, 1000U);
}

}  // namespace
}  // namespace couplet::message
