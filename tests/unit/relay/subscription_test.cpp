// Which steps a relay sends to a reader that is too slow for all of them, or that does not want all of them.
#include "relay/subscription.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "unit/relay/server_fixture.hpp"

namespace couplet::relay {
namespace {

using testing_fixture::Connection;
using testing_fixture::RelayKind;
using testing_fixture::step_bytes;

class RelaySubscription : public testing_fixture::RelayServer {
 protected:
  // Lets a reader of one of ten steps follow, or hold, 45 steps.
  void check_one_of_ten(series::Mode mode) {
    const auto writer = create(64);
    Connection& reader = connect();
    put(*writer, 0);
    ASSERT_EQ(ask(reader, 1, subscribe_of(mode)).size(), 2U);
    reader.say(RelayKind::credit, 1, 100, 10, -10);
    settle();
    for (std::int64_t step = 1; step < 45; ++step) {
      put(*writer, step);
      settle();
    }
    std::vector<std::uint64_t> came;
    for (const auto& frame : reader.take()) {
      EXPECT_EQ(Connection::kind_of(frame), RelayKind::step);
      came.push_back(frame.header.first);
    }
    EXPECT_EQ(came, (std::vector<std::uint64_t>{10, 20, 30, 40}));
    ASSERT_TRUE(writer->close(testing_fixture::soon()).ok());
    settle();
    const auto end = reader.take();
    ASSERT_EQ(end.size(), 1U);
    EXPECT_EQ(Connection::kind_of(end[0]), RelayKind::ended);
    EXPECT_EQ(end[0].header.first, 45U);
  }
};

TEST_F(RelaySubscription, SubscriptionsOfOneReaderLeaveOutTheSameSteps) {
  const auto writer = create(4);
  Connection& reader = connect();
  auto begin = subscribe_of();
  begin.window = 1;
  begin.reader = 1;
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, begin).size(), 2U);
  ASSERT_EQ(ask(reader, 2, begin).size(), 2U);
  begin.reader = 3;
  ASSERT_EQ(ask(reader, 3, begin).size(), 2U);
  for (std::int64_t step = 1; step < 10; ++step) {
    put(*writer, step);
  }
  settle();
  reader.take();
  const auto first_step = [&](std::uint32_t number) {
    reader.say(RelayKind::credit, number, 20, 1);
    settle();
    auto frames = reader.take();
    std::erase_if(frames, [](const auto& frame) { return Connection::kind_of(frame) == RelayKind::news; });
    EXPECT_GE(frames.size(), 2U);
    EXPECT_EQ(Connection::kind_of(frames.at(0)), RelayKind::lost);
    EXPECT_EQ(frames.at(0).header.first, 1U);
    EXPECT_EQ(Connection::kind_of(frames.at(1)), RelayKind::step);
    return frames.at(1).header.first;
  };
  EXPECT_EQ(first_step(1), 7U);
  put(*writer, 10);
  settle();
  reader.take();
  EXPECT_EQ(first_step(2), 7U);
  EXPECT_EQ(first_step(3), 8U);
}

TEST_F(RelaySubscription, AFollowerIsSentTheStepsOfItsShare) {
  const auto writer = create(16);
  Connection& reader = connect();
  auto begin = subscribe_of();
  begin.window = 1;
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, begin).size(), 2U);
  reader.say(RelayKind::credit, 1, 40, 1, 26000);
  settle();
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t ordinal = 1; ordinal < 40; ++ordinal) {
    put(*writer, static_cast<std::int64_t>(ordinal));
    settle();
    if (wire::in_share(ordinal, 26000)) {
      wanted.push_back(ordinal);
    }
  }
  std::vector<std::uint64_t> came;
  std::uint64_t next = 1;
  for (const auto& frame : reader.take()) {
    if (Connection::kind_of(frame) == RelayKind::news) {
      continue;
    }
    const bool lost = Connection::kind_of(frame) == RelayKind::lost;
    EXPECT_EQ(frame.header.first, next);  // each ordinal is accounted for, in order
    next = lost ? frame.header.second : frame.header.first + 1;
    if (!lost) {
      came.push_back(frame.header.first);
    }
  }
  EXPECT_EQ(came, wanted);
  EXPECT_GT(came.size(), 12U);
}

