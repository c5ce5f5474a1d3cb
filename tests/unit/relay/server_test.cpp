// What a relay answers to readers, right and wrong ones.
#include "relay/server.hpp"

#include <algorithm>

#include "os/clock.hpp"
#include "series/hold.hpp"
#include "support/pipe_lane.hpp"
#include "unit/relay/server_fixture.hpp"

namespace couplet::relay {
namespace {

using testing_fixture::columns;
using testing_fixture::Connection;
using testing_fixture::field;
using testing_fixture::reader_peer;
using testing_fixture::Recorder;
using testing_fixture::RelayKind;
using testing_fixture::RelayServer;
using testing_fixture::rows;
using testing_fixture::step_bytes;

TEST_F(RelayServer, PushesStepsUnderCreditAndSaysHowManyNewerOnesThereAre) {
  const auto writer = create(8);
  for (std::int64_t step = 10; step < 16; ++step) {
    put(*writer, step);
  }
  Connection& reader = connect();
  auto frames = ask(reader, 7, subscribe_of());
  ASSERT_EQ(frames.size(), 5U);  // accepted, and four steps of the window
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::accepted);
  for (std::uint64_t index = 0; index < 4; ++index) {
    const auto& frame = frames[index + 1];
    EXPECT_EQ(Connection::kind_of(frame), RelayKind::step);
    EXPECT_EQ(frame.header.context, 7U);
    EXPECT_EQ(frame.header.first, index);
    EXPECT_EQ(frame.header.second, index + 10);
    EXPECT_EQ(frame.header.tag, static_cast<std::int32_t>(5 - index));
    ASSERT_EQ(frame.payload.size(), step_bytes);
    const auto values = field(static_cast<std::int64_t>(index) + 10);
    EXPECT_EQ(std::memcmp(frame.payload.data(), values.data(), step_bytes), 0);
  }
  reader.say(RelayKind::credit, 7, 6, 2);
  settle();
  frames = reader.take();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[1].header.first, 5U);
}

TEST_F(RelayServer, LongStepsComeInPieces) {
  start({.piece_bytes = 100});
  const auto writer = create(4);
  put(*writer, 3);
  const auto frames = ask(connect(), 1, subscribe_of());
  ASSERT_EQ(frames.size(), 1 + (step_bytes + 99) / 100);
  std::string bytes;
  for (std::size_t index = 1; index < frames.size(); ++index) {
    const bool last = index + 1 == frames.size();
    EXPECT_EQ(Connection::kind_of(frames[index]), last ? RelayKind::step : RelayKind::piece);
    EXPECT_EQ(frames[index].header.second, last ? 3 : bytes.size());
    bytes += frames[index].payload;
  }
  EXPECT_EQ(bytes.size(), step_bytes);
  EXPECT_EQ(std::memcmp(bytes.data(), field(3).data(), step_bytes), 0);
}

// Fault: only two pieces were under way at the same time, and the relay slept until the reader had acknowledged one.
TEST_F(RelayServer, APieceDoesNotWaitForTheAcknowledgementOfThoseBefore) {
  start({.piece_bytes = step_bytes / 4});
  const auto writer = create(8);
  for (std::int64_t step = 0; step < 4; ++step) {
    put(*writer, step);
  }
  Recorder heard;
  channel::Channel here(reader_peer, "peer 1", testing_fixture::handlers_of(*dispatch_));
  channel::Channel there(0, "the relay", testing_fixture::handlers_of(heard));
  test::Pipe pipe;
  here.attach(pipe.take_first());
  there.attach(pipe.take_second());
  wire::FrameHeader header;
  header.kind = wire::relay_frame_kind(RelayKind::subscribe);
  header.context = 1;
  ASSERT_TRUE(there.try_send(header, wire::encode_subscribe(subscribe_of())));
  while (server_->subscriptions() == 0) {
    here.poll(64);
  }
  pipe.there().largest_push = 0;  // nothing is taken any more, and nothing acknowledged
  while (server_->poll(64) > 0) {
  }
  EXPECT_EQ(server_->pushed().bytes, (Subscription::max_frames - 1) * (step_bytes / 4));  // one is the answer
  EXPECT_GE(Subscription::max_frames, 8U);
  pipe.there().largest_push = UINT64_MAX;
  while (server_->poll(64) + here.poll(64) + there.poll(64) > 0) {
  }
  EXPECT_EQ(server_->pushed().steps, 4U);
}

