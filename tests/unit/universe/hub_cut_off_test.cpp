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
  record.parts = {{0, 0, 0, {{{2, {0, 0}, {5, 20}}}}, "series-eta-0"},
                  {1, 0, 0, {{{2, {5, 0}, {10, 20}}}}, "series-eta-1"}};
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

  // Returns the connection of rank 0 of ocean, which was killed and joins again, and is not let in yet.
  ConnectionId rank_0_again_while_rank_1_is_in_doubt() {
    world_.reset(ocean1_);
    world_.cut(ocean0_, "it was killed");
    const auto again = world_.join("ocean", 0, 2);
    EXPECT_FALSE(world_.has<CompleteMessage>(again));
    return again;
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

TEST_F(CutOff, WhosePortRefusesCallsIsLostAfterThePatience) {
  world_.reset(nowcast_);
  world_.advance(50);
  for (int count = 0; count < 30; ++count) {
    EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::present) << count;
    world_.hub().seen_at_port({2, false}, world_.now_ns());
    world_.advance(0.1);
  }
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::lost);
  EXPECT_EQ(world_.known(ocean0_, 2).why, "its connection was reset, and no process listens at its port");
  EXPECT_EQ(world_.last<RefusedMessage>(rejoin(member(2))).code, Code::peer_lost) << "too late";
}

// Ranks 0 and 1 were killed together. Rank 0 joined again, and met members that did not know yet that rank 1 was dead.
TEST_F(CutOff, AProgramIsLetInWhenItIsKnownWhichOfItsRanksLive) {
  const auto first = rank_0_again_while_rank_1_is_in_doubt();
  world_.hub().seen({1, 1, PeerState::lost, 0, 0}, "its lock is free", world_.now_ns());
  world_.advance(0.1);
  EXPECT_FALSE(world_.has<CompleteMessage>(first));
  const auto second = world_.join("ocean", 1, 2);
  EXPECT_TRUE(world_.has<CompleteMessage>(first) && world_.has<CompleteMessage>(second));
}

TEST_F(CutOff, ARankIsLetInBesideOneThatIsCutOffAndHoldsItsLock) {
  const auto first = rank_0_again_while_rank_1_is_in_doubt();
  world_.hub().seen({1, 1, PeerState::present, 0, 0}, "", world_.now_ns());
  world_.advance(0.1);
  EXPECT_TRUE(world_.has<CompleteMessage>(first));
}

TEST_F(CutOff, ARankIsLetInBesideOneThatIsCutOffAndListens) {
  const auto first = rank_0_again_while_rank_1_is_in_doubt();
  world_.hub().seen_at_port({1, true}, world_.now_ns());
  world_.advance(0.1);
  EXPECT_TRUE(world_.has<CompleteMessage>(first));
}

// The proof of life came before both ranks were killed together.
TEST_F(CutOff, ARankIsNotLetInBesideOneThatWasSeenAliveOnlyBefore) {
  world_.reset(ocean1_);
  world_.hub().seen({1, 1, PeerState::present, 0, 0}, "", world_.now_ns());
  world_.advance(1.5);
  world_.cut(ocean0_, "it was killed");
  const auto first = world_.join("ocean", 0, 2);
  world_.advance(0.5);
  EXPECT_FALSE(world_.has<CompleteMessage>(first));
  world_.advance(11);
  EXPECT_NE(world_.last<WaitingMessage>(first).text.find("waiting for rank 1 of program 'ocean', which has no "
                                                         "connection to the hub"),
            std::string::npos)
      << world_.last<WaitingMessage>(first).text;
  world_.hub().seen({1, 1, PeerState::present, 0, 0}, "", world_.now_ns());
  world_.advance(0.1);
  EXPECT_TRUE(world_.has<CompleteMessage>(first));
}

// A cable that is cut for longer than the hub's system tries to send, or a firewall: nothing proves a death.
TEST_F(CutOff, WhoCannotBeReachedIsNotLostForAMinuteAndTheOthersAreTold) {
  world_.reset(nowcast_);
  world_.advance(2.9);
  EXPECT_FALSE(world_.has<WaitingMessage>(ocean0_));
  world_.advance(0.2);
  EXPECT_EQ(world_.last<WaitingMessage>(ocean0_).text,
            "program 'nowcast' rank 0 (universe rank 2) on host host-b cannot be reached by the hub. Its process may "
            "live: it counts as lost if this lasts for 60 s (setting connection_patience_s)");
  EXPECT_FALSE(world_.has<WaitingMessage>(ocean1_)) << "one rank of each program tells it";
  world_.advance(56);
  EXPECT_EQ(world_.all<WaitingMessage>(ocean0_).size(), 1U);
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::present);
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(member(2))));
  world_.advance(1000);
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::present);
}

