// A hub that was started again and finds the roster of the hub before it.
#include <gtest/gtest.h>

#include "hub_world.hpp"
#include "support/temporary_directory.hpp"
#include "universe/hub/roster.hpp"

namespace couplet::universe {
namespace {

HubSettings resumed(const std::string& programs) {
  auto settings = HubWorld::settings(programs, -1);
  settings.restarted = true;
  return settings;
}

RejoinMessage member_of_ocean(channel::PeerId peer) {
  RejoinMessage message;
  message.run_id = 0x1234;
  message.released = true;
  message.peer = peer;
  message.node_key = "key-a";
  message.host = "host-a";
  message.contact = HubWorld::contact_of_connection(100 + peer);
  message.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
  return message;
}

// Chaos seed 180056: all computed while the hub was started again, and left while it was cut off. It waited for 600 s.
TEST(RecoveryFromRoster, AHubToWhichNobodyComesBackKnowsWhomItAwaits) {
  auto settings = resumed("ocean:2,nowcast:1,late:1?");
  settings.earlier.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}, {"late", 1, 3, false}};
  settings.earlier.ranks[0] = {PeerState::present, 2, endpoint_of_connection(1)};
  settings.earlier.ranks[1] = {PeerState::left, 0, {}};
  settings.earlier.ranks[2] = {PeerState::present, 0, {}};
  HubWorld world(settings);
  world.advance(0.1);
  EXPECT_TRUE(world.hub().complete());
  EXPECT_EQ(world.hub().awaited_count(), 2U) << "one has left, and one has never been there";
  const auto called = world.hub().cut_off();
  ASSERT_EQ(called.size(), 1U) << "it is not known where nowcast listened";
  EXPECT_EQ(called[0].endpoint.port, endpoint_of_connection(1).port);
  world.hub().seen_at_port({0, false}, world.now_ns());
  world.advance(3.1);
  EXPECT_EQ(world.hub().awaited_count(), 1U);
  EXPECT_FALSE(world.hub().over()) << "nowcast may compute";
  const auto late = world.join("late", 0, 1, 60, "c");
  world.advance(2);  // the grace ends
  world.finish(late, "c");
  EXPECT_TRUE(world.has<CompleteMessage>(late));
  EXPECT_EQ(world.known(late, 0).state, PeerState::lost);
  EXPECT_EQ(world.known(late, 1).state, PeerState::left);
  EXPECT_EQ(world.known(late, 2).state, PeerState::present);
  world.send(late, LeaveMessage{});
  world.advance(601);
  EXPECT_TRUE(world.hub().over());
}

TEST(RecoveryFromRoster, MembersThatComeBackKnowBetter) {
  auto settings = resumed("ocean:2,nowcast:1");
  settings.earlier.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
  settings.earlier.ranks[0] = {PeerState::present, 0, endpoint_of_connection(1)};
  settings.earlier.ranks[1] = {PeerState::present, 0, endpoint_of_connection(2)};
  settings.earlier.ranks[2] = {PeerState::present, 0, endpoint_of_connection(3)};
  HubWorld world(settings);
  world.advance(0.1);
  auto message = member_of_ocean(0);
  message.exceptions = {{1, 1, PeerState::present, 1, 0}, {2, 1, PeerState::left, 0, 1}};
  const auto ocean0 = world.connect();
  world.send(ocean0, message);
  EXPECT_EQ(world.hub().awaited_count(), 1U);
  world.send(ocean0, LeaveMessage{});
  EXPECT_TRUE(world.hub().cut_off().empty()) << "the port is that of the incarnation before";
  const auto second = world.connect();
  auto again = member_of_ocean(1);
  again.incarnation = 1;
  world.send(second, again);
  EXPECT_TRUE(world.has<CompleteMessage>(second));
  world.send(second, LeaveMessage{});
  EXPECT_TRUE(world.hub().over());
}

