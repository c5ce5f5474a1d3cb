// A hub that was started again: what it knows afterwards, from what its members tell.
#include <gtest/gtest.h>

#include <set>

#include "unit/universe/recovery_fixture.hpp"

namespace couplet::universe {
namespace {

// The reason with which a member was first told that this incarnation of a peer is lost. What it is told of a loss that
// it knows does not count.
std::string first_reason(const std::vector<StatesMessage>& told, channel::PeerId peer, std::uint16_t incarnation) {
  for (const auto& message : told) {
    for (const auto& group : message.groups) {
      for (const auto& run : group.runs) {
        const bool meant = peer >= run.first && peer - run.first < run.count && run.incarnation == incarnation;
        if (meant && run.state == PeerState::lost) {
          return group.why;
        }
      }
    }
  }
  return "it was not told";
}

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
    EXPECT_EQ(world_.known_connection(each, 1), 101U);
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
  EXPECT_EQ(refused.text, "the hub serves run 0000000000001234, but this process belongs to run 0000000000000099");
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

// The relay had died while there was no hub. The next one was given its incarnation, so that the members took it for
// the dead one, and no reader on another node found it.
TEST_F(Recovery, ARelayIsALaterIncarnationThanThoseThatMembersKnow) {
  auto message = member(0, two_oceans_and_a_nowcast());
  message.exceptions = {{channel::first_relay_peer, 1, PeerState::lost, 3, 0}};
  rejoin(message);
  rejoin(1);
  rejoin(2);
  EXPECT_EQ(world_.last<PlacedMessage>(world_.join_relay("a")).incarnation, 4U);
  EXPECT_EQ(world_.last<PlacedMessage>(world_.join_relay("b")).incarnation, 0U);
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

// It was alone on its node, and died with the hub: nobody sees its lock, and the hub does not know its port.
TEST_F(Recovery, ARankThatDiedWithTheHubIsLostAsItsPortSays) {
  const auto ocean0 = rejoin(0);
  rejoin(1);
  EXPECT_TRUE(world_.hub().cut_off().empty());
  auto contact = HubWorld::contact_of_connection(102);
  world_.send(ocean0, CallMeBackMessage{2, 1, contact});
  EXPECT_TRUE(world_.hub().cut_off().empty()) << "another incarnation was meant";
  world_.send(ocean0, CallMeBackMessage{2, 0, contact});
  ASSERT_EQ(world_.hub().cut_off().size(), 1U);
  EXPECT_EQ(world_.hub().cut_off()[0].endpoint.port, endpoint_of_connection(102).port);
  world_.hub().seen_at_port({2, true}, world_.now_ns());
  world_.advance(100);
  EXPECT_EQ(world_.known(ocean0, 2).state, PeerState::present) << "it listens, and computes";
  world_.hub().seen_at_port({2, false}, world_.now_ns());
  world_.advance(2.9);
  EXPECT_EQ(world_.known(ocean0, 2).state, PeerState::present) << "it may be about to listen again";
  world_.advance(0.2);
  EXPECT_EQ(world_.known(ocean0, 2).state, PeerState::lost);
}

// Fault (chaos seed 80014): it had made no call since the hub was started again, and left, as the last process of its
// node, while the hub could not be reached. Its successor was not let in, and the hub did not end.
TEST_F(Recovery, WhoLeftUnheardAloneOnItsNodeIsLostAsThePortSaysThatAnotherMemberKnows) {
  const auto ocean0 = rejoin(0);
  const auto ocean1 = rejoin(1);
  const auto contact = HubWorld::contact_of_connection(102);
  const auto ask = [&](std::uint16_t incarnation) {
    for (const auto each : {ocean0, ocean1}) {  // they are asked in turn
      world_.advance(1.1);
      ASSERT_EQ(world_.last<LookMessage>(each).contacts_of.size(), 1U);
      EXPECT_EQ(world_.last<LookMessage>(each).contacts_of[0].first, 2U);
      world_.send(each, SeenMessage{{}, {{2, incarnation, contact}}});
    }
  };
  ask(1);
  EXPECT_TRUE(world_.hub().cut_off().empty()) << "another incarnation was meant";
  ask(0);
  EXPECT_TRUE(world_.hub().cut_off().empty()) << "nothing speaks for its end: it may compute";
  const auto again = world_.join("nowcast", 0, 1, 60, "b");
  ASSERT_EQ(world_.hub().cut_off().size(), 1U);
  EXPECT_EQ(world_.hub().cut_off()[0].endpoint.port, endpoint_of_connection(102).port);
  world_.hub().seen_at_port({2, false}, world_.now_ns());
  world_.advance(3.1);
  world_.finish(again, "b");
  ASSERT_TRUE(world_.has<PlacedMessage>(again));
  EXPECT_EQ(world_.last<PlacedMessage>(again).incarnation, 1U);
  for (const auto each : {ocean0, ocean1, again}) {
    world_.send(each, LeaveMessage{});
  }
  EXPECT_TRUE(world_.hub().over());
}

// As above, but it is not started again, and all others have left.
TEST_F(Recovery, TheHubCallsWhoIsAwaitedIfNobodyElseIsLeft) {
  const auto ocean0 = rejoin(0);
  const auto ocean1 = rejoin(1);
  world_.advance(1.1);
  for (const auto each : {ocean0, ocean1}) {
    world_.send(each, SeenMessage{{}, {{2, 0, HubWorld::contact_of_connection(102)}}});
    EXPECT_TRUE(world_.hub().cut_off().empty());
    world_.send(each, LeaveMessage{});
  }
  ASSERT_EQ(world_.hub().cut_off().size(), 1U);
  world_.hub().seen_at_port({2, true}, world_.now_ns());
  world_.advance(100);
  EXPECT_FALSE(world_.hub().over()) << "it lives, and computes";
  world_.hub().seen_at_port({2, false}, world_.now_ns());
  world_.advance(3.1);
  EXPECT_TRUE(world_.hub().over());
}

// Fault: the only member that knew where the awaited one had listened came back and left within a second, before it was
// asked. The hub then waited for ten minutes.
TEST_F(Recovery, WhoComesBackIsAskedAtOnceWhereTheLastOnesListened) {
  const auto ocean0 = rejoin(0);
  const auto ocean1 = rejoin(1);
  ASSERT_TRUE(world_.has<LookMessage>(ocean1));
  ASSERT_EQ(world_.last<LookMessage>(ocean1).contacts_of.size(), 1U);
  EXPECT_EQ(world_.last<LookMessage>(ocean1).contacts_of[0].first, 2U);
  world_.send(ocean1, SeenMessage{{}, {{2, 0, HubWorld::contact_of_connection(102)}}});
  for (const auto each : {ocean0, ocean1}) {
    world_.send(each, LeaveMessage{});
  }
  ASSERT_EQ(world_.hub().cut_off().size(), 1U);
  world_.hub().seen_at_port({2, false}, world_.now_ns());
  world_.advance(3.1);
  EXPECT_TRUE(world_.hub().over());
}

// Nobody is asked about everybody, and in time all are asked for.
TEST_F(Recovery, OneMemberIsAskedForABoundedNumberOfContacts) {
  HubWorld world{resumed("ocean:1000,nowcast:1")};
  const auto connection = world.connect();
  world.send(connection, member(1000, {{"ocean", 1000, 0, true}, {"nowcast", 1, 1000, true}}));
  std::set<channel::PeerId> asked;
  for (int turn = 0; turn < 4; ++turn) {
    world.advance(1.1);
    std::size_t count = 0;
    for (const auto& run : world.last<LookMessage>(connection).contacts_of) {
      count += run.count;
      for (std::uint32_t index = 0; index < run.count; ++index) {
        asked.insert(run.first + index);
      }
    }
    EXPECT_LE(count, max_contacts_looked_for);
  }
  EXPECT_EQ(asked.size(), 1000U);
}

// Fault: the states of all peers, without reasons, came before the change that had the reason.
TEST_F(Recovery, ALossThatEndsTheRecoveryIsToldWithItsReason) {
  const auto ocean0 = rejoin(0);
  const auto nowcast = rejoin(2);
  world_.tell_at_once(false);
  world_.send(ocean0, SeenMessage{{{1, 1, PeerState::lost, 0, 0}}, {}});
  world_.advance(1);
  ASSERT_TRUE(world_.has<CompleteMessage>(nowcast));
  const std::string why = "its process has ended without leaving, as its lock says on host host-a";
  EXPECT_EQ(first_reason(world_.all<StatesMessage>(nowcast), 1, 0), why);
  world_.reset(nowcast);
  const auto again = rejoin(2);
  ASSERT_TRUE(world_.has<CompleteMessage>(again));
  EXPECT_EQ(first_reason(world_.all<StatesMessage>(again), 1, 0), why);
}

TEST_F(Recovery, NobodyIsLostForSilenceDuringTheGrace) {
  const auto ocean0 = rejoin(0);
  world_.advance(100);
  EXPECT_EQ(world_.known(ocean0, 1).state, PeerState::present) << "it may compute";
  EXPECT_FALSE(world_.hub().over());
  rejoin(1);
  EXPECT_EQ(world_.known_connection(ocean0, 1), 101U);
  world_.advance(600);
  EXPECT_EQ(world_.known(ocean0, 2).state, PeerState::lost) << "the patience, a named setting, has passed";
  EXPECT_EQ(world_.known(ocean0, 2).why, "it did not come back to the hub, which was started again");
}

// It computes for longer than the patience; the hub itself, or a neighbour, sees that its lock is held.
TEST_F(Recovery, WhoseLockIsHeldIsNotLost) {
  const auto ocean0 = rejoin(0);
  rejoin(2);
  for (int count = 0; count < 5; ++count) {
    world_.advance(500);
    world_.hub().seen({1, 1, PeerState::present, 0, unknown_node}, "", world_.now_ns());
  }
  world_.advance(500);
  EXPECT_EQ(world_.known(ocean0, 1).state, PeerState::present);
  EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(1)));
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

// Fault: a process that was started again, alone on its node, was never let in, since only members that the hub had let
// in were asked for locks; and the text of the failure did not say what was missing.
TEST_F(Recovery, ARestartedProgramIsAskedWhatIsOnItsNode) {
  const auto nowcast = world_.join("nowcast", 0, 1, 60, "b");
  rejoin(0);
  rejoin(1);
  EXPECT_FALSE(world_.has<PlacedMessage>(nowcast));
  world_.advance(1.1);
  ASSERT_TRUE(world_.has<LookMessage>(nowcast)) << "nobody else is on its node";
  EXPECT_EQ(world_.last<LookMessage>(nowcast).peers.front().first, 2U);
  world_.send(nowcast, SeenMessage{{{2, 1, PeerState::lost, 0, unknown_node}}});
  world_.finish(nowcast, "b");
  ASSERT_TRUE(world_.has<PlacedMessage>(nowcast));
  EXPECT_EQ(world_.last<PlacedMessage>(nowcast).incarnation, 1U);
  EXPECT_TRUE(world_.has<CompleteMessage>(nowcast));
}

TEST_F(Recovery, AJoinThatTakesTooLongSaysWhichPredecessorIsAwaited) {
  rejoin(0);
  rejoin(1);
  const auto nowcast = world_.join("nowcast", 0, 1, 20, "b");
  world_.advance(11);
  const std::string awaited =
      "waiting for the process that was rank 0 of program 'nowcast' before, which may still live";
  EXPECT_NE(world_.last<WaitingMessage>(nowcast).text.find(awaited), std::string::npos);
  world_.advance(10);
  const auto refused = world_.last<RefusedMessage>(nowcast);
  EXPECT_EQ(refused.code, Code::timeout);
  EXPECT_NE(refused.text.find("joining took longer than 20.0 s: " + awaited), std::string::npos) << refused.text;
}

TEST_F(Recovery, AJoinThatTakesTooLongDuringTheGraceNamesIt) {
  const auto relay = world_.join_relay("c");
  rejoin(0);
  const auto nowcast = world_.join("nowcast", 0, 1, 2, "b");
  world_.advance(3);
  EXPECT_NE(world_.last<RefusedMessage>(nowcast).text.find("2.0 s: waiting for "), std::string::npos);
  EXPECT_FALSE(world_.has<PlacedMessage>(relay));
}

TEST_F(Recovery, ARankThatStillLivesKeepsItsPlace) {
  rejoin(0);
  rejoin(1);
  const auto second = world_.join("nowcast", 0, 1, 60, "b");
  const auto first = rejoin(2);
  EXPECT_TRUE(world_.has<RejoinedMessage>(first));
  EXPECT_EQ(world_.last<RefusedMessage>(second).code, Code::exists);
}

// Otherwise "node 0 on host host-a is another one at the hub that was started again": seed 5436 of the simulator.
TEST_F(Recovery, ANewcomerGetsNoNodeNumberBeforeTheOldMembersHaveComeBack) {
  const auto relay = world_.join_relay("c");
  EXPECT_TRUE(world_.has<AdmittedMessage>(relay));
  EXPECT_FALSE(world_.has<PlacedMessage>(relay));
  for (channel::PeerId peer = 0; peer < 3; ++peer) {
    EXPECT_TRUE(world_.has<RejoinedMessage>(rejoin(peer))) << peer;
  }
  world_.finish(relay, "c");
  ASSERT_TRUE(world_.has<PlacedMessage>(relay));
  EXPECT_GT(world_.last<PlacedMessage>(relay).node, 1U);
}

TEST_F(Recovery, AnOldMemberThatComesBackLateFindsItsNodeNumberFree) {
  const auto relay = world_.join_relay("c");
  rejoin(0);
  world_.advance(6);  // the grace
  ASSERT_TRUE(world_.has<PlacedMessage>(relay));
  world_.finish(relay, "c");
  const auto late = rejoin(2);
  EXPECT_TRUE(world_.has<RejoinedMessage>(late));
  ASSERT_TRUE(world_.has<CompleteMessage>(late));
  const auto node = world_.last<PlacedMessage>(relay).node;
  const auto names = world_.node_names(late);
  ASSERT_GT(names.size(), node);
  EXPECT_EQ(names[0], "host-a");
  EXPECT_EQ(names[1], "host-b");
  EXPECT_EQ(names[node], "host-c");
}

// Fault: a process that joined on the node of silent members was given another number for the node, and the hub refused
// these members for ever. The newcomer finds the number in the node directory.
TEST_F(Recovery, MembersThatComeBackAfterANewcomerOnTheirNodeKeepTheirPlaces) {
  const auto newcomer = world_.connect();
  world_.send(newcomer, JoinMessage{true, {}, 0, 1, 60, "host-b"});
  world_.send(newcomer, NodeMessage{"key-b", 1});
  rejoin(0);
  world_.advance(6);  // the grace
  ASSERT_TRUE(world_.has<PlacedMessage>(newcomer));
  EXPECT_EQ(world_.last<PlacedMessage>(newcomer).node, 1U);
  world_.present(newcomer);
  for (const auto member : {rejoin(1), rejoin(2)}) {
    EXPECT_TRUE(world_.has<RejoinedMessage>(member)) << world_.last<RefusedMessage>(member).text;
    EXPECT_EQ(world_.node_names(member), (std::vector<std::string>{"host-a", "host-b"}));
  }
}

// Fault: of two hubs that were started again and heard of no earlier member, the second gave a new node the number that
// the first one had given to another.
TEST_F(Recovery, EachHubThatHearsOfNobodyGivesNumbersOfItsOwn) {
  std::set<std::uint16_t> numbers;
  for (const std::uint32_t epoch : {1U, 2U}) {
    auto settings = resumed("ocean:2,nowcast:1");
    settings.first_epoch = epoch;
    HubWorld world(settings);
    const auto relay = world.join_relay("c");
    world.advance(1);
    world.advance(6);  // the grace
    ASSERT_TRUE(world.has<PlacedMessage>(relay));
    EXPECT_TRUE(numbers.insert(world.last<PlacedMessage>(relay).node).second);
  }
}

TEST_F(Recovery, AnImpossibleNumberOfANodeIsNotTaken) {
  rejoin(0);  // of node 0
  const auto newcomer = world_.connect();
  world_.send(newcomer, JoinMessage{true, {}, 0, 1, 60, "host-c"});
  world_.send(newcomer, NodeMessage{"key-c", 0});
  world_.advance(6);  // the grace
  ASSERT_TRUE(world_.has<PlacedMessage>(newcomer));
  EXPECT_GT(world_.last<PlacedMessage>(newcomer).node, 1U) << "another node has the number";
}

TEST_F(Recovery, AHubToWhichNobodyComesBackEnds) {
  world_.advance(1);
  world_.advance(500);
  const auto joining = world_.join("ocean", 0, 2, 10);
  world_.advance(1);
  world_.advance(10);
  EXPECT_TRUE(world_.has<RefusedMessage>(joining));
  world_.advance(585);
  EXPECT_FALSE(world_.hub().over()) << "somebody was there less than 600 s ago";
  world_.advance(6);
  ASSERT_TRUE(world_.hub().over());
  EXPECT_EQ(world_.events().back().text,
            "no process of before has come back within 600 s, and none has joined (setting hub.rejoin_patience_s)");
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

// Fault: each member that had come back was told of each node that came after it: 0.8 million messages for 10,000 ranks
// on 157 nodes, which took longer than everything else together.
TEST_F(Recovery, WhoHasComeBackHearsOfAllNodesAtOnce) {
  constexpr int nodes = 20;
  HubWorld world(resumed(fmt::format("ocean:{}", nodes)));
  std::vector<ConnectionId> members;
  for (int rank = 0; rank < nodes; ++rank) {
    auto message = member(static_cast<channel::PeerId>(rank), {{"ocean", nodes, 0, true}});
    message.node = static_cast<std::uint16_t>(rank);
    message.node_key = fmt::format("key-{}", rank);
    message.host = fmt::format("host-{}", rank);
    EXPECT_TRUE(members.empty() || world.all<NodesMessage>(members.front()).empty()) << rank;
    members.push_back(world.connect());
    world.send(members.back(), message);
  }
  for (const auto each : members) {
    ASSERT_TRUE(world.has<CompleteMessage>(each));
    EXPECT_EQ(world.all<NodesMessage>(each).size(), 1U);
    ASSERT_EQ(world.node_names(each).size(), std::size_t{nodes});
    EXPECT_EQ(world.node_names(each).back(), fmt::format("host-{}", nodes - 1));
  }
}

TEST_F(Recovery, TwiceInARowIsTheNextEpoch) {
  auto message = member(0, two_oceans_and_a_nowcast());
  message.epoch = 4;
  EXPECT_EQ(world_.last<RejoinedMessage>(rejoin(message)).epoch, 5U);
}

}  // namespace
}  // namespace couplet::universe