TEST_F(RelayServer, TellsWhatAFollowerHasLost) {
  const auto writer = create(4);
  Connection& reader = connect();
  auto begin = subscribe_of();
  begin.window = 1;
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, begin).size(), 2U);
  for (std::int64_t step = 1; step < 9; ++step) {
    put(*writer, step);
  }
  reader.say(RelayKind::credit, 1, 7, 1);
  settle();
  auto frames = reader.take();
  std::erase_if(frames, [](const auto& frame) { return Connection::kind_of(frame) == RelayKind::news; });
  ASSERT_GE(frames.size(), 2U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::lost);
  EXPECT_EQ(frames[0].header.first, 1U);
  EXPECT_EQ(frames[0].header.tag, 0);
  EXPECT_EQ(Connection::kind_of(frames[1]), RelayKind::step);
  EXPECT_EQ(frames[1].header.first, frames[0].header.second);
  EXPECT_EQ(frames[1].header.second, frames[1].header.first);  // here steps are ordinals
}

// Fault: a follower that had fallen behind the writer by more steps than its window was told with each credit that more
// steps are lost, and was sent none, as long as the writer went on: the jump ended at the limit of the credit.
TEST_F(RelayServer, AFollowerThatIsBehindIsSentAStepWithEverySecondCredit) {
  const auto writer = create(1);
  Connection& reader = connect();
  auto one = subscribe_of();
  one.window = 1;
  one.jumps = true;
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, one).size(), 2U);
  std::int64_t step = 1;
  bool waited = false;  // the credit before was answered without a step
  for (std::uint64_t arrived = 1; step < 40; arrived = static_cast<std::uint64_t>(step) - (waited ? 1 : 0)) {
    for (int each = 0; each < 5; ++each) {
      put(*writer, step++);
      settle();
    }
    for (const auto& frame : reader.take()) {
      EXPECT_EQ(Connection::kind_of(frame), RelayKind::news);  // and no steps without credit
    }
    reader.say(RelayKind::credit, 1, arrived + 1, arrived);
    settle();
    auto frames = reader.take();
    std::erase_if(frames, [](const auto& frame) { return Connection::kind_of(frame) == RelayKind::news; });
    ASSERT_EQ(frames.size(), waited ? 2U : 1U) << step;
    EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::lost);
    EXPECT_EQ(frames[0].header.first, arrived);
    EXPECT_EQ(frames[0].header.second, static_cast<std::uint64_t>(step) - 1);
    if (waited) {
      EXPECT_EQ(Connection::kind_of(frames[1]), RelayKind::step);
      EXPECT_EQ(frames[1].header.first, static_cast<std::uint64_t>(step) - 1);
    }
    waited = !waited;
  }
}

TEST_F(RelayServer, AJumpMovesTheWindowOnceForEachCreditAndOnlyIfTheReaderKnowsOfIt) {
  const auto writer = create(2);
  Connection& reader = connect();
  auto begin = subscribe_of();
  begin.window = 4;
  for (const std::uint32_t number : {1U, 2U}) {
    begin.jumps = number == 1;
    ask(reader, number, begin);
  }
  std::array<std::size_t, 3> steps{};
  std::int64_t step = 0;
  const auto put_ten_at_once = [&] {
    for (int each = 0; each < 10; ++each) {
      put(*writer, step++);
    }
    settle();
    for (const auto& frame : reader.take()) {
      steps.at(frame.header.context) += Connection::kind_of(frame) == RelayKind::step ? 1U : 0U;
    }
  };
  put_ten_at_once();  // both jump to ordinal 9, and wait
  for (const std::uint32_t number : {1U, 2U}) {
    reader.say(RelayKind::credit, number, 13, 9);
  }
  put_ten_at_once();
  EXPECT_EQ(steps[1], 1U);  // after the second jump
  EXPECT_EQ(steps[2], 0U);
  for (int round = 0; round < 5; ++round) {
    put_ten_at_once();
  }
  EXPECT_EQ(steps[1], 1U);  // the next jump leads beyond the window that has moved
  EXPECT_EQ(steps[2], 0U);
}