// The hub and both ranks of ocean were killed, and one rank was started again: it greeted nowcast, whose call to the
// other one then failed.
TEST(RecoveryFromRoster, ARankIsLetInWhenItIsKnownWhetherTheOthersLive) {
  for (const bool lives : {false, true}) {
    auto settings = resumed("ocean:2,nowcast:1");
    settings.earlier.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
    settings.earlier.ranks[0] = {PeerState::lost, 0, {}};
    settings.earlier.ranks[1] = {PeerState::present, 0, endpoint_of_connection(2)};
    settings.earlier.ranks[2] = {PeerState::present, 0, endpoint_of_connection(3)};
    HubWorld world(settings);
    world.advance(0.1);
    world.send(world.connect(), member_of_ocean(2));
    const auto first = world.join("ocean", 0, 2);
    world.advance(6);  // the grace ends
    world.finish(first, "a");
    EXPECT_FALSE(world.has<CompleteMessage>(first));
    const auto called = world.hub().cut_off();
    ASSERT_EQ(called.size(), 1U);
    EXPECT_EQ(called[0].peer, 1U);
    world.hub().seen_at_port({1, lives}, world.now_ns());
    world.advance(3.1);
    EXPECT_EQ(world.has<CompleteMessage>(first), lives);
    if (!lives) {
      const auto second = world.join("ocean", 1, 2);
      EXPECT_TRUE(world.has<CompleteMessage>(first) && world.has<CompleteMessage>(second));
    }
  }
}

HubSettings with_series(EarlierSeries eta) {
  auto settings = resumed("ocean:2,nowcast:1");
  settings.earlier.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
  for (channel::PeerId peer = 0; peer < 3; ++peer) settings.earlier.ranks[peer] = {PeerState::present, 0, {}};
  eta.creation = 7;
  eta.incarnation = 5;
  settings.earlier.series["eta"] = std::move(eta);
  return settings;
}

SeriesRecord of_nowcast() {
  SeriesRecord record;
  record.name = "eta";
  record.program = "nowcast";
  record.creation = 8;
  record.fields = {{"", COUPLET_DOUBLE, {4}}};
  record.slots = 2;
  record.parts = {{2, 0, 1, {{{1, {0}, {4}}}}, "series-eta"}};
  return record;
}

ConnectionId come_back(HubWorld& world, channel::PeerId peer) {
  const auto connection = world.connect();
  auto message = member_of_ocean(peer);
  message.node = peer < 2 ? 0 : 1;
  message.node_key = peer < 2 ? "key-a" : "key-b";
  world.send(connection, message);
  return connection;
}

// The series that the earlier hub knew.
SeriesRecord of_ocean() {
  auto record = of_nowcast();
  record.program = "ocean";
  record.creation = 7;
  record.parts.front().writer = 0;
  return record;
}

// Rank 2 has it open, and can describe it.
ConnectionId come_back_as_reader(HubWorld& world) {
  const auto connection = world.connect();
  auto reader = member_of_ocean(2);
  reader.node = 1;
  reader.node_key = "key-b";
  reader.series = {{"eta", 5, false, 1, 1, true, false, 7}};
  world.send(connection, reader);
  return connection;
}

// Fault: a rank that wrote a series computed while the hub was killed and started again. Another program was given the
// name, and readers found only its series.
TEST(RecoveryFromRoster, TheNameOfARankThatHasNotComeBackIsTaken) {
  HubWorld world(with_series({.writers = {0}}));
  world.advance(0.1);
  const auto nowcast = come_back(world, 2);
  world.announce(nowcast, 9, of_nowcast());
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::exists);
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).text,
            "series 'eta' is being written by program 'ocean' (universe rank 0)");
  come_back(world, 0);  // it claims nothing: it has closed the series
  world.announce(nowcast, 10, of_nowcast());
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::ok);
  EXPECT_GT(world.last<AnswerMessage>(nowcast).series->incarnation, 5U);
}

