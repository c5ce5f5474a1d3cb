#include <gtest/gtest.h>

#include <algorithm>

#include "hub_world.hpp"

namespace couplet::universe {
namespace {

TEST(HubState, StartUpWaitsForEveryRequiredRank) {
  HubWorld world("ocean:2,nowcast:1");
  const auto ocean0 = world.join("ocean", 0, 2);
  const auto ocean1 = world.join("ocean", 1, 2, 60, "b");
  EXPECT_FALSE(world.has<CompleteMessage>(ocean0));
  const auto nowcast = world.join("nowcast", 0, 1);
  for (const auto each : {ocean0, ocean1, nowcast}) {
    ASSERT_TRUE(world.has<CompleteMessage>(each));
    EXPECT_EQ(world.node_names(each), (std::vector<std::string>{"host-a", "host-b"}));
    EXPECT_EQ(world.known(each, 1).node, 1U);
    EXPECT_EQ(world.known_connection(each, 2), nowcast);
    EXPECT_EQ(world.known(each, 2).state, PeerState::present);
  }
  EXPECT_EQ(world.last<PlacedMessage>(nowcast).peer, 2U);
  EXPECT_EQ(world.last<PlacedMessage>(nowcast).programs[1].first_rank, 2);
  EXPECT_EQ(world.last<AdmittedMessage>(ocean0).run_id, 0x1234U);
  EXPECT_EQ(world.event_names(), (std::vector<std::string>{"joined", "joined", "joined", "complete"}));
}

TEST(HubState, TheDeadlineNamesProgramsAndRanksThatAreMissing) {
  HubWorld world("ocean:2,nowcast:1,follower:1?,tracer");
  const auto ocean0 = world.connect();
  world.send(ocean0, JoinMessage{false, "ocean", 0, 2, 2, "host-a"});
  world.finish(ocean0, "a");
  EXPECT_EQ(world.hub().missing(),
            "waiting for rank 1 of 'ocean', program 'nowcast' (0 of 1 rank) and program 'tracer' (0 of ? ranks)");
  const auto tracer = world.join("tracer", 0, 3, 60);
  world.finish(ocean0, "a");
  EXPECT_EQ(world.hub().missing(),
            "waiting for rank 1 of 'ocean', program 'nowcast' (0 of 1 rank) and ranks 1 and 2 of 'tracer'");
  world.advance(1.9);
  EXPECT_FALSE(world.has<RefusedMessage>(ocean0));
  world.advance(0.2);
  const auto refused = world.last<RefusedMessage>(ocean0);
  EXPECT_EQ(refused.code, Code::timeout);
  EXPECT_EQ(
      refused.text,
      "joining took longer than 2.0 s: waiting for rank 1 of 'ocean', program 'nowcast' (0 of 1 rank) and ranks 1 "
      "and 2 of 'tracer'");
  EXPECT_TRUE(world.closed(ocean0));
  EXPECT_FALSE(world.closed(tracer));
}

TEST(HubState, AProgramThatWaitsIsNotMissingItself) {
  HubWorld world("ocean:1,tracer");
  const auto ocean = world.connect();
  world.send(ocean, JoinMessage{false, "ocean", 0, 1, 2, "host-a"});
  world.finish(ocean, "a");
  EXPECT_EQ(world.hub().missing(), "waiting for program 'tracer' (0 of ? ranks)");
  world.advance(2.1);
  EXPECT_EQ(world.last<RefusedMessage>(ocean).text,
            "joining took longer than 2.0 s: waiting for program 'tracer' (0 of ? ranks)");
}

TEST(HubState, ARankThatHasComeAndNamesNoNodeIsMissingIfAllHaveCome) {
  HubWorld world("ocean:2");
  world.join("ocean", 0, 2);
  const auto silent = world.connect();
  world.send(silent, JoinMessage{false, "ocean", 1, 2, 2, "host-a"});
  EXPECT_EQ(world.hub().missing(), "waiting for rank 1 of 'ocean'");
}

TEST(HubState, ALongListOfMissingRanksIsCut) {
  HubWorld world("ocean:100");
  world.join("ocean", 3, 100);
  EXPECT_EQ(world.hub().missing(), "waiting for ranks 0, 1, 2, 4, 5, 6, 7, 8 and 91 more of 'ocean'");
}

TEST(HubState, SomebodyIsToldNowAndThenWhoIsMissing) {
  HubWorld world("ocean:2,nowcast:1");
  const auto ocean0 = world.join("ocean", 0, 2, -1);
  const auto ocean1 = world.join("ocean", 1, 2, -1);
  world.advance(11);
  world.advance(1);
  EXPECT_EQ(world.all<WaitingMessage>(ocean0).size(), 1U);
  EXPECT_EQ(world.last<WaitingMessage>(ocean0).text, "waiting for program 'nowcast' (0 of 1 rank)");
  EXPECT_FALSE(world.has<WaitingMessage>(ocean1));
  world.advance(31);
  EXPECT_EQ(world.all<WaitingMessage>(ocean0).size(), 2U);
}

TEST(HubState, AnUnknownProgramIsToldWhichThereAre) {
  HubWorld world("ocean:2,nowcast:1");
  const auto connection = world.join("oecan", 0, 2);
  const auto refused = world.last<RefusedMessage>(connection);
  EXPECT_EQ(refused.code, Code::not_found);
  EXPECT_EQ(refused.text, "the universe has no program 'oecan'; it has 'ocean' and 'nowcast'");
}

TEST(HubState, ARankJoinsOnce) {
  HubWorld world("ocean:2");
  const auto first = world.join("ocean", 0, 2);
  const auto again = world.join("ocean", 0, 2, 60, "b");
  const auto refused = world.last<RefusedMessage>(again);
  EXPECT_EQ(refused.code, Code::exists);
  EXPECT_EQ(refused.text,
            "rank 0 of program 'ocean' is in the universe already, on host host-a (process 101); it cannot join again "
            "from host host-b");
  world.cut(again);
  EXPECT_FALSE(world.closed(first));
  world.join("ocean", 1, 2);
  EXPECT_TRUE(world.has<CompleteMessage>(first));
}

TEST(HubState, SizesMustAgree) {
  HubWorld world("ocean:2,tracer");
  EXPECT_EQ(world.last<RefusedMessage>(world.join("ocean", 0, 3)).text,
            "program 'ocean' has 2 ranks, as the hub was told, but its rank 0 on host host-a says it has 3");
  world.join("tracer", 1, 4);
  const auto other = world.join("tracer", 0, 5);
  EXPECT_EQ(world.last<RefusedMessage>(other).code, Code::mismatch);
  EXPECT_EQ(world.last<RefusedMessage>(other).text,
            "program 'tracer' has 4 ranks, as its first rank said, but its rank 0 on host host-a says it has 5");
  EXPECT_EQ(world.last<RefusedMessage>(world.join("tracer", 4, 4)).code, Code::argument);
  EXPECT_EQ(world.last<RefusedMessage>(world.join("tracer", -1, 4)).code, Code::argument);
}

TEST(HubState, AWrongSizeGoesWithWhoSaidIt) {
  HubWorld world("ocean:1,tracer,icebergs");
  const auto wrong = world.join("tracer", 0, 7);
  world.cut(wrong);
  const auto right = world.join("tracer", 0, 2);
  EXPECT_TRUE(world.has<AdmittedMessage>(right));
  EXPECT_FALSE(world.has<RefusedMessage>(right));
}

TEST(HubState, ALateProgramIsLetInWhenItIsComplete) {
  HubWorld world("ocean:1,follower:2?");
  const auto ocean = world.join("ocean", 0, 1);
  ASSERT_TRUE(world.has<CompleteMessage>(ocean));
  EXPECT_EQ(world.known(ocean, 1).state, PeerState::absent);
  const auto follower0 = world.join("follower", 0, 2);
  EXPECT_FALSE(world.has<CompleteMessage>(follower0));
  EXPECT_EQ(world.changes(ocean).back().peer, 1U);
  const auto follower1 = world.join("follower", 1, 2);
  EXPECT_TRUE(world.has<CompleteMessage>(follower0));
  EXPECT_TRUE(world.has<CompleteMessage>(follower1));
  EXPECT_EQ(world.known(follower1, 0).state, PeerState::present);
  EXPECT_EQ(world.changes(ocean).size(), 2U);
}

TEST(HubState, AHalfLateProgramIsNamedAtItsDeadline) {
  HubWorld world("ocean:1,follower:2?");
  world.join("ocean", 0, 1);
  const auto follower = world.join("follower", 0, 2, 3);
  world.advance(3.1);
  EXPECT_EQ(world.last<RefusedMessage>(follower).text,
            "joining took longer than 3.0 s: waiting for rank 1 of 'follower'");
}

// It may be the place of a process that has ended.
TEST(HubState, ATakenPlaceIsRefusedOnceItsConnectionIsHeardOut) {
  bool unheard = true;
  auto settings = HubWorld::settings("ocean:2", -1);
  settings.has_unheard = [&unheard](ConnectionId) { return unheard; };
  HubWorld world(settings);
  const auto holder = world.join("ocean", 0, 2);
  const auto heard_out = world.join("ocean", 0, 2);
  world.advance(0.1);
  EXPECT_FALSE(world.has<RefusedMessage>(heard_out));
  unheard = false;
  world.advance(0.1);
  EXPECT_EQ(world.last<RefusedMessage>(heard_out).code, Code::exists);
  unheard = true;
  const auto talked_over = world.join("ocean", 0, 2);
  world.advance(1.5);
  EXPECT_FALSE(world.has<RefusedMessage>(talked_over));
  world.advance(1.5);
  EXPECT_EQ(world.last<RefusedMessage>(talked_over).code, Code::exists);
  const auto successor = world.join("ocean", 0, 2);
  world.cut(holder);
  world.advance(0.1);
  EXPECT_FALSE(world.has<RefusedMessage>(successor));
  world.finish(successor, "a");
  EXPECT_TRUE(world.has<AdmittedMessage>(successor));
}

// Fault: the text also named the required programs that had been lost since the beginning, for which nobody waits.
TEST(HubState, AJoinThatTakesTooLongInACompleteUniverseNamesItsOwnProgramOnly) {
  HubWorld world("ocean:2,nowcast:1,tracer:1");
  const auto ocean0 = world.join("ocean", 0, 2);
  const auto ocean1 = world.join("ocean", 1, 2);
  world.join("tracer", 0, 1);
  world.cut(world.join("nowcast", 0, 1));
  world.cut(ocean0);
  world.cut(ocean1);
  const auto again = world.join("ocean", 1, 2, 3);
  world.advance(4);
  EXPECT_EQ(world.last<RefusedMessage>(again).text,
            "joining took longer than 3.0 s: waiting for rank 0 (lost) of 'ocean'");
}

TEST(HubState, ALossIsToldByName) {
  HubWorld world("ocean:2,nowcast:1");
  const auto ocean0 = world.join("ocean", 0, 2);
  const auto ocean1 = world.join("ocean", 1, 2, 60, "b");
  const auto nowcast = world.join("nowcast", 0, 1);
  world.cut(ocean1, "its connection to the hub was reset");
  for (const auto each : {ocean0, nowcast}) {
    const auto event = world.changes(each).back();
    EXPECT_EQ(event.peer, 1U);
    EXPECT_EQ(event.state, PeerState::lost);
    EXPECT_EQ(world.node_names(each).at(event.node), "host-b");
    EXPECT_EQ(event.why, "its connection to the hub was reset");
  }
  EXPECT_EQ(world.events().back().text,
            "program 'ocean' rank 1 (universe rank 1) on host host-b is lost: its connection to the hub was reset");
  EXPECT_EQ(world.events().back().name, "lost");
  EXPECT_FALSE(world.hub().over());
}

TEST(HubState, ALossBeforeTheStartIsMissing) {
  HubWorld world("ocean:2,nowcast:1");
  world.join("ocean", 0, 2);
  const auto ocean1 = world.join("ocean", 1, 2);
  world.cut(ocean1);
  EXPECT_EQ(world.hub().missing(), "waiting for rank 1 (lost) of 'ocean' and program 'nowcast' (0 of 1 rank)");
}

TEST(HubState, LeavingInGoodOrderIsNoLoss) {
  HubWorld world("ocean:1,nowcast:1");
  const auto ocean = world.join("ocean", 0, 1);
  const auto nowcast = world.join("nowcast", 0, 1);
  world.send(ocean, LeaveMessage{});
  EXPECT_TRUE(world.has<GoodbyeMessage>(ocean));
  EXPECT_TRUE(world.closed(ocean));
  world.cut(ocean);
  ASSERT_EQ(world.changes(nowcast).size(), 1U);
  EXPECT_EQ(world.changes(nowcast).back().state, PeerState::left);
}

TEST(HubState, ARestartIsTheNextIncarnation) {
  HubWorld world("ocean:1,nowcast:1");
  const auto ocean = world.join("ocean", 0, 1);
  const auto nowcast = world.join("nowcast", 0, 1);
  EXPECT_EQ(world.last<PlacedMessage>(nowcast).incarnation, 0U);
  world.cut(nowcast);
  const auto again = world.join("nowcast", 0, 1);
  EXPECT_EQ(world.last<PlacedMessage>(again).incarnation, 1U);
  EXPECT_TRUE(world.has<CompleteMessage>(again));
  const auto event = world.changes(ocean).back();
  EXPECT_EQ(event.state, PeerState::present);
  EXPECT_EQ(event.incarnation, 1U);
  EXPECT_EQ(world.known_connection(ocean, 1), again);
}

// Fault: a member was told that the incarnation that was just joining is lost. It never took it for present after that.
TEST(HubState, WhoJoinsWhileARankIsStartedAgainIsToldThatItsPredecessorIsLost) {
  HubWorld world("ocean:1,nowcast:1,late:1?");
  const auto ocean = world.join("ocean", 0, 1);
  world.join("nowcast", 0, 1);
  world.cut(ocean, "it was killed");
  const auto again = world.connect();
  world.send(again, JoinMessage{false, "ocean", 0, 1, 60, "host-a"});
  world.send(again, NodeMessage{"key-a"});
  ASSERT_EQ(world.last<PlacedMessage>(again).incarnation, 1U);
  const auto late = world.join("late", 0, 1);
  for (const auto& message : world.all<StatesMessage>(late)) {
    for (const auto& group : message.groups) {
      for (const auto& run : group.runs) {
        EXPECT_TRUE(run.first != 0 || (run.state == PeerState::lost && run.incarnation == 0)) << run.incarnation;
      }
    }
  }
  world.present(again);
  EXPECT_EQ(world.known(late, 0).state, PeerState::present);
  EXPECT_EQ(world.known(late, 0).incarnation, 1U);
}

TEST(HubState, TheUniverseIsOverWhenEverybodyHasLeft) {
  HubWorld world("ocean:1,nowcast:1,follower:1?");
  const auto ocean = world.join("ocean", 0, 1);
  const auto nowcast = world.join("nowcast", 0, 1);
  const auto relay = world.join_relay("a");
  world.send(ocean, LeaveMessage{});
  EXPECT_FALSE(world.hub().over());
  world.cut(nowcast);
  EXPECT_TRUE(world.hub().over());
  EXPECT_EQ(world.last<OverMessage>(relay).text, "every program has ended");
  EXPECT_TRUE(world.closed(relay));
  EXPECT_EQ(world.events().back().name, "over");
  EXPECT_EQ(world.hub().due_ns(), os::never);  // no change is told any more: the server may sleep
}

TEST(HubState, NobodyLeftBeforeTheStartIsNotTheEnd) {
  HubWorld world("ocean:1,nowcast:1");
  world.cut(world.join("ocean", 0, 1));
  world.advance(100);
  EXPECT_FALSE(world.hub().over());
}

TEST(HubState, StoppingTellsEverybody) {
  HubWorld world("ocean:1,nowcast:1");
  const auto ocean = world.join("ocean", 0, 1);
  world.hub().stop("the hub was told to end");
  world.pump();
  EXPECT_TRUE(world.hub().over());
  EXPECT_EQ(world.last<OverMessage>(ocean).text, "the hub was told to end");
  const auto late = world.connect();
  world.pump();
  EXPECT_EQ(world.last<OverMessage>(late).text, "the hub was told to end") << "it had called before";
}

TEST(HubState, ARelayServesOneNode) {
  HubWorld world("ocean:1,nowcast:1");
  const auto ocean = world.join("ocean", 0, 1, 60, "a");
  world.join("nowcast", 0, 1, 60, "b");
  world.send(ocean, RelayOfMessage{7, 1, true});
  EXPECT_FALSE(world.has<AnswerMessage>(ocean));
  const auto relay = world.join_relay("b");
  EXPECT_EQ(world.last<PlacedMessage>(relay).peer, channel::first_relay_peer + 1);
  EXPECT_TRUE(world.has<CompleteMessage>(relay));
  EXPECT_EQ(world.last<AnswerMessage>(ocean).peer, channel::first_relay_peer + 1);
  EXPECT_EQ(world.changes(ocean).back().peer, channel::first_relay_peer + 1);
  const auto second = world.join_relay("b");
  EXPECT_EQ(world.last<RefusedMessage>(second).code, Code::exists);
  world.cut(second);
  world.send(ocean, RelayOfMessage{8, 1, false});
  EXPECT_EQ(world.last<AnswerMessage>(ocean).request, 8U);
  EXPECT_EQ(world.last<AnswerMessage>(ocean).code, Code::ok);
  world.send(ocean, RelayOfMessage{9, 0, false});
  EXPECT_EQ(world.last<AnswerMessage>(ocean).code, Code::not_yet);
  world.send(ocean, RelayOfMessage{10, 5, false});
  EXPECT_EQ(world.last<AnswerMessage>(ocean).code, Code::not_found);
}

TEST(HubState, MessagesOutOfTurnAreRefused) {
  HubWorld world("ocean:1,nowcast:1");
  const auto early = world.connect();
  world.send(early, PresentMessage{});
  EXPECT_EQ(world.last<RefusedMessage>(early).code, Code::protocol);
  const auto twice = world.join("ocean", 0, 1);
  world.send(twice, JoinMessage{false, "nowcast", 0, 1, 60, "host"});
  EXPECT_EQ(world.last<RefusedMessage>(twice).code, Code::protocol);
  const auto stranger = world.connect();
  SeriesRecord record;
  record.name = "eta";
  record.fields = {{"", COUPLET_DOUBLE, {4}}};
  world.announce(stranger, 1, record);
  EXPECT_EQ(world.last<AnswerMessage>(stranger).code, Code::state);
}

TEST(HubState, TheSameInputsGiveTheSameOutputs) {
  std::vector<std::string> runs[2];
  for (auto& run : runs) {
    HubState hub(HubWorld::settings("ocean:3,nowcast:1", -1));
    for (ConnectionId each = 1; each <= 4; ++each) {
      hub.connected(each, each);
      const bool ocean = each <= 3;
      hub.received(each,
                   JoinMessage{false, ocean ? "ocean" : "nowcast", ocean ? static_cast<int>(each) - 1 : 0,
                               ocean ? 3 : 1, 60, "h"},
                   each);
      hub.received(each, NodeMessage{each % 2 != 0 ? "x" : "y"}, each);
      hub.received(each, PresentMessage{}, each);
    }
    hub.disconnected(2, "gone", 10);
    for (const auto& output : hub.take_outputs()) {
      run.push_back(std::to_string(output.to) + *output.payload);
    }
    for (const auto& event : hub.take_events()) {
      run.push_back(event_json(event, 0));
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_GT(runs[0].size(), 20U);
}

TEST(HubState, TenThousandRanksAreToldInRunsAndContactsOnDemand) {
  HubWorld world("ocean:9999,nowcast:1");
  std::vector<ConnectionId> members;
  for (int rank = 0; rank < 9999; ++rank) {
    members.push_back(world.join("ocean", rank, 9999));
  }
  EXPECT_FALSE(world.has<CompleteMessage>(members[0]));
  world.join("nowcast", 0, 1);
  EXPECT_TRUE(world.has<CompleteMessage>(members[0]));
  EXPECT_LE(world.bytes_to(members[9998]), 1000U);
  EXPECT_EQ(world.known(members[0], 9998).state, PeerState::present);
  EXPECT_EQ(world.known_connection(members[0], 9998), 0U);
  world.send(members[0], ContactsOfMessage{9900, 200});
  EXPECT_EQ(world.known_connection(members[0], 9998), members[9998]);
  EXPECT_EQ(world.known_connection(members[0], 9899), 0U);
  EXPECT_LE(sizeof(PeerInfo), 64U);
}

// Leaving cost the hub a message for each pair of ranks: 125 of 500 leaves timed out.
TEST(HubState, LeavingDoesNotCostAMessageForEachPairOfRanks) {
  constexpr int ranks = 500;
  HubWorld world("ocean:500");
  std::vector<ConnectionId> members;
  for (int rank = 0; rank < ranks; ++rank) {
    members.push_back(world.join("ocean", rank, ranks));
  }
  ASSERT_TRUE(world.has<CompleteMessage>(members[0]));
  world.tell_at_once(false);
  world.advance(1);
  const auto before = world.messages();
  for (int rank = 0; rank < ranks - 1; ++rank) {
    world.send(members[static_cast<std::size_t>(rank)], LeaveMessage{});
    EXPECT_TRUE(world.has<GoodbyeMessage>(members[static_cast<std::size_t>(rank)]));
  }
  world.advance(1);
  EXPECT_LE(world.messages() - before, 2U * ranks);
  EXPECT_EQ(world.changes(members.back()).size(), 499U);
  EXPECT_EQ(world.known(members.back(), 0).state, PeerState::left);
  EXPECT_TRUE(world.changes(members.front()).empty()) << "it had left already";
}

TEST(HubState, ChangesOfOneBatchKeepTheirOrderForEachPeer) {
  HubWorld world("ocean:1,nowcast:1");
  const auto ocean = world.join("ocean", 0, 1);
  const auto nowcast = world.join("nowcast", 0, 1);
  world.tell_at_once(false);
  world.advance(1);
  world.cut(nowcast, "it was killed");
  const auto again = world.join("nowcast", 0, 1);
  world.send(again, LeaveMessage{});
  EXPECT_TRUE(world.changes(ocean).empty());
  world.advance(0.1);
  const auto told = world.changes(ocean);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0].state, PeerState::lost);
  EXPECT_EQ(told[0].why, "it was killed");
  EXPECT_EQ(told[1].state, PeerState::present);
  EXPECT_EQ(told[1].incarnation, 1U);
  EXPECT_EQ(told[2].state, PeerState::left);
}

// An answer never tells of a world that the member has not heard of: the writer of a series that it finds is known to
// live.
TEST(HubState, AnAnswerComesAfterTheChangesBeforeIt) {
  HubWorld world("ocean:1,nowcast:1");
  const auto ocean = world.join("ocean", 0, 1);
  const auto nowcast = world.join("nowcast", 0, 1);
  world.tell_at_once(false);
  world.advance(1);
  world.cut(ocean);
  world.join("ocean", 0, 1);
  EXPECT_TRUE(world.changes(nowcast).empty());
  world.send(nowcast, FindMessage{1, "eta", -1, false});
  EXPECT_EQ(world.changes(nowcast).back().state, PeerState::present);
  EXPECT_EQ(world.known_connection(nowcast, 0), 3U);
}

// Both ranks of ocean join and are killed. From then on, changes are told when they are due.
void lose_the_ocean(HubWorld& world) {
  const std::array earlier = {world.join("ocean", 0, 2), world.join("ocean", 1, 2)};
  world.tell_at_once(false);
  world.advance(1);
  world.cut(earlier[0]);
  world.cut(earlier[1]);
  world.advance(0);
}

// A rank greeted a member at once, which then asked for another rank of the program and was told that it is lost.
TEST(HubState, WhoIsLetInIsKnownToAll) {
  HubWorld world("ocean:2,nowcast:1");
  const auto nowcast = world.join("nowcast", 0, 1);
  lose_the_ocean(world);
  const auto told_before = world.changes(nowcast).size();
  const std::array again = {world.join("ocean", 0, 2), world.join("ocean", 1, 2)};
  EXPECT_EQ(world.changes(nowcast).size(), told_before);
  EXPECT_FALSE(world.has<CompleteMessage>(again[0]));
  world.advance(0.1);
  EXPECT_EQ(world.known(nowcast, 1).state, PeerState::present);
  EXPECT_TRUE(world.has<CompleteMessage>(again[0]) && world.has<CompleteMessage>(again[1]));
}

TEST(HubState, WhoIsLetInLaterMayDieBefore) {
  HubWorld world("ocean:2,nowcast:1");
  world.join("nowcast", 0, 1);
  lose_the_ocean(world);
  const auto first = world.join("ocean", 0, 2);
  world.cut(world.join("ocean", 1, 2), "it was killed again");
  world.advance(0.1);
  EXPECT_FALSE(world.has<CompleteMessage>(first));
  world.join("ocean", 1, 2);
  world.advance(0.1);
  EXPECT_TRUE(world.has<CompleteMessage>(first));
}

TEST(HubState, WhoCatchesUpIsToldAllChangesBeforeTheAnswer) {
  HubWorld world("ocean:1,nowcast:1");
  const auto ocean = world.join("ocean", 0, 1);
  const auto nowcast = world.join("nowcast", 0, 1);
  world.tell_at_once(false);
  world.advance(1);
  world.cut(ocean);
  EXPECT_TRUE(world.changes(nowcast).empty());
  world.send(nowcast, CatchUpMessage{5});
  EXPECT_EQ(world.changes(nowcast).back().state, PeerState::lost);
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).request, 5U);
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::ok);
}