TEST_F(CutOff, WhoCannotBeReachedIsLostAfterThePatienceOfConnections) {
  world_.reset(nowcast_);
  world_.advance(59);
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::present);
  world_.advance(1.1);
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::lost);
  EXPECT_EQ(world_.known(ocean0_, 2).why, "its connection was reset");
}

// The hub was resumed more than rejoin_patience_s ago.
TEST_F(CutOff, AResetLongAfterARestartOfTheHubIsNoDeath) {
  auto settings = HubWorld::settings("ocean:2,nowcast:1", -1);
  settings.restarted = true;
  HubWorld world{settings};
  std::vector<ConnectionId> all;
  for (channel::PeerId peer = 0; peer < 3; ++peer) {
    all.push_back(world.connect());
    world.send(all.back(), member(peer));
  }
  world.advance(1000);
  world.reset(all[2]);
  world.advance(0.1);
  EXPECT_EQ(world.known(all[0], 2).state, PeerState::present);
  const auto again = world.connect();
  world.send(again, member(2));
  EXPECT_TRUE(world.has<RejoinedMessage>(again));
}

// Otherwise a member that has long been replaced makes the hub wait for ranks that have never been there.
TEST_F(CutOff, AMemberThatCountsAsLostBeginsNoRecovery) {
  HubWorld world{"ocean:1,nowcast:1,late:2?"};
  const auto ocean = world.join("ocean", 0, 1);
  world.cut(world.join("nowcast", 0, 1, 60, "b"));
  ASSERT_TRUE(world.has<CompleteMessage>(ocean));
  auto message = member(1);
  message.programs = {{"ocean", 1, 0, true}, {"nowcast", 1, 1, true}, {"late", 2, 2, false}};
  message.node = 1;
  message.node_key = "key-b";
  message.host = "host-b";
  const auto again = world.connect();
  world.send(again, message);
  EXPECT_EQ(world.last<RefusedMessage>(again).code, Code::peer_lost);
  EXPECT_EQ(world.hub().awaited_count(), 0U);
  EXPECT_TRUE(world.has<PlacedMessage>(world.join("late", 0, 2)));
}

// It has its place and waits for the others.
TEST_F(CutOff, AMemberThatIsJoiningComesBackToo) {
  HubWorld world{"ocean:2,nowcast:1"};
  const auto ocean0 = world.join("ocean", 0, 2);
  const auto ocean1 = world.join("ocean", 1, 2);
  world.reset(ocean0);
  world.advance(1);
  auto message = member(0);
  message.released = false;
  const auto again = world.connect();
  world.send(again, message);
  EXPECT_TRUE(world.has<RejoinedMessage>(again));
  EXPECT_EQ(world.last<RejoinedMessage>(again).epoch, 0U);
  EXPECT_EQ(world.hub().awaited_count(), 0U);
  const auto nowcast = world.join("nowcast", 0, 1, 60, "b");
  for (const auto connection : {again, ocean1, nowcast}) {
    EXPECT_TRUE(world.has<CompleteMessage>(connection));
  }
}

TEST_F(CutOff, AMemberThatIsJoiningAndComesBackBeforeTheHubHasNoticedCallsAgain) {
  HubWorld world{"ocean:2,nowcast:1"};
  const auto ocean0 = world.join("ocean", 0, 2);
  auto message = member(0);
  message.released = false;
  const auto again = world.connect();
  world.send(again, message);
  EXPECT_EQ(world.last<RefusedMessage>(again).code, Code::not_yet);
  EXPECT_FALSE(world.closed(ocean0));
}

TEST_F(CutOff, WhoComputesAndStillListensIsNotLost) {
  world_.reset(nowcast_);
  for (int count = 0; count < 100; ++count) {
    world_.advance(59);
    const auto listening = world_.hub().cut_off();
    ASSERT_EQ(listening.size(), 1U);
    EXPECT_EQ(listening[0].endpoint.port, endpoint_of_connection(nowcast_).port);
    world_.hub().seen_at_port({listening[0].peer, true}, world_.now_ns());
  }
  EXPECT_EQ(world_.known(ocean0_, 2).state, PeerState::present);
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(member(2))));
  EXPECT_TRUE(world_.hub().cut_off().empty());
}

