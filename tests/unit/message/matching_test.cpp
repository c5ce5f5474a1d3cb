#include "message/matching.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace couplet::message {
namespace {

struct MatchingTest : ::testing::Test {
  counters::Counters counters;
  Matching matching{0, counters};
  Group pair = Group::range("pair", 0, 2, 0);
  Flow near;  // of rank 0
  Flow far;   // of rank 7, which is no member of the group

  MatchingTest() {
    near.granted = far.granted = 1U << 20U;
    far.peer = 7;
  }
  Request receive(Flow* source, std::int32_t tag) {
    Request made;
    made.context = pair.context();
    made.tag = tag;
    made.flow = source;
    made.group = &pair;
    return made;
  }
  Arrival* store(Flow& source, std::int32_t tag, std::uint64_t bytes, bool is_envelope = false) {
    wire::FrameHeader header;
    header.kind = wire::message_frame_kind(wire::MessageKind::eager, wire::own_big_endian);
    header.context = pair.context();
    header.tag = tag;
    header.first = bytes;
    return matching.store(source, header, is_envelope);
  }
};

TEST_F(MatchingTest, ReceivesMatchInTheOrderInWhichTheyWerePosted) {
  Request exact = receive(&near, 5);
  Request any_source = receive(nullptr, 5);
  Request any_tag = receive(&near, COUPLET_ANY_TAG);
  matching.post(any_source);
  matching.post(any_tag);
  matching.post(exact);
  EXPECT_TRUE(matching.any_source_accepts(pair.context(), 5));
  EXPECT_EQ(matching.match(near, pair.context(), 5), &any_source);
  EXPECT_EQ(matching.match(near, pair.context(), 5), &any_tag);
  EXPECT_EQ(matching.match(near, pair.context(), 6), nullptr);
  EXPECT_EQ(matching.match(near, pair.context(), 5), &exact);
  EXPECT_TRUE(near.posted.empty());
}

TEST_F(MatchingTest, AReceiveFromAnySourceTakesOnlyMembersOfItsGroup) {
  Request any_source = receive(nullptr, COUPLET_ANY_TAG);
  matching.post(any_source);
  EXPECT_EQ(matching.match(far, pair.context(), 1), nullptr);
  EXPECT_EQ(matching.match(near, pair.context(), 1), &any_source);
  ASSERT_NE(store(far, 1, 8), nullptr);
  EXPECT_EQ(matching.find(any_source), nullptr);
}

TEST_F(MatchingTest, MessagesAreFoundInTheOrderInWhichTheyWereSent) {
  Arrival* first = store(near, 1, 8);
  Arrival* second = store(near, 2, 200);
  Arrival* third = store(near, 1, 8);
  EXPECT_EQ(matching.find(receive(&near, 2)), second);
  EXPECT_EQ(matching.find(receive(&near, COUPLET_ANY_TAG)), first);
  EXPECT_EQ(matching.forget(*first), 8 + wire::eager_overhead_bytes);
  EXPECT_EQ(matching.find(receive(nullptr, 1)), third);
  EXPECT_GE(matching.stored_bytes(), 200U);
  static_cast<void>(matching.forget(*second));
  EXPECT_EQ(matching.stored_bytes(), 0U);  // the small one lies in its record
  static_cast<void>(matching.forget(*third));
  EXPECT_EQ(near.stored, 0U);
}

TEST_F(MatchingTest, APeerStoresNoMoreThanItsCredit) {
  near.granted = 100 + wire::eager_overhead_bytes;
  EXPECT_NE(store(near, 1, 100), nullptr);
  EXPECT_EQ(store(near, 1, 0), nullptr);
  EXPECT_NE(store(near, 1, 1U << 30U, true), nullptr);  // an envelope takes none
}

TEST_F(MatchingTest, ALongListIsSearchedLikeAShortOne) {
  std::vector<Request> many;
  for (std::int32_t tag = 0; tag < 40; ++tag) many.push_back(receive(&near, tag));
  for (Request& one : many) matching.post(one);
  Request any_tag = receive(&near, COUPLET_ANY_TAG);
  matching.post(any_tag);
  ASSERT_TRUE(near.posted.filed());
  EXPECT_EQ(matching.match(near, pair.context(), 30), &many[30]);
  EXPECT_EQ(matching.match(near, pair.context(), 99), &any_tag);
  for (Request& one : many) {
    if (&one != &many[30]) matching.unpost(one);
  }
}

TEST_F(MatchingTest, OfALostPeerMessagesStayAndEnvelopesAreDead) {
  const Arrival* message = store(near, 1, 8);
  const Arrival* envelope = store(near, 1, 1U << 20U, true);
  matching.lose(near);
  EXPECT_FALSE(message->dead);
  EXPECT_EQ(message->charge, 0U);  // its sender gets nothing back
  EXPECT_TRUE(envelope->dead);
  EXPECT_EQ(near.envelopes, 0U);
}

TEST_F(MatchingTest, MessagesOfAContextAreDroppedUnlessAReceiveHasThem) {
  Arrival* taken = store(near, 1, 8);
  taken->arriving = true;
  store(near, 2, 8);
  store(near, 3, 8);
  int dropped = 0;
  const auto drop = [&](Arrival& arrival) {
    ++dropped;
    static_cast<void>(matching.forget(arrival));
  };
  EXPECT_TRUE(matching.for_each_in(near, pair.context(), drop));
  EXPECT_EQ(dropped, 2);
  EXPECT_FALSE(matching.for_each_in(near, pair.context(), drop));
  EXPECT_EQ(near.arrivals.first(), taken);
}

TEST(EndedContexts, OnlyTheLastOnesAreRemembered) {
  EndedContexts ended;
  EXPECT_FALSE(ended.has(internal_context | 1U));
  for (std::uint32_t number = 1; number <= EndedContexts::kept + 1; ++number) ended.add(internal_context | number);
  EXPECT_FALSE(ended.has(internal_context | 1U));
  EXPECT_TRUE(ended.has(internal_context | 2U));
  ended.add(5);
  EXPECT_FALSE(ended.has(5));  // no context of the library
}

}  // namespace
}  // namespace couplet::message