// A sentence that members do not accept was HUB_LOST for them.
TEST(HubState, TheListOfTwoHundredMissingProgramsIsBounded) {
  std::string programs;
  for (int index = 0; index < 200; ++index) {
    programs +=
        fmt::format("{}a-program-with-a-name-of-sixty-characters-or-so-number-{:04}:1", index > 0 ? "," : "", index);
  }
  HubWorld world(programs);
  const auto first = world.connect();
  world.send(first, JoinMessage{false, "a-program-with-a-name-of-sixty-characters-or-so-number-0000", 0, 1, 1, "host"});
  world.advance(2);
  const auto text = world.last<RefusedMessage>(first).text;
  EXPECT_LT(text.size(), max_text_bytes);
  EXPECT_NE(text.find("and 179 more programs"), std::string::npos) << text;
  const auto unknown = world.join("ocean", 0, 1);
  EXPECT_LT(world.last<RefusedMessage>(unknown).text.size(), max_text_bytes);
  EXPECT_NE(world.last<RefusedMessage>(unknown).text.find("and 180 more"), std::string::npos);
}

TEST(HubState, EventsAreJsonLines) {
  HubEvent event;
  event.name = "lost";
  event.program = "ocean";
  event.rank = 1;
  event.text = "a \"quoted\" word\n";
  EXPECT_EQ(event_json(event, 2.5), R"({"event":"lost","incarnation":0,"peer":0,"program":"ocean","rank":1,)"
                                    R"("text":"a \"quoted\" word\n","time_s":2.5})");
}

}  // namespace
}  // namespace couplet::universe