// Fault: a rank had closed a series and computed. A reader described the series to a new hub, which took the rank for
// its writer until that made a call.
TEST(RecoveryFromRoster, WhatHasEndedStaysEnded) {
  for (const bool failed : {false, true}) {
    HubWorld world(with_series({.failed = failed, .closed_by_one = !failed}));
    world.advance(0.1);
    const auto nowcast = come_back_as_reader(world);
    EXPECT_EQ(world.has<RecallMessage>(nowcast), !failed) << "what has failed is not described";
    const auto description = encode_record(of_ocean());
    if (!failed) world.send(nowcast, RecordMessage{"eta", 5, {description.size(), 0, description}});
    world.send(nowcast, FindMessage{7, "eta", -1, false});
    EXPECT_EQ(world.last<AnswerMessage>(nowcast).series.has_value(), !failed);
    EXPECT_TRUE(failed || world.last<AnswerMessage>(nowcast).series->closed);
    world.announce(nowcast, 9, of_nowcast());
    EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::ok);
  }
}

// Fault: a member that had not heard of a rank came back first. The rank was awaited no longer, but its name stayed
// taken for ever.
TEST(RecoveryFromRoster, ARankOfWhichAMemberHasNotHeardIsAwaited) {
  HubWorld world(with_series({.writers = {0}}));
  world.advance(0.1);
  const auto nowcast = world.connect();
  auto message = member_of_ocean(2);
  message.node = 1;
  message.node_key = "key-b";
  message.exceptions = {{0, 1, PeerState::absent, 0, unknown_node}};
  world.send(nowcast, message);
  EXPECT_EQ(world.hub().awaited_count(), 2U);
  world.announce(nowcast, 9, of_nowcast());
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::exists);
  come_back(world, 0);  // it claims nothing
  world.announce(nowcast, 10, of_nowcast());
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::ok);
}

// Fault: the rank had died with the hub, and its name was taken for 600 s, since nobody called its port.
TEST(RecoveryFromRoster, ARankWhoseNameIsWantedIsCalled) {
  for (const bool announces : {true, false}) {
    auto settings = with_series({.writers = {0}});
    settings.earlier.ranks[0].listened_at = endpoint_of_connection(1);
    HubWorld world(settings);
    world.advance(0.1);
    const auto nowcast = come_back(world, 2);
    come_back(world, 1);
    EXPECT_TRUE(world.hub().cut_off().empty()) << "it may compute";
    if (announces) {
      world.announce(nowcast, 9, of_nowcast());
    } else {
      world.send(nowcast, FindMessage{9, "eta", -1, true});
    }
    const auto called = world.hub().cut_off();
    ASSERT_EQ(called.size(), 1U);
    EXPECT_EQ(called.front().peer, 0U);
    world.hub().seen_at_port({0, false}, world.now_ns());
    world.advance(3.1);
    world.announce(nowcast, 10, of_nowcast());
    EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::ok);
  }
}

// Fault: the hub after this one gave the name away, since it knew of the series only from a member.
TEST(RecoveryFromRoster, WhatAMemberHasClaimedIsWrittenDown) {
  test::TemporaryDirectory directory;
  Roster roster;
  roster.open(directory.path(), false);
  {
    HubWorld world(resumed("ocean:2,nowcast:1"));
    world.advance(0.1);
    for (const channel::PeerId peer : {1U, 0U, 2U}) {
      auto message = member_of_ocean(peer);
      message.node = peer < 2 ? 0 : 1;
      message.node_key = peer < 2 ? "key-a" : "key-b";
      if (peer == 0) message.series = {{"eta", 5, true, 0, 0, true, false, 7}};
      world.send(world.connect(), message);
    }
    world.advance(0.1);
    for (const auto& event : world.events()) roster.add(event);
    roster.flush();
  }
  auto settings = resumed("ocean:2,nowcast:1");
  settings.earlier = Roster::read(directory.path());
  ASSERT_EQ(settings.earlier.programs.size(), 2U) << "the hub had no roster, but knows all ranks now";
  ASSERT_EQ(settings.earlier.ranks.size(), 3U);
  HubWorld world(settings);
  world.advance(0.1);
  const auto nowcast = come_back(world, 2);
  world.announce(nowcast, 9, of_nowcast());
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).text,
            "series 'eta' is being written by program 'ocean' (universe rank 0)");
}

