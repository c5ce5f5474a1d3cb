// The connection of a member to the hub is reset while both live: it comes back, and nobody has noticed anything.
#include <gtest/gtest.h>

#include "hub_world.hpp"

namespace couplet::universe {
namespace {

SeriesRecord eta() {
  SeriesRecord record;
  record.name = "eta";
  record.program = "ocean";
  record.fields = {{"", COUPLET_DOUBLE, {10, 20}}};
  record.slots = 4;
  record.parts = {{0, 0, {{{2, {0, 0}, {5, 20}}}}, "series-eta-0"}, {1, 0, {{{2, {5, 0}, {10, 20}}}}, "series-eta-1"}};
  return record;
}

class CutOff : public ::testing::Test {
 protected:
  CutOff() {
    world_.announce(ocean0_, 1, eta());
    world_.send(nowcast_, NoteMessage{2, SeriesNote::reader_opened, "eta"});
  }
  RejoinMessage member(channel::PeerId peer) {
    RejoinMessage message;
    message.run_id = 0x1234;
    message.released = true;
    message.peer = peer;
    message.node = peer < 2 ? 0 : 1;
    message.node_key = peer < 2 ? "key-a" : "key-b";
    message.host = peer < 2 ? "host-a" : "host-b";
    message.contact = HubWorld::contact_of_connection(peer + 1);
    message.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
    return message;
  }
  ConnectionId rejoin(const RejoinMessage& message) {
    const auto connection = world_.connect();
    world_.send(connection, message);
    return connection;
  }

  HubWorld world_{"ocean:2,nowcast:1"};
  const ConnectionId ocean0_ = world_.join("ocean", 0, 2);
  const ConnectionId ocean1_ = world_.join("ocean", 1, 2);
  const ConnectionId nowcast_ = world_.join("nowcast", 0, 1, 60, "b");
};

TEST_F(CutOff, AMemberComesBackAndNobodyHasNoticed) {
  ASSERT_TRUE(world_.has<CompleteMessage>(nowcast_));
  const auto told = world_.changes(ocean0_).size();
  world_.reset(nowcast_);
  world_.advance(2);
  auto message = member(2);
  message.series = {{.name = "eta", .opened = 1}};
  const auto again = rejoin(message);
  EXPECT_TRUE(world_.has<RejoinedMessage>(again));
  EXPECT_EQ(world_.last<RejoinedMessage>(again).epoch, 0U) << "the hub was not started again";
  EXPECT_TRUE(world_.has<CompleteMessage>(again)) << "it is told everything, since it may have missed something";
  world_.advance(1000);
  for (std::size_t index = told; index < world_.changes(ocean0_).size(); ++index) {
    EXPECT_EQ(world_.changes(ocean0_)[index].state, PeerState::present);
  }
  EXPECT_EQ(world_.hub().awaited_count(), 0U);
  for (const auto connection : {ocean0_, ocean1_, again}) {
    EXPECT_FALSE(world_.hub().over());
    world_.send(connection, LeaveMessage{});
    EXPECT_TRUE(world_.has<GoodbyeMessage>(connection));
  }
}

TEST_F(CutOff, AWriterComesBackAndItsSeriesIsStillOpen) {
  world_.reset(ocean0_);
  auto message = member(0);
  const auto found = world_.last<AnswerMessage>(ocean0_);
  message.series = {{.name = "eta", .incarnation = found.series->incarnation, .writes = true, .has_record = true}};
  rejoin(message);
  world_.send(nowcast_, FindMessage{9, "eta", -1, true});
  const auto answer = world_.last<AnswerMessage>(nowcast_);
  ASSERT_TRUE(answer.series.has_value());
  EXPECT_FALSE(answer.series->closed);
}

TEST_F(CutOff, WhoDoesNotComeBackIsLostAfterThePatience) {
  world_.reset(nowcast_);
  world_.advance(2.9);
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::present);
  world_.advance(0.2);
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::lost);
  EXPECT_EQ(world_.known(ocean0_, 2).why, "its connection was reset");
  EXPECT_EQ(world_.last<RefusedMessage>(rejoin(member(2))).code, Code::peer_lost) << "too late";
}

TEST_F(CutOff, WhoComputesAndStillListensIsNotLost) {
  world_.reset(nowcast_);
  for (int count = 0; count < 100; ++count) {
    world_.advance(2.9);
    const auto listening = world_.hub().cut_off();
    ASSERT_EQ(listening.size(), 1U);
    EXPECT_EQ(listening[0].endpoint.port, HubWorld::contact_of_connection(nowcast_).port);
    world_.hub().seen_listening(listening[0].peer, world_.now_ns());
  }
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::present);
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(member(2))));
  EXPECT_TRUE(world_.hub().cut_off().empty());
}

TEST_F(CutOff, WhoHasDiedIsLostAtOnceIfItsLockSaysSo) {
  world_.reset(ocean1_);
  world_.advance(0.1);
  ASSERT_TRUE(world_.has<LookMessage>(ocean0_)) << "it is on the same node";
  world_.send(ocean0_, SeenMessage{{{1, 1, PeerState::lost, 0, 0}}});
  EXPECT_EQ(world_.known(nowcast_, 1).state, PeerState::lost);
  const auto again = world_.join("ocean", 1, 2);
  EXPECT_EQ(world_.last<PlacedMessage>(again).incarnation, 1U);
}

TEST_F(CutOff, WhoComesBackBeforeTheHubHasNoticedCallsAgain) {
  EXPECT_EQ(world_.last<RefusedMessage>(rejoin(member(2))).code, Code::not_yet);
  world_.reset(nowcast_);
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(member(2))));
}

TEST_F(CutOff, ARelayComesBackToo) {
  const auto relay = world_.join_relay("b");
  const auto id = world_.last<PlacedMessage>(relay).peer;
  world_.reset(relay);
  auto message = member(2);
  message.relay = true;
  message.peer = id;
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(message)));
  world_.advance(1000);
  EXPECT_EQ(world_.hub().awaited_count(), 0U);
  world_.reset(world_.join_relay("a"));
  world_.advance(4);
  EXPECT_EQ(world_.hub().awaited_count(), 0U);
  EXPECT_FALSE(world_.hub().over());
}

TEST_F(CutOff, APatienceOfZeroIsADeath) {
  auto settings = HubWorld::settings("ocean:1,nowcast:1", -1);
  settings.reset_patience_s = 0;
  HubWorld world{settings};
  const auto ocean = world.join("ocean", 0, 1);
  world.reset(world.join("nowcast", 0, 1));
  EXPECT_EQ(world.known(ocean, 1).state, PeerState::lost);
}

}  // namespace
}  // namespace couplet::universe