// A jump of one at a time, and not of the same reader, would go to the ordinal 8.
TEST_F(RelayServer, SaysHowASeriesEnds) {
  auto writer = create(4);
  put(*writer, 0);
  Connection& reader = connect();
  ask(reader, 1, subscribe_of());
  ASSERT_TRUE(writer->close(testing_fixture::soon()).ok());
  settle();
  const auto frames = reader.take();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::ended);
  EXPECT_EQ(frames[0].header.first, 1U);
  EXPECT_EQ(frames[0].header.tag, 0);
  EXPECT_TRUE(server_->told_all());
}

TEST_F(RelayServer, SaysThatAWriterIsGone) {
  const auto writer = create(4);
  put(*writer, 0);
  Connection& reader = connect();
  ask(reader, 1, subscribe_of());
  writer_environment.die();
  server_->tick();
  settle();
  const auto frames = reader.take();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::ended);
  EXPECT_EQ(frames[0].header.tag, 1);
}

TEST_F(RelayServer, TwoReadersOfOneFileEachGetTheirSteps) {
  const auto writer = create(4);
  Connection& one = connect();
  Connection& other = connect();
  ask(one, 1, subscribe_of());
  auto part = subscribe_of();
  part.fields = {{0, {2, 3}, {4, 5}}};
  ask(other, 1, part);
  EXPECT_EQ(server_->subscriptions(), 2U);
  put(*writer, 0);
  settle();
  EXPECT_EQ(one.take().at(0).payload.size(), step_bytes);
  EXPECT_EQ(other.take().at(0).payload.size(), 4 * sizeof(std::int32_t));
}

// Issue 9, fault 10: a reset connection ended the hold of a live reader.
TEST_F(RelayServer, AHoldEndsWithTheSubscriptionOrWithTheReaderButNotWithTheConnection) {
  const auto writer = create(4);
  Connection& one = connect();
  Connection& other = connect();
  ask(one, 1, subscribe_of(series::Mode::hold));
  ask(other, 2, subscribe_of(series::Mode::hold));
  EXPECT_EQ(holders(), 2);
  one.say(RelayKind::unsubscribe, 1);
  settle();
  EXPECT_EQ(holders(), 1);
  other.die();
  settle();
  server_->tick();
  EXPECT_EQ(server_->subscriptions(), 0U);
  EXPECT_EQ(holders(), 1);  // the process of the reader is alive
  reader_environment.die();
  server_->tick();
  EXPECT_EQ(holders(), 0);
}

// Without a hub no other relay is started with which the reader could go on.
TEST_F(RelayServer, AHoldWhoseConnectionHasFailedEndsWhenTheHubStaysAway) {
  const auto writer = create(4);
  Connection& one = connect();
  Connection& other = connect();
  ask(one, 1, subscribe_of(series::Mode::hold));
  ask(other, 2, subscribe_of(series::Mode::hold));
  one.die();
  settle();
  server_->tick();
  EXPECT_EQ(holders(), 2);
  hub_is_away_ = true;
  server_->tick();
  EXPECT_EQ(holders(), 1) << "the reader with a connection goes on";
}

TEST_F(RelayServer, AReaderWhoseConnectionWasResetGoesOnWithItsHold) {
  const auto writer = create(4);
  Connection& first = connect();
  ask(first, 5, subscribe_of(series::Mode::hold));
  put(*writer, 0);
  settle();
  EXPECT_EQ(first.take().at(0).header.first, 0U);
  first.die();
  settle();
  put(*writer, 1);
  auto again = subscribe_of(series::Mode::hold);
  again.again = true;
  again.next = 1;
  again.window = 3;
  const auto frames = ask(connect(), 5, again);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::accepted);
  EXPECT_EQ(frames[1].header.first, 1U);
  EXPECT_EQ(holders(), 1);
  server_->tick();
  EXPECT_EQ(holders(), 1);
}

// Issue 9, fault 14: an idle poll checked each subscription.
TEST_F(RelayServer, IdleSubscriptionsAreLookedAtOnlyWhenThereIsNews) {
  const auto writer = create(4);
  Connection& reader = connect();
  for (std::uint32_t number = 1; number <= 20; ++number) {
    ask(reader, number, subscribe_of());
  }
  EXPECT_FALSE(server_->ready());
  EXPECT_EQ(server_->poll(1000), 0);
  put(*writer, 0);
  EXPECT_TRUE(server_->ready());
  settle();
  EXPECT_EQ(reader.take().size(), 20U);
  EXPECT_FALSE(server_->ready());
}

