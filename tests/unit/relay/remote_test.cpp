// What a reader does with what a relay sends, right and wrong, and when relays die and are started again. The test is
// the relay.
#include <chrono>
#include <thread>

#include "unit/relay/remote_fixture.hpp"

namespace couplet::relay {
namespace {

TEST_F(RelayRemote, StepsAndPiecesComeIntoLocalSlots) {
  first_ = 3;
  auto part = opened();
  EXPECT_STREQ(part->route(), "relay");
  EXPECT_EQ(part->first_ordinal(), 3U);
  EXPECT_EQ(subscribed_.window, window_steps);
  const auto values = testing_fixture::field(3);
  const auto bytes = std::as_bytes(std::span(values));
  reader_.relay().say(RelayKind::piece, number_, 3, 0, 0, bytes.first(100));
  reader_.poll();
  EXPECT_EQ(arrived(*part), 3U);
  reader_.relay().say(RelayKind::step, number_, 3, 77, 5, bytes.subspan(100));
  reader_.poll();
  EXPECT_EQ(arrived(*part), 4U);
  EXPECT_EQ(part->published(), 9U);  // there are five newer ones
  EXPECT_EQ(series::read_step(part->file().slot_header(3), 3), 77);
  EXPECT_EQ(std::memcmp(part->file().slot(3), bytes.data(), bytes.size()), 0);
}

TEST_F(RelayRemote, WhatIsLostAndTornNeverArrives) {
  auto part = opened();
  reader_.relay().say(RelayKind::lost, number_, 0, 2);
  reader_.relay().say(RelayKind::piece, number_, 2, 0, 0, std::vector<std::byte>(10));
  reader_.relay().say(RelayKind::lost, number_, 2, 3, 1);
  reader_.poll();
  EXPECT_EQ(arrived(*part), 3U);
  EXPECT_FALSE(series::torn_before(part->file().slot_header(1), 1));
  EXPECT_TRUE(series::torn_before(part->file().slot_header(2), 2));
  push_step(3);
  EXPECT_EQ(series::read_step(part->file().slot_header(3), 3), 3);
}

// No part of it can be delivered, not even to a reader that has asked for torn steps.
TEST_F(RelayRemote, AStepThatWasTornInTheRelayIsCountedAsTorn) {
  ASSERT_TRUE(reader_.registry().announce(record_, soon()).ok());
  for (const bool torn : {false, true}) {
    testing::SoloTeam team;
    series::ReaderOptions options;
    options.mode = series::Mode::follow;
    options.torn = torn;
    auto reader = series::Reader::open(reader_, team, "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    push_step(0);
    reader_.relay().say(RelayKind::lost, number_, 1, 2, 1);
    reader_.relay().say(RelayKind::lost, number_, 2, 3, 0);
    push_step(3);
    series::Batch batch;
    ASSERT_TRUE((*reader)->read(1, 4, soon(), {}, batch).ok());
    ASSERT_EQ(batch.count, 2U);
    EXPECT_EQ(batch.steps[1], 3);
    EXPECT_EQ(batch.torn[0] + batch.torn[1], 0);
    const auto counted = (*reader)->count();
    EXPECT_EQ(counted.lost, 2U);
    EXPECT_EQ(counted.lost_torn, 1U);
    EXPECT_EQ(counted.delivered_torn, 0U);
    EXPECT_EQ(counted.published - counted.first, counted.delivered + counted.lost + counted.pending);
  }
}

TEST_F(RelayRemote, AStepThatTheRelayHasGivenUpIsLostAndNotTorn) {
  ASSERT_TRUE(reader_.registry().announce(record_, soon()).ok());
  testing::SoloTeam team;
  series::ReaderOptions options;
  options.mode = series::Mode::follow;
  auto reader = series::Reader::open(reader_, team, "eta", options, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  const std::vector<std::byte> bytes(step_bytes);
  reader_.relay().say(RelayKind::piece, number_, 0, 0, 0, std::span(bytes).first(8));
  reader_.relay().say(RelayKind::lost, number_, 0, 3, 0);
  push_step(3);
  series::Batch batch;
  ASSERT_TRUE((*reader)->read(1, 4, soon(), {}, batch).ok());
  ASSERT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 3);
  const auto counted = (*reader)->count();
  EXPECT_EQ(counted.lost, 3U);
  EXPECT_EQ(counted.lost_torn, 0U);
  EXPECT_EQ(counted.published - counted.first, counted.delivered + counted.lost + counted.pending);
}

TEST_F(RelayRemote, ARefusalIsTheAnswerOfOpening) {
  refuse_ = "the relay has 3 subscribers already";
  const auto part = open();
  EXPECT_EQ(part.code(), Code::limit);
  EXPECT_NE(part.status().text().find("series 'eta', slots of writer rank 0: the relay has 3 subscribers already"),
            std::string::npos)
      << part.status().text();
}

// The number of a reader is newer than the frames of this family.
TEST_F(RelayRemote, ARelayOfAnEarlierReleaseIsAskedWithoutTheNumberOfTheReader) {
  reader_.script = [this] {
    for (const auto& frame : reader_.relay().take(false)) {
      subscribed_ = wire::decode_subscribe(std::as_bytes(std::span(frame.payload))).value();
      number_ = frame.header.context;
      heard_.push_back(Connection::kind_of(frame));
      if (subscribed_.reader != 0) {
        const std::string text = "the mode, the start, the fields or the names of a subscription are not valid";
        reader_.relay().say(RelayKind::refused, number_, 0, 0, COUPLET_ERROR_PROTOCOL, std::as_bytes(std::span(text)));
      } else {
        accept(0);
      }
    }
  };
  const auto part = opened();
  push_step(0);
  EXPECT_EQ(arrived(*part), 1U);
  EXPECT_EQ(subscribed_.reader, 0U);
  EXPECT_EQ(heard_, (std::vector<RelayKind>{RelayKind::subscribe, RelayKind::subscribe}));
}

TEST_F(RelayRemote, MistakesOfARelayEndItsChannelWithASentence) {
  const std::vector<std::byte> bytes(step_bytes);
  const auto all = std::span(bytes);
  const auto expect = [&](const std::function<void(Connection&)>& say, const std::string& what) {
    const std::string failure = failure_of(say);
    EXPECT_NE(failure.find(what), std::string::npos) << failure;
    EXPECT_NE(failure.find("the relay"), std::string::npos) << failure;
  };
  expect([&](Connection& c) { c.say(RelayKind::step, number_, 2, 2, 0, all); }, "of ordinal 2, but ordinal 1");
  expect([&](Connection& c) { c.say(RelayKind::step, number_, 0, 0, 0, all); }, "of ordinal 0, but ordinal 1");
  expect([&](Connection& c) { c.say(RelayKind::piece, number_, 1, 8, 0, all.first(8)); }, "8 bytes at 8");
  expect([&](Connection& c) { c.say(RelayKind::step, number_, 1, 1, 0, all.first(8)); }, "has 8 bytes instead of");
  expect([&](Connection& c) { c.say(RelayKind::lost, number_, 0, 1); }, "are lost, but ordinal");
  expect([&](Connection& c) { c.say(RelayKind::lost, number_, 1, 1); }, "are lost, but ordinal");
  expect([&](Connection& c) { c.say(RelayKind::accepted, number_, 1, 0, 0, all.first(24)); }, "does not fit");
  expect([&](Connection& c) { c.say(RelayKind::credit, number_); }, "but this process is not one");
  expect(
      [&](Connection& c) {
        c.say(RelayKind::piece, number_, 1, 0, 0, all.first(8));
        c.say(RelayKind::piece, number_, 1, 0, 0, all.first(8));
      },
      "has come up to 8 of");
}

TEST_F(RelayRemote, StepsBeyondTheCreditEndTheChannel) {
  auto part = opened();
  for (std::uint64_t ordinal = 0; ordinal < window_steps; ++ordinal) {
    push_step(ordinal);
  }
  EXPECT_EQ(arrived(*part), window_steps);
  EXPECT_EQ(reader_.relay().failure(), "");
  push_step(window_steps);
  EXPECT_EQ(arrived(*part), window_steps);
  EXPECT_NE(reader_.relay().failure().find("of ordinal 4"), std::string::npos) << reader_.relay().failure();
}

TEST_F(RelayRemote, AfterAJumpTheRelayMaySendAsManyStepsAsThereAreSlots) {
  auto part = opened();
  EXPECT_TRUE(subscribed_.jumps);
  reader_.relay().say(RelayKind::lost, number_, 0, 50);
  for (std::uint64_t ordinal = 50; ordinal < 50 + window_steps; ++ordinal) {
    push_step(ordinal);
  }
  EXPECT_EQ(arrived(*part), 50 + window_steps);
  EXPECT_EQ(reader_.relay().failure(), "");
  push_step(50 + window_steps);
  EXPECT_EQ(arrived(*part), 50 + window_steps);
  EXPECT_NE(reader_.relay().failure().find("of ordinal 54"), std::string::npos) << reader_.relay().failure();
}

// Fault: the relay waited for credit for ordinal 30, the reader for one from 21 on (simulator, seed 302619).
TEST_F(RelayRemote, AFollowerWithEveryGivesCreditForTheNextStepThatItTakes) {
  auto part = opened();
  push_step(0);
  part->released({10, 10});
  reader_.relay().say(RelayKind::lost, number_, 1, 21);
  reader_.poll();
  ASSERT_TRUE(part->poll().ok());
  reader_.poll();
  const auto frames = reader_.relay().take();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(Connection::kind_of(frames.back()), RelayKind::credit);
  EXPECT_EQ(frames.back().header.first, 30 + window_steps);
}

TEST_F(RelayRemote, FramesOfASubscriptionThatIsClosedAreIgnored) {
  auto part = opened();
  part.reset();
  reader_.relay().say(RelayKind::news, number_, 7);
  reader_.poll();
  EXPECT_EQ(reader_.relay().failure(), "");
  answer();
  EXPECT_EQ(heard_.back(), RelayKind::unsubscribe);
}

TEST_F(RelayRemote, AnEvictionIsSeenByTheHolder) {
  auto part = opened(series::Mode::hold);
  const auto hold = series::take_hold_entry(part->file(), {.peer = 1}, 0, [](const series::Owner&) { return true; });
  ASSERT_TRUE(hold.taken());
  ASSERT_TRUE(series::hold_from(part->file(), hold, 0, series::From::oldest).ok());
  reader_.relay().say(RelayKind::evicted, number_);
  reader_.poll();
  EXPECT_EQ(series::look_at_hold(part->file(), hold), series::HoldState::evicted);
}

TEST_F(RelayRemote, TheEndIsToldGoodOrBad) {
  auto good = opened();
  reader_.relay().say(RelayKind::ended, number_, 0, 0, 0);
  reader_.poll();
  EXPECT_NE(good->file().control().published.closed.load(), 0U);
  EXPECT_TRUE(good->alive().ok());
  auto bad = opened();
  reader_.relay().say(RelayKind::ended, number_, 0, 0, 1);
  reader_.poll();
  EXPECT_EQ(bad->alive().code(), Code::peer_lost);
  EXPECT_NE(bad->alive().text().find("peer 0"), std::string::npos) << bad->alive().text();
}

// Fault: a reader of each third step over a relay had one or two steps pending after the end, since the last ones were
// neither sent nor passed over.
TEST_F(RelayRemote, TheLastStepsThatWereNotNeededAreNotPendingAfterTheEnd) {
  for (const std::int32_t how : {0, 1}) {
    auto part = opened();
    push_step(0);
    reader_.relay().say(RelayKind::piece, number_, 1, 0, 0, std::vector<std::byte>(10));
    reader_.relay().say(RelayKind::ended, number_, 3, 0, how);
    reader_.poll();
    EXPECT_EQ(arrived(*part), 3U);
    EXPECT_EQ(part->published(), 3U);
    EXPECT_EQ(series::read_step(part->file().slot_header(0), 0), 0);
    for (const std::uint64_t missing : {1U, 2U}) {
      EXPECT_FALSE(series::read_step(part->file().slot_header(missing), missing).has_value());
    }
  }
}

TEST_F(RelayRemote, AReaderOfOneOfSeveralStepsSaysSoAndIsSentOnlyThose) {
  auto part = opened();
  push_step(0);
  const auto told = [&] {
    EXPECT_TRUE(part->poll().ok());
    reader_.poll();
    wire::FrameHeader last;
    for (const auto& frame : reader_.relay().take()) {
      last = Connection::kind_of(frame) == RelayKind::credit ? frame.header : last;
    }
    return std::pair{last.second, last.tag};
  };
  part->released({2, 2});
  EXPECT_EQ(told(), (std::pair<std::uint64_t, std::int32_t>{2, -2}));
  push_step(2);
  push_step(4);
  EXPECT_EQ(arrived(*part), 5U);
  EXPECT_EQ(series::read_step(part->file().slot_header(4), 4), 4);
  EXPECT_FALSE(series::read_step(part->file().slot_header(3), 3).has_value());
  reader_.kill_relay();
  reader_.start_relay();  // it has not heard what is needed
  ASSERT_TRUE(reader_.wait([&] { return static_cast<void>(part->poll()), subscribed_.again; }, soon()).ok());
  EXPECT_EQ(told().second, -2);
  push_step(6);
  EXPECT_EQ(arrived(*part), 7U);
  push_step(9);  // neither the next one nor one that is needed
  EXPECT_EQ(arrived(*part), 7U);
  EXPECT_NE(reader_.relay().failure().find("of ordinal 9"), std::string::npos) << reader_.relay().failure();
}

// ---- relays that die ----

TEST_F(RelayRemote, AnotherRelayGoesOnWhereTheLostOneStopped) {
  auto part = opened(series::Mode::hold);
  push_step(0);
  reader_.relay().say(RelayKind::piece, number_, 1, 0, 0, std::vector<std::byte>(10));
  reader_.poll();
  const std::uint32_t number = number_;
  reader_.kill_relay();
  EXPECT_TRUE(part->alive().ok());
  reader_.start_relay();
  ASSERT_TRUE(reader_.wait([&] { return static_cast<void>(part->poll()), subscribed_.again; }, soon()).ok());
  EXPECT_EQ(number_, number);
  EXPECT_EQ(subscribed_.next, 1U);
  EXPECT_EQ(subscribed_.window, window_steps - 1);
  push_step(1);
  EXPECT_EQ(series::read_step(part->file().slot_header(1), 1), 1);
}

TEST_F(RelayRemote, WhereNoRelayComesItIsNamedInTime) {
  auto part = opened();
  push_step(0);
  reader_.kill_relay();
  const Status status = fate(*part);
  EXPECT_EQ(status.code(), Code::peer_lost);
  EXPECT_NE(status.text().find("series 'eta'"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("the relay of node a is lost"), std::string::npos) << status.text();
  EXPECT_EQ(status.text().find("is lost"), status.text().rfind("is lost")) << status.text();  // said once
  EXPECT_EQ(series::read_step(part->file().slot_header(0), 0), 0);                            // what has arrived stays
}

// The patience of the reader began with the first death, and ended although each relay had a successor.
TEST_F(RelayRemote, RelaysThatDieOneAfterTheOtherAreNotOneLongAbsence) {
  auto part = opened();
  reader_.kill_relay();
  for (int deaths = 0; deaths < 5; ++deaths) {
    look_for(*part, patience_ns / 3);  // and less than the patience if this thread then has to wait for a core
    reader_.start_relay();
    while (reader_.relay().take().empty()) {  // it asks the relay, which dies before it answers
      ASSERT_TRUE(part->poll().ok());
      reader_.poll();
    }
    reader_.kill_relay();
    EXPECT_TRUE(part->alive().ok()) << part->alive().text();
  }
  reader_.start_relay();
  ASSERT_TRUE(reader_.wait([&] { return static_cast<void>(part->poll()), subscribed_.again; }, soon()).ok());
  push_step(0);
  EXPECT_EQ(arrived(*part), 1U);
}

// The reader knew only of the death, and gave up in its first look after it had computed.
TEST_F(RelayRemote, ARelayThatReturnsWhileTheReaderComputesIsFound) {
  auto part = opened();
  reader_.kill_relay();
  EXPECT_TRUE(part->poll().ok());
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * patience_ns));  // the reader computes
  EXPECT_TRUE(part->poll().ok());  // its table still says that the relay is lost
  EXPECT_TRUE(part->alive().ok()) << part->alive().text();
  reader_.start_relay();
  ASSERT_TRUE(reader_.wait([&] { return static_cast<void>(part->poll()), subscribed_.again; }, soon()).ok());
}

// A reader of a living writer was told peer_lost, although a slow machine was starting the next relay.
TEST_F(RelayRemote, AnotherRelayIsAwaitedWhileTheWriterLives) {
  reader_.begin(1000 * patience_ns);
  auto part = opened();
  reader_.kill_relay();
  look_for(*part, 2 * patience_ns);
  EXPECT_TRUE(part->alive().ok()) << part->alive().text();
  EXPECT_NE(part->hindered().find("series 'eta', slots of writer rank 0: the relay of node a is lost"),
            std::string::npos)
      << part->hindered();
  reader_.writer_lives = false;
  EXPECT_EQ(part->alive().code(), Code::peer_lost);
  reader_.writer_lives = true;
  reader_.start_relay();
  ASSERT_TRUE(reader_.wait([&] { return static_cast<void>(part->poll()), subscribed_.again; }, soon()).ok());
  EXPECT_EQ(part->hindered(), "");
}

TEST_F(RelayRemote, AReadThatWaitsForAnotherRelaySaysSo) {
  reader_.begin(1000 * patience_ns);
  ASSERT_TRUE(reader_.registry().announce(record_, soon()).ok());
  testing::SoloTeam team;
  series::ReaderOptions options;
  options.mode = series::Mode::follow;
  auto reader = series::Reader::open(reader_, team, "eta", options, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  reader_.kill_relay();
  series::Batch batch;
  const Status status = (*reader)->read(1, 1, os::now_ns() + 2 * patience_ns, {}, batch);
  EXPECT_EQ(status.code(), Code::not_yet) << status.text();
  EXPECT_NE(status.text().find("the relay of node a is lost"), std::string::npos) << status.text();
}

TEST_F(RelayRemote, OpeningWaitsForAnotherRelayUntilItsDeadline) {
  reader_.begin(1000 * patience_ns);
  reader_.kill_relay();
  series::PartSelection wanted;
  wanted.fields = {{0, {testing_fixture::box_of(0, rows, 0, columns)}}};
  wanted.mode = series::Mode::follow;
  auto part = reader_.remote->open_part(record_, 0, wanted, soon());
  ASSERT_TRUE(part.ok());
  const Status late = (*part)->finish_opening(os::now_ns() + 2 * patience_ns);
  EXPECT_EQ(late.code(), Code::timeout) << late.text();
  EXPECT_NE(late.text().find("the relay of node a is lost"), std::string::npos) << late.text();
  reader_.start_relay();
  EXPECT_TRUE((*part)->finish_opening(soon()).ok());
}

TEST_F(RelayRemote, OpeningOutlivesARelay) {
  int deaths = 0;
  reader_.script = [&] {
    if (deaths == 0 && !reader_.relay().take().empty()) {
      ++deaths;
      reader_.kill_relay();
      reader_.start_relay();
    }
    answer();
  };
  const auto part = opened(series::Mode::hold);
  EXPECT_EQ(deaths, 1);
  EXPECT_FALSE(subscribed_.again);
}

TEST_F(RelayRemote, OpeningWithoutARelayNamesIt) {
  reader_.kill_relay();
  const auto part = open();
  EXPECT_EQ(part.code(), Code::peer_lost);
  EXPECT_NE(part.status().text().find("the relay of node a is lost"), std::string::npos) << part.status().text();
}

TEST_F(RelayRemote, ClosingAHoldWaitsForAnotherRelayToEndIt) {
  auto part = opened(series::Mode::hold);
  reader_.kill_relay();
  heard_.clear();
  int rounds = 0;
  reader_.script = [&] {
    if (++rounds == 3) {
      reader_.start_relay();
    }
    answer();
  };
  part.reset();
  reader_.poll();
  answer();
  EXPECT_EQ(heard_, std::vector<RelayKind>{RelayKind::unsubscribe});
  EXPECT_EQ(ended_.file, "series-of-ocean");
}

// The hold stayed in the writer's slots, and held up the writer, if the next relay took longer than the patience.
TEST_F(RelayRemote, ClosingAHoldWaitsForASlowRelayToEndIt) {
  reader_.begin(1000 * patience_ns);
  auto part = opened(series::Mode::hold);
  reader_.kill_relay();
  heard_.clear();
  const std::uint64_t end = os::now_ns() + 2 * patience_ns;
  reader_.script = [&] {
    if (!reader_.there && os::now_ns() > end) {
      reader_.start_relay();
    }
    answer();
  };
  part.reset();
  reader_.poll();
  answer();
  EXPECT_EQ(heard_, std::vector<RelayKind>{RelayKind::unsubscribe});
}

// No relay can join without a hub.
TEST_F(RelayRemote, ClosingAHoldDoesNotWaitLongIfTheHubIsGone) {
  reader_.begin(os::never);
  auto part = opened(series::Mode::hold);
  reader_.kill_relay();
  reader_.hub_gone = true;
  part.reset();
  EXPECT_FALSE(reader_.there);
}

// A reader waited 2 s in leave for a relay that had left with the only writer.
TEST_F(RelayRemote, ClosingAHoldDoesNotWaitIfItsWriterIsGone) {
  auto part = opened(series::Mode::hold);
  reader_.kill_relay();
  reader_.writer_lives = false;
  int rounds = 0;
  reader_.script = [&] { ++rounds; };
  part.reset();
  EXPECT_EQ(rounds, 0);
}

// Fault (chaos seed 13300153): the lane went on to fill the memory of a reader that had ended. Nobody can write to that
// memory when it was given back, so without the mend this test crashes.
TEST_F(RelayRemote, MemoryThatALaneFillsOutlivesTheReader) {
  auto part = opened();
  channel::Channel& channel = reader_.relay().near_end();
  wire::FrameHeader header;
  header.kind = wire::relay_frame_kind(RelayKind::piece);
  header.context = number_;
  header.first = first_;
  header.payload_bytes = step_bytes / 2;
  for (const bool arrives : {true, false}) {
    std::byte* const memory = reader_.remote->place(channel, header);
    ASSERT_NE(memory, nullptr);
    part.reset();
    std::memset(memory, 1, header.payload_bytes);
    if (arrives) {
      EXPECT_TRUE(reader_.remote->arrived(channel, header, {memory, header.payload_bytes}).ok());
    } else {
      reader_.dispatch->unplaced(channel, header);
    }
    part = opened();
    header.context = number_;
  }
  ASSERT_NE(reader_.remote->place(channel, header), nullptr);
  part.reset();
  reader_.kill_relay();
}

}  // namespace
}  // namespace couplet::relay