// Fault: the rank that had withdrawn, and computed, was taken for a writer again. Readers found a series that nobody
// writes.
TEST(RecoveryFromRoster, AnAnnouncementThatComesAgainKnowsWhoHasWithdrawn) {
  HubWorld world(with_series({.failed = true, .writers = {0}}));
  world.advance(0.1);
  auto message = member_of_ocean(0);
  message.pending = {{"eta", 7}};
  const auto ocean = world.connect();
  world.send(ocean, message);
  auto record = of_ocean();
  record.parts.push_back(record.parts.front());
  record.parts.back().writer = 1;
  world.announce(ocean, 8, record);
  world.send(ocean, NoteMessage{9, SeriesNote::withdrawn, "eta", {}, 7});
  const auto nowcast = come_back(world, 2);
  world.send(nowcast, FindMessage{7, "eta", -1, false});
  EXPECT_FALSE(world.last<AnswerMessage>(nowcast).series.has_value());
  world.announce(nowcast, 9, of_nowcast());
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::ok) << world.last<AnswerMessage>(nowcast).text;
}

// Fault: the earlier hub knew the series only from a reader, whose description had not arrived. The rank that writes it
// and computes was taken for one that had ended it.
TEST(RecoveryFromRoster, AWriterThatTheEarlierHubDidNotKnowIsAwaited) {
  HubWorld world(with_series({.writers_are_known = false}));
  world.advance(0.1);
  const auto nowcast = come_back_as_reader(world);
  ASSERT_TRUE(world.has<RecallMessage>(nowcast));
  const auto description = encode_record(of_ocean());
  world.send(nowcast, RecordMessage{"eta", 5, {description.size(), 0, description}});
  world.send(nowcast, FindMessage{7, "eta", -1, false});
  ASSERT_TRUE(world.last<AnswerMessage>(nowcast).series.has_value());
  EXPECT_FALSE(world.last<AnswerMessage>(nowcast).series->closed);
  world.announce(nowcast, 9, of_nowcast());
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).text,
            "series 'eta' is being written by program 'ocean' (universe rank 0)");
}

// Fault: the next hub took the line for the end of the rank's series, although the rank had claimed it.
TEST(RecoveryFromRoster, AWriterThatClaimsWhatTheHubKnowsIsWrittenDownAgain) {
  HubWorld world(with_series({.writers = {0}}));
  world.advance(0.1);
  const auto before = world.events().size();
  auto message = member_of_ocean(0);
  message.series = {{"eta", 5, true, 0, 0, true, false, 7}};
  world.send(world.connect(), message);
  const auto events = world.events();
  const auto is = [&](const char* name) {
    return std::find_if(events.begin() + static_cast<std::ptrdiff_t>(before), events.end(),
                        [&](const HubEvent& event) { return event.name == name && event.peer == 0; });
  };
  ASSERT_NE(is("writer"), events.end());
  EXPECT_LT(is("rejoined"), is("writer"));
  EXPECT_TRUE(is("writer")->entry.writers.contains(0));
}

// Fault: a name with the end of a line in it made the whole roster unreadable.
TEST(RecoveryFromRoster, AMemberWithAnImpossibleNameOfASeriesIsRefused) {
  for (const char* name : {"", "eta\nrank"}) {
    HubWorld world(with_series({.writers = {0}}));
    world.advance(0.1);
    auto message = member_of_ocean(0);
    message.series = {{name, 5, true, 0, 0, true, false, 7}};
    const auto ocean = world.connect();
    world.send(ocean, message);
    EXPECT_EQ(world.last<RefusedMessage>(ocean).code, Code::protocol);
  }
  auto record = of_nowcast();
  record.name = "eta\nrank";
  EXPECT_EQ(decode_record(encode_record(record)).code(), Code::protocol);
}

TEST(RecoveryFromRoster, OfOtherProgramsIsIgnored) {
  auto settings = resumed("ocean:2,nowcast:1");
  settings.earlier.programs = {{"ocean", 3, 0, true}, {"nowcast", 1, 3, true}};
  settings.earlier.ranks[0] = {PeerState::present, 0, endpoint_of_connection(1)};
  HubWorld world(settings);
  world.advance(0.1);
  EXPECT_EQ(world.hub().awaited_count(), 0U);
  EXPECT_FALSE(world.hub().complete());
}

}  // namespace
}  // namespace couplet::universe