// Its port takes no calls (a firewall, a full queue), but a process on its node sees its lock.
TEST_F(CutOff, WhoseLockIsHeldIsNotLost) {
  world_.reset(ocean1_);
  for (int count = 0; count < 10; ++count) {
    world_.hub().seen_at_port({1, false}, world_.now_ns());
    world_.advance(2.9);
    ASSERT_TRUE(world_.has<LookMessage>(ocean0_));
    world_.send(ocean0_, SeenMessage{{{1, 1, PeerState::present, 0, 0}}});
    world_.advance(50);
    EXPECT_EQ(world_.known(nowcast_, 1).state, PeerState::present);
    world_.send(ocean0_, SeenMessage{{{1, 1, PeerState::present, 0, 0}}});
  }
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(member(1))));
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

// Two are asked about the place: a member on the node, and the process that waits for it. The first answer gives the
// place away, so the second one comes from a process that has it already.
TEST_F(CutOff, WhoWaitsForAPlaceMayAnswerWhenItHasGotIt) {
  ConnectionId holder = ocean1_;
  for (std::uint16_t lost_incarnation = 0; lost_incarnation < 2; ++lost_incarnation) {
    world_.reset(holder);
    holder = world_.join("ocean", 1, 2);
    ASSERT_FALSE(world_.has<PlacedMessage>(holder));
    world_.advance(0.1);
    ASSERT_TRUE(world_.has<LookMessage>(holder));
    const SeenMessage answer{{{1, 1, PeerState::lost, lost_incarnation, 0}}, {}};
    world_.send(ocean0_, answer);
    ASSERT_TRUE(world_.has<PlacedMessage>(holder));
    const bool answers_late = lost_incarnation == 1;
    if (!answers_late) {
      world_.send(holder, answer);
    }
    world_.present(holder);
    if (answers_late) {
      world_.send(holder, answer);
    }
    EXPECT_FALSE(world_.has<RefusedMessage>(holder));
    EXPECT_EQ(world_.known(ocean0_, 1).state, PeerState::present);
  }
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
  const auto other = world_.join_relay("a");
  world_.reset(other);
  world_.hub().seen_at_port({world_.last<PlacedMessage>(other).peer, false}, world_.now_ns());
  world_.advance(3.1);
  EXPECT_EQ(world_.hub().awaited_count(), 0U);
  EXPECT_FALSE(world_.hub().over());
}

TEST_F(CutOff, TheNextRelayOfANodeWaitsUntilTheKilledOnesDeathIsKnown) {
  world_.reset(world_.join_relay("b"));
  const auto next = world_.join_relay("b");
  EXPECT_FALSE(world_.has<PlacedMessage>(next)) << "the first one may still live";
  const auto third = world_.join_relay("b");
  EXPECT_EQ(world_.last<RefusedMessage>(third).code, Code::exists) << "one waits already; a keeper tries again";
  world_.advance(0.1);
  const auto id = world_.last<LookMessage>(nowcast_).peers.at(0).first;
  world_.send(nowcast_, SeenMessage{{{id, 1, PeerState::lost, 0, 1}}});
  ASSERT_TRUE(world_.has<PlacedMessage>(next));
  EXPECT_EQ(world_.last<PlacedMessage>(next).peer, id);
  EXPECT_EQ(world_.last<PlacedMessage>(next).incarnation, 1U);
}

TEST_F(CutOff, ARelayThatComesBackIsPreferredToTheNextOne) {
  const auto relay = world_.join_relay("b");
  const auto id = world_.last<PlacedMessage>(relay).peer;
  world_.reset(relay);
  const auto next = world_.join_relay("b");
  auto message = member(2);
  message.relay = true;
  message.peer = id;
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(message)));
  EXPECT_EQ(world_.last<RefusedMessage>(next).code, Code::exists);
  EXPECT_NE(world_.last<RefusedMessage>(next).text.find("the relay of its node"), std::string::npos);
}

TEST_F(CutOff, WhoHasNotBeenToldOfTheEndMayMissTheHub) {
  EXPECT_FALSE(world_.hub().may_be_missed());
  world_.reset(ocean1_);
  world_.hub().stop("it was told to end");
  EXPECT_TRUE(world_.hub().may_be_missed());
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
