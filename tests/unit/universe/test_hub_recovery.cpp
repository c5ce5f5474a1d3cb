// A hub that was started again: what it knows afterwards, from what its members tell.
#include <gtest/gtest.h>

#include "hub_world.hpp"

namespace couplet::universe {
namespace {

HubSettings resumed(const std::string& programs) {
  auto settings = HubWorld::settings(programs, -1);
  settings.restarted = true;
  return settings;
}

// As the hub of before had placed it: ocean's ranks on node 0, all others on node 1.
RejoinMessage member(channel::PeerId peer, std::vector<ProgramInfo> programs, bool released = true) {
  RejoinMessage message;
  message.run_id = 0x1234;
  message.released = released;
  message.peer = peer;
  message.node = peer < static_cast<channel::PeerId>(programs.front().size) ? 0 : 1;
  message.node_key = message.node == 0 ? "key-a" : "key-b";
  message.host = message.node == 0 ? "host-a" : "host-b";
  message.contact = HubWorld::contact_of_connection(100 + peer);
  message.programs = std::move(programs);
  return message;
}

std::vector<ProgramInfo> two_oceans_and_a_nowcast() {
  return {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
}

class Recovery : public ::testing::Test {
 protected:
  ConnectionId rejoin(const RejoinMessage& message) {
    const auto connection = world_.connect();
    world_.send(connection, message);
    return connection;
  }
  ConnectionId rejoin(channel::PeerId peer) { return rejoin(member(peer, two_oceans_and_a_nowcast())); }

  HubWorld world_{resumed("ocean:2,nowcast:1")};
};

TEST_F(Recovery, MembersComeBackAndTheUniverseIsCompleteAgain) {
  const auto ocean0 = rejoin(0);
  EXPECT_TRUE(world_.has<RejoinedMessage>(ocean0));
  EXPECT_TRUE(world_.hub().complete());
  EXPECT_EQ(world_.hub().awaited_count(), 2U);
  EXPECT_FALSE(world_.has<CompleteMessage>(ocean0)) << "others may still come";
  rejoin(1);
  const auto nowcast = rejoin(2);
  EXPECT_EQ(world_.hub().awaited_count(), 0U);
  for (const auto each : {ocean0, nowcast}) {
    EXPECT_TRUE(world_.has<CompleteMessage>(each));
    EXPECT_EQ(world_.known(each, 1).state, PeerState::present);
    EXPECT_EQ(world_.known_nonce(each, 1), 101U);
    EXPECT_EQ(world_.node_names(each), (std::vector<std::string>{"host-a", "host-b"}));
  }
  world_.send(nowcast, LeaveMessage{});
  EXPECT_TRUE(world_.has<GoodbyeMessage>(nowcast));
  EXPECT_EQ(world_.changes(ocean0).back().state, PeerState::left);
}

TEST_F(Recovery, AMemberOfAnotherRunIsRefusedByName) {
  auto stranger = member(0, two_oceans_and_a_nowcast());
  stranger.run_id = 0x99;
  const auto refused = world_.last<RefusedMessage>(rejoin(stranger));
  EXPECT_EQ(refused.code, Code::mismatch);
  EXPECT_EQ(refused.text, "the hub serves the universe 0000000000001234, but this process belongs to 0000000000000099");
  EXPECT_EQ(world_.last<RefusedMessage>(rejoin(member(0, {{"ocean", 3, 0, true}, {"nowcast", 1, 3, true}}))).code,
            Code::mismatch);
  EXPECT_EQ(world_.last<RefusedMessage>(rejoin(member(7, two_oceans_and_a_nowcast()))).code, Code::mismatch);
  rejoin(0);
  EXPECT_EQ(world_.last<RefusedMessage>(rejoin(0)).code, Code::not_yet) << "its other connection has not ended yet";
}

TEST_F(Recovery, WhoHasLeftOrWasLostBeforeIsKnown) {
  auto message = member(0, two_oceans_and_a_nowcast());
  message.exceptions = {{1, 1, PeerState::lost, 3, 0}, {2, 1, PeerState::left, 0, 1}};
  const auto ocean0 = rejoin(message);
  EXPECT_EQ(world_.hub().awaited_count(), 0U);
  EXPECT_EQ(world_.known(ocean0, 1).state, PeerState::lost);
  EXPECT_EQ(world_.known(ocean0, 2).state, PeerState::left);
  const auto again = world_.join("ocean", 1, 2);
  EXPECT_EQ(world_.last<PlacedMessage>(again).incarnation, 4U);
  EXPECT_TRUE(world_.has<CompleteMessage>(again));
}

TEST_F(Recovery, ARankThatDiedMeanwhileIsLostAsItsLockSays) {
  const auto ocean0 = rejoin(0);
  const auto nowcast = rejoin(2);
  world_.advance(1.1);
  ASSERT_TRUE(world_.has<LookMessage>(nowcast)) << "somebody of each node is asked";
  EXPECT_EQ(world_.last<LookMessage>(ocean0).peers.front().first, 1U);
  world_.send(ocean0, SeenMessage{{{1, 1, PeerState::lost, 0, 0}}});
  EXPECT_EQ(world_.hub().awaited_count(), 0U);
  EXPECT_EQ(world_.known(nowcast, 1).state, PeerState::lost);
  EXPECT_EQ(world_.events().back().name, "lost");
}

TEST_F(Recovery, NobodyIsLostForSilenceDuringTheGrace) {
  const auto ocean0 = rejoin(0);
  world_.advance(100);
  EXPECT_EQ(world_.known(ocean0, 1).state, PeerState::present) << "it may compute";
  EXPECT_FALSE(world_.hub().over());
  rejoin(1);
  EXPECT_EQ(world_.known_nonce(ocean0, 1), 101U);
  world_.advance(600);
  EXPECT_EQ(world_.known(ocean0, 2).state, PeerState::lost) << "the patience, a named setting, has passed";
  EXPECT_EQ(world_.known(ocean0, 2).why, "it did not come back to the hub, which was started again");
}

TEST_F(Recovery, WhoComesBackLateIsToldEverything) {
  const auto ocean0 = rejoin(0);
  rejoin(2);
  world_.send(ocean0, LeaveMessage{});
  world_.advance(100);
  const auto ocean1 = rejoin(1);
  EXPECT_TRUE(world_.has<CompleteMessage>(ocean1));
  EXPECT_EQ(world_.known(ocean1, 0).state, PeerState::left);
  EXPECT_EQ(world_.known(ocean1, 2).state, PeerState::present);
}

TEST_F(Recovery, ARestartedProgramWaitsUntilItsPredecessorIsKnownToBeDead) {
  const auto ocean0 = rejoin(0);
  rejoin(1);
  const auto nowcast = world_.join("nowcast", 0, 1, 60, "b");
  EXPECT_TRUE(world_.has<AdmittedMessage>(nowcast));
  EXPECT_FALSE(world_.has<PlacedMessage>(nowcast));
  world_.send(ocean0, SeenMessage{{{2, 1, PeerState::lost, 0, 1}}});
  world_.finish(nowcast, "b");
  ASSERT_TRUE(world_.has<PlacedMessage>(nowcast));
  EXPECT_EQ(world_.last<PlacedMessage>(nowcast).incarnation, 1U);
  EXPECT_TRUE(world_.has<CompleteMessage>(nowcast));
}

TEST_F(Recovery, ARankThatStillLivesKeepsItsPlace) {
  rejoin(0);
  rejoin(1);
  const auto second = world_.join("nowcast", 0, 1, 60, "b");
  const auto first = rejoin(2);
  EXPECT_TRUE(world_.has<RejoinedMessage>(first));
  EXPECT_EQ(world_.last<RefusedMessage>(second).code, Code::exists);
}

TEST_F(Recovery, AUniverseThatWasNotCompleteGoesOnJoining) {
  const auto ocean0 = rejoin(member(0, two_oceans_and_a_nowcast(), false));
  EXPECT_TRUE(world_.has<RejoinedMessage>(ocean0));
  EXPECT_FALSE(world_.hub().complete());
  const auto ocean1 = world_.join("ocean", 1, 2);
  const auto nowcast = world_.join("nowcast", 0, 1, 60, "b");
  world_.advance(6);  // the grace: members of a complete universe would have come
  world_.finish(ocean1, "a");
  world_.finish(nowcast, "b");
  EXPECT_TRUE(world_.hub().complete());
  EXPECT_TRUE(world_.has<CompleteMessage>(ocean0));
  EXPECT_TRUE(world_.has<CompleteMessage>(ocean1));
}

TEST_F(Recovery, AllWhoWereJoiningComeBack) {
  std::vector<ConnectionId> all;
  for (channel::PeerId peer = 0; peer < 3; ++peer) {
    all.push_back(rejoin(member(peer, two_oceans_and_a_nowcast(), false)));
  }
  for (const auto each : all) {
    EXPECT_TRUE(world_.has<CompleteMessage>(each)) << "nobody has to wait for the grace";
  }
}

// ---- series

SeriesRecord eta() {
  SeriesRecord record;
  record.name = "eta";
  record.program = "ocean";
  record.fields = {{"", COUPLET_DOUBLE, {10, 20}}};
  record.slots = 4;
  record.required_readers = {"nowcast"};
  record.parts = {{0, 0, {{{2, {0, 0}, {5, 20}}}}, "series-eta-0"}, {1, 0, {{{2, {5, 0}, {10, 20}}}}, "series-eta-1"}};
  return record;
}

TEST_F(Recovery, ASeriesIsDescribedAgainByWhoKnowsIt) {
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 5, false, 1, 0, false}};
  const auto nowcast = rejoin(reader);
  world_.send(nowcast, FindMessage{7, "eta", -1, true});
  EXPECT_FALSE(world_.has<AnswerMessage>(nowcast));
  auto writer = member(0, two_oceans_and_a_nowcast());
  writer.series = {{"eta", 5, true, 0, not_opened, true}};
  const auto ocean0 = rejoin(writer);
  ASSERT_TRUE(world_.has<RecallMessage>(ocean0));
  EXPECT_EQ(world_.last<RecallMessage>(ocean0).incarnation, 5U);
  const auto description = encode_record(eta());
  world_.send(ocean0, RecordMessage{"eta", 5, {description.size(), 0, description}});
  ASSERT_TRUE(world_.has<AnswerMessage>(nowcast));
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).series->incarnation, 5U);
  EXPECT_FALSE(world_.last<AnswerMessage>(nowcast).series->closed);
  // Rank 1 had closed it already, and says nothing of it; then rank 0 closes it, too.
  rejoin(1);
  EXPECT_FALSE(world_.has<SeriesMessage>(nowcast));
  world_.send(ocean0, NoteMessage{8, SeriesNote::writer_closed, "eta"});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).code, Code::ok);
  EXPECT_TRUE(world_.last<SeriesMessage>(nowcast).closed);
  world_.announce(ocean0, 9, eta());
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).series->incarnation, 6U);
}