// Fault (chaos seed 22300081): while the writer paused, the steps behind the last one of the share counted as lost.
TEST_F(RelaySubscription, StepsBehindTheShareAreSentIfItIsRaisedWhileTheWriterPauses) {
  constexpr std::int32_t share = 26000;
  const auto writer = create(16);
  Connection& reader = connect();
  auto begin = subscribe_of();
  begin.window = 16;
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, begin).size(), 2U);
  reader.say(RelayKind::credit, 1, 40, 1, share);
  settle();
  std::uint64_t last = 8;
  while (wire::in_share(last, share) || wire::in_share(last - 1, share)) {
    ++last;
  }
  for (std::uint64_t ordinal = 1; ordinal <= last; ++ordinal) {
    put(*writer, static_cast<std::int64_t>(ordinal));
    settle();
  }
  const auto before = reader.take();
  EXPECT_EQ(Connection::kind_of(before.back()), RelayKind::news);
  EXPECT_EQ(before.back().header.first, last + 1) << "the reader knows that there are more";
  reader.say(RelayKind::credit, 1, 40, 1, wire::encode_wanted({wire::whole_share, 1}));
  settle();
  const auto after = reader.take();
  ASSERT_EQ(after.size(), 2U);
  for (std::size_t at = 0; at < after.size(); ++at) {
    EXPECT_EQ(Connection::kind_of(after[at]), RelayKind::step);
    EXPECT_EQ(after[at].header.first, last - 1 + at);
  }
}

// If the credit ends before the next step of the share, the reader must hear of what passes, to give more.
TEST_F(RelaySubscription, WithLittleCreditOnlyTheNewestStepBehindTheShareIsKept) {
  const auto writer = create(16);
  Connection& reader = connect();
  auto begin = subscribe_of();
  begin.window = 2;
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, begin).size(), 2U);
  reader.say(RelayKind::credit, 1, 4, 1, wire::min_share);
  settle();
  for (std::int64_t step = 1; step < 4; ++step) {
    put(*writer, step);
    settle();
  }
  std::uint64_t lost_end = 0;
  for (const auto& frame : reader.take()) {
    lost_end = Connection::kind_of(frame) == RelayKind::lost ? frame.header.second : lost_end;
  }
  EXPECT_EQ(lost_end, 3U);
}

TEST_F(RelaySubscription, AStepThatItsReaderNoLongerNeedsIsNotSentToItsEnd) {
  start({.piece_bytes = 16});
  const auto writer = create(8);
  for (std::int64_t step = 0; step < 5; ++step) {
    put(*writer, step);
  }
  Connection& reader = connect();
  auto begin = subscribe_of();
  begin.reader = 1;
  reader.say(RelayKind::subscribe, 1, 0, 0, 0, wire::encode_subscribe(begin));
  while (server_->subscriptions() == 0) {
    reader.poll();
  }
  server_->poll(1);  // the answer, and some pieces
  reader.say(RelayKind::credit, 1, 8, 3);
  reader.poll();
  settle();
  const auto frames = reader.take();
  const auto kind_at = [&](std::size_t index) { return Connection::kind_of(frames.at(index)); };
  std::size_t at = 1;
  while (kind_at(at) == RelayKind::piece) {
    ++at;
  }
  EXPECT_GT(at, 1U);
  EXPECT_LT(at, 1 + step_bytes / 16);
  EXPECT_EQ(kind_at(at), RelayKind::lost);
  EXPECT_EQ(frames[at].header.first, 0U);
  EXPECT_EQ(frames[at].header.second, 3U);
  EXPECT_EQ(frames[at].header.tag, 0);
  EXPECT_EQ(kind_at(at + 1), RelayKind::piece);
  EXPECT_EQ(frames[at + 1].header.first, 3U);
}

TEST_F(RelaySubscription, AFollowerOfTheLatestStepGetsTheNewestOne) {
  const auto writer = create(8);
  for (std::int64_t step = 0; step < 6; ++step) {
    put(*writer, step);
  }
  auto latest = subscribe_of();
  latest.latest = true;
  latest.window = 8;
  const auto frames = ask(connect(), 1, latest);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(Connection::kind_of(frames[1]), RelayKind::lost);
  EXPECT_EQ(frames[1].header.first, 0U);
  EXPECT_EQ(frames[1].header.second, 5U);
  EXPECT_EQ(Connection::kind_of(frames[2]), RelayKind::step);
  EXPECT_EQ(frames[2].header.first, 5U);
}