// Fault: each poll asked each of them, which took 86 us with 10,000.
TEST_F(RelayServer, APollWithoutNewsDoesNotAskEachSubscription) {
  const auto writer = create(4);
  Connection& reader = connect();
  ask(reader, 1, subscribe_of());
  const auto least_ns = [this] {
    std::uint64_t least = UINT64_MAX;
    for (int sample = 0; sample < 200; ++sample) {
      const std::uint64_t begin_ns = os::now_ns();
      EXPECT_EQ(server_->poll(1000), 0);
      least = std::min(least, os::now_ns() - begin_ns);
    }
    return least;
  };
  const std::uint64_t alone_ns = least_ns();
  for (std::uint32_t number = 2; number <= 3000; ++number) {
    ask(reader, number, subscribe_of());
  }
  EXPECT_LT(least_ns(), 5 * alone_ns + 2000);
}

TEST_F(RelayServer, TheNextRelayFindsTheHoldOfALostOne) {
  const auto writer = create(4);
  ask(connect(), 5, subscribe_of(series::Mode::hold));
  put(*writer, 0);
  settle();
  const auto lost_one = std::move(server_);  // holds stay, as after kill -9
  const auto lost_dispatch = std::move(dispatch_);
  const auto lost_connections = std::move(connections_);
  start({});
  auto again = subscribe_of(series::Mode::hold);
  again.again = true;
  again.next = 1;
  again.window = 3;
  Connection& reader = connect();
  auto frames = ask(reader, 5, again);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::accepted);
  EXPECT_EQ(frames[0].header.first, 1U);
  EXPECT_EQ(holders(), 1);
  put(*writer, 1);
  settle();
  EXPECT_EQ(reader.take().at(0).header.first, 1U);
}

TEST_F(RelayServer, AHoldThatALostRelayToldNobodyAboutIsReplaced) {
  const auto writer = create(4);
  ask(connect(), 5, subscribe_of(series::Mode::hold));
  const auto lost_one = std::move(server_);
  const auto lost_dispatch = std::move(dispatch_);
  const auto lost_connections = std::move(connections_);
  start({});
  ask(connect(), 5, subscribe_of(series::Mode::hold));  // for the first time, as far as the reader knows
  EXPECT_EQ(holders(), 1);
}

// The hold began at the oldest step. The reader was told to begin behind them, and gave no credit for the others.
TEST_F(RelayServer, AHolderFromAStepThatIsToComeKeepsNoStepBelowIt) {
  series::WriterOptions options;
  options.wait_timeout_s = 0;
  const auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  auto later = subscribe_of(series::Mode::hold);
  later.from = static_cast<std::uint8_t>(series::From::step);
  later.from_step = 100;
  const auto frames = ask(connect(), 1, later);
  ASSERT_EQ(Connection::kind_of(frames.at(0)), RelayKind::accepted);
  EXPECT_EQ(frames.at(0).header.first, 2U);
  put(*writer, 2);
  put(*writer, 3);
  EXPECT_EQ(writer->put(field(4).data(), 4).code(), Code::full) << "it holds what comes now";
}

TEST_F(RelayServer, AHolderThatIsReleasedByTheWriterIsTold) {
  series::WriterOptions options;
  options.evict_after_held_s = 0;
  const auto writer = create(2, options);
  Connection& reader = connect();
  ask(reader, 1, subscribe_of(series::Mode::hold));
  for (std::int64_t step = 0; step < 4; ++step) {
    put(*writer, step);
  }
  settle();
  const auto frames = reader.take();
  EXPECT_TRUE(std::any_of(frames.begin(), frames.end(),
                          [](const auto& frame) { return Connection::kind_of(frame) == RelayKind::evicted; }));
}

// ---- refusals: the subscription ends, and the channel goes on ----