TEST_F(Recovery, AClosingNoteThatComesBeforeTheDescriptionCounts) {
  auto writer = member(0, two_oceans_and_a_nowcast());
  writer.series = {{"eta", 5, true, 0, not_opened, true}};
  const auto ocean0 = rejoin(writer);
  world_.send(ocean0, NoteMessage{8, SeriesNote::writer_closed, "eta"});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).code, Code::ok);
  const auto description = encode_record(eta());
  world_.send(ocean0, RecordMessage{"eta", 5, {description.size(), 0, description}});
  rejoin(1);
  const auto nowcast = rejoin(2);
  world_.send(nowcast, FindMessage{7, "eta", -1, true});
  EXPECT_TRUE(world_.last<AnswerMessage>(nowcast).series->closed);
}

TEST_F(Recovery, ANameThatWasForgottenGetsAHigherIncarnation) {
  const auto ocean0 = rejoin(0);
  world_.announce(ocean0, 9, eta());
  EXPECT_GE(world_.last<AnswerMessage>(ocean0).series->incarnation, std::uint64_t{1} << 32U);
}

TEST_F(Recovery, TwiceInARowIsTheNextEpoch) {
  auto message = member(0, two_oceans_and_a_nowcast());
  message.epoch = 4;
  EXPECT_EQ(world_.last<RejoinedMessage>(rejoin(message)).epoch, 5U);
}

}  // namespace
}  // namespace couplet::universe