TEST_F(RelaySubscription, AFollowerThatIsSlowerThanTheWriterIsMovedAheadOfIt) {
  start({.piece_bytes = step_bytes / 2});
  const auto writer = create(8);
  put(*writer, 0);
  Connection& reader = connect();
  auto slow = subscribe_of();
  slow.window = 1000;
  std::vector<std::uint64_t> whole;
  std::uint64_t torn = 0;
  std::int64_t step = 1;
  reader.say(RelayKind::subscribe, 1, 0, 0, 0, wire::encode_subscribe(slow));
  reader.poll();
  // Three steps are written while a piece is sent.
  for (int round = 0; round < 300; ++round) {
    server_->poll(1);
    reader.poll();
    for (int each = 0; each < 3; ++each) {
      put(*writer, step++);
    }
    for (const auto& frame : reader.take()) {
      torn += Connection::kind_of(frame) == RelayKind::lost && frame.header.tag != 0 ? 1U : 0U;
      if (Connection::kind_of(frame) == RelayKind::step) {
        whole.push_back(frame.header.first);
      }
    }
  }
  EXPECT_GT(whole.size(), 50U);
  EXPECT_LT(torn, whole.size());
  EXPECT_TRUE(std::is_sorted(whole.begin(), whole.end()));
}

// ---- one of several steps ----

TEST_F(RelaySubscription, AFollowerOfOneOfSeveralStepsIsSentNoOthers) {
  check_one_of_ten(series::Mode::follow);
}

TEST_F(RelaySubscription, AHolderOfOneOfSeveralStepsIsSentNoOthers) {
  check_one_of_ten(series::Mode::hold);
}

// The credit comes while a step is sent. A holder was sent the next steps as well, although it skips them.
TEST_F(RelaySubscription, WhatAHolderNoLongerNeedsDoesNotFollowTheStepThatWasBegun) {
  start({.piece_bytes = 16});
  const auto writer = create(8);
  for (std::int64_t step = 0; step < 5; ++step) {
    put(*writer, step);
  }
  Connection& reader = connect();
  reader.say(RelayKind::subscribe, 1, 0, 0, 0, wire::encode_subscribe(subscribe_of(series::Mode::hold)));
  while (server_->subscriptions() == 0) {
    reader.poll();
  }
  server_->poll(1);  // the answer, and some pieces
  reader.say(RelayKind::credit, 1, 8, 3);
  reader.poll();
  settle();
  std::set<std::uint64_t> came;
  for (const auto& frame : reader.take()) {
    const bool of_step =
        Connection::kind_of(frame) == RelayKind::piece || Connection::kind_of(frame) == RelayKind::step;
    came.insert(of_step ? frame.header.first : 0);
  }
  EXPECT_EQ(came, (std::set<std::uint64_t>{0, 3, 4}));
}

TEST_F(RelaySubscription, AFollowerOfOneOfSeveralStepsJumpsToOneOfThem) {
  const auto writer = create(4);
  Connection& reader = connect();
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, subscribe_of()).size(), 2U);
  auto latest = subscribe_of();
  latest.latest = true;
  ASSERT_EQ(ask(reader, 2, latest).size(), 2U);
  for (const std::uint32_t number : {1U, 2U}) {
    reader.say(RelayKind::credit, number, 40, 3, -3);
  }
  settle();
  for (std::int64_t step = 1; step < 18; ++step) {
    put(*writer, step);
  }
  settle();
  std::map<std::uint32_t, std::vector<std::uint64_t>> came;
  std::map<std::uint32_t, std::uint64_t> accounted = {{1, 3}, {2, 3}};
  for (const auto& frame : reader.take()) {
    const RelayKind kind = Connection::kind_of(frame);
    std::uint64_t& end = accounted[frame.header.context];
    if (kind == RelayKind::lost) {
      EXPECT_GE(frame.header.first, end);
      end = frame.header.second;
    } else if (kind == RelayKind::step) {
      EXPECT_GE(frame.header.first, end);
      EXPECT_LT(frame.header.first, end + 3);
      came[frame.header.context].push_back(frame.header.first);
    }
  }
  for (const std::uint32_t number : {1U, 2U}) {
    EXPECT_EQ(came[number], std::vector<std::uint64_t>{15}) << number;  // ordinals 14 to 17 are retained
  }
}

}  // namespace
}  // namespace couplet::relay