TEST_F(RelayServer, RefusalsSayWhy) {
  const auto writer = create(4);
  auto wrong = subscribe_of();
  wrong.file = "series-of-nobody";
  EXPECT_NE(refusal(wrong, Code::not_found).find("series-of-nobody"), std::string::npos);
  wrong = subscribe_of();
  wrong.series = "zeta";
  EXPECT_NE(refusal(wrong, Code::protocol).find("'zeta'"), std::string::npos);
  wrong = subscribe_of();
  wrong.series_incarnation = 3;
  EXPECT_NE(refusal(wrong, Code::protocol).find("incarnation 3"), std::string::npos);
  wrong = subscribe_of();
  wrong.fields[0].stop = {rows + 1, columns};
  EXPECT_NE(refusal(wrong, Code::shape).find("lies outside the array in dimension 0"), std::string::npos);
  wrong = subscribe_of();
  wrong.fields = {{0, {0}, {rows}}};
  EXPECT_NE(refusal(wrong, Code::shape).find("has 1 dimension, the array has 2"), std::string::npos);
  wrong = subscribe_of();
  wrong.fields[0].field = 1;
  EXPECT_NE(refusal(wrong, Code::shape).find("has 1 field, and none with number 1"), std::string::npos);
  wrong = subscribe_of();
  wrong.fields.push_back(wrong.fields[0]);
  EXPECT_NE(refusal(wrong, Code::shape).find("requested twice"), std::string::npos);
  wrong = subscribe_of(series::Mode::hold);
  wrong.again = true;
  EXPECT_NE(refusal(wrong, Code::evicted).find("the hold of peer 1 is gone"), std::string::npos);
}

TEST_F(RelayServer, TooManySubscribersAndHoldersAreRefused) {
  series::WriterOptions options;
  options.holders = 1;
  const auto writer = create(4, options);
  start({.most_subscriptions = 2});
  Connection& reader = connect();
  ask(reader, 1, subscribe_of(series::Mode::hold));
  auto frames = ask(reader, 2, subscribe_of(series::Mode::hold));
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(static_cast<Code>(frames[0].header.tag), Code::limit);
  EXPECT_NE(frames[0].payload.find("1 holder already"), std::string::npos) << frames[0].payload;
  ask(reader, 3, subscribe_of());
  frames = ask(reader, 4, subscribe_of());
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_NE(frames[0].payload.find("2 subscribers already"), std::string::npos) << frames[0].payload;
  EXPECT_EQ(reader.failure(), "");
}

// ---- mistakes: the channel ends ----

TEST_F(RelayServer, MistakesOfAReaderEndItsChannelWithASentence) {
  const auto writer = create(4);
  const auto failure_of = [&](const auto& say) {
    Connection& reader = connect();
    ask(reader, 1, subscribe_of());
    say(reader);
    settle();
    EXPECT_EQ(server_->subscriptions(), 0U);
    return reader.failure();
  };
  const auto image = wire::encode_subscribe(subscribe_of());
  EXPECT_NE(failure_of([](Connection& c) { c.say(RelayKind::credit, 1, 9, 0, 511); }).find("a share of 511"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(RelayKind::credit, 1, 9, 0, 65537); }).find("a share of 65537"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(RelayKind::credit, 1, 9, 0, -1); }).find("a share of -1"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(RelayKind::credit, 1, 3, 0); }).find("was reduced"),
            std::string::npos);
  EXPECT_NE(
      failure_of([&](Connection& c) { c.say(RelayKind::subscribe, 1, 0, 0, 0, image); }).find("a second subscription"),
      std::string::npos);
  EXPECT_NE(failure_of([&](Connection& c) { c.say(RelayKind::subscribe, 0, 0, 0, 0, image); }).find("number 0"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(static_cast<RelayKind>(3), 1); }).find("no reader sends"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(static_cast<RelayKind>(3), 1); }).find("no reader sends"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(RelayKind::step, 1); }).find("reads no series"), std::string::npos);
}

TEST_F(RelayServer, FramesOfASubscriptionThatIsOverAreIgnored) {
  const auto writer = create(4);
  Connection& reader = connect();
  ask(reader, 1, subscribe_of());
  reader.say(RelayKind::unsubscribe, 1);
  reader.say(RelayKind::credit, 1, 0, 0);
  reader.say(RelayKind::unsubscribe, 1);
  settle();
  EXPECT_EQ(reader.failure(), "");
  EXPECT_EQ(server_->subscriptions(), 0U);
}

}  // namespace
}  // namespace couplet::relay
