// What a reader knows of a writer that is gone, if its relay goes as well, and what it leaves behind.
#include "relay/remote_part.hpp"

#include "unit/relay/remote_fixture.hpp"

namespace couplet::relay {
namespace {

// Fault: the reader held up the writers that live for ever, and named the relay instead of the writer.
TEST_F(RelayRemote, AWriterThatIsGoneStaysGoneWhenItsRelayDies) {
  auto part = opened(series::Mode::hold);
  push_step(0);
  reader_.relay().say(RelayKind::ended, number_, 1, 0, 1);
  reader_.poll();
  ASSERT_TRUE(part->relayed()->writer_gone);
  reader_.kill_relay();
  EXPECT_TRUE(part->relayed()->writer_gone);
  const Status status = part->alive();
  EXPECT_EQ(status.code(), Code::peer_lost);
  EXPECT_NE(status.text().find("peer 0"), std::string::npos) << status.text();
}

// Fault: each restart of a writer left the slots of its earlier life, for as long as a reader lived on another node: a
// relay of the next life had come before the reader gave up the earlier one.
TEST_F(RelayRemote, AHoldOfAWriterThatIsGoneIsGivenBackIfARelayIsThere) {
  auto part = opened(series::Mode::hold);
  reader_.kill_relay();
  reader_.writer_lives = false;
  reader_.start_relay();
  heard_.clear();
  part.reset();
  reader_.poll();
  answer();
  EXPECT_EQ(heard_, std::vector<RelayKind>{RelayKind::unsubscribe});
}

// Fault: one rank was told of it, and the others were told that a writer is gone.
TEST_F(RelayRemote, AHoldThatWasEvictedWhileNoRelayWasThereIsSeenAsEvicted) {
  auto part = opened(series::Mode::hold);
  const auto hold = series::take_hold_entry(part->file(), {.peer = 1}, 0, [](const series::Owner&) { return true; });
  ASSERT_TRUE(series::hold_from(part->file(), hold, 0, series::From::oldest).ok());
  reader_.kill_relay();
  refuse_ = "program 'nowcast' rank 0 has kept writer rank 0 waiting";
  refusal_ = COUPLET_ERROR_EVICTED;
  reader_.start_relay();
  ASSERT_TRUE(reader_.wait([&] { return static_cast<void>(part->poll()), !part->alive().ok(); }, soon()).ok());
  EXPECT_EQ(series::look_at_hold(part->file(), hold), series::HoldState::evicted);
}

// Fault: such a reader was told of the lost connection, and held up the writers that live for ever. The writer's own
// process had served it, so no relay said that the writer is gone.
TEST_F(RelayRemote, AWriterThatServesItselfIsGoneWithItsProcess) {
  reader_.begin(os::never, true);
  auto part = opened(series::Mode::hold);
  push_step(0);
  reader_.relay().say(RelayKind::news, number_, 3);
  reader_.poll();
  reader_.kill_relay();
  EXPECT_FALSE(part->relayed()->writer_gone);
  reader_.writer_lives = false;
  EXPECT_EQ(part->alive().code(), Code::peer_lost);
  EXPECT_TRUE(part->relayed()->writer_gone);
}

// Fault: closing a series that had ended waited for a relay that had left with the writers, 60 s for each writer rank.
TEST_F(RelayRemote, ClosingAHoldDoesNotWaitIfTheSeriesHasEnded) {
  reader_.begin(1000 * patience_ns);
  auto part = opened(series::Mode::hold);
  reader_.relay().say(RelayKind::ended, number_, 0, 0, 0);
  reader_.poll();
  reader_.kill_relay();
  int rounds = 0;
  reader_.script = [&] {
    if (++rounds == 3) reader_.writer_lives = false;
  };
  part.reset();
  EXPECT_EQ(rounds, 0);
}

// Fault: a relay that died before it had read that a reader has closed left the hold in the writer's slots.
TEST_F(RelayRemote, EachRelayIsToldThatAHoldHasEndedUntilOneConfirmsIt) {
  auto part = opened(series::Mode::hold);
  const std::uint32_t number = number_;
  confirm_ = false;
  part.reset();
  for (int relay = 0; relay < 2; ++relay) {
    reader_.kill_relay();
    reader_.remote->send_owed_ends();
    reader_.start_relay();
    heard_.clear();
    number_ = 0;
    tell_relay();
    tell_relay();
    EXPECT_EQ(heard_, std::vector<RelayKind>{RelayKind::unsubscribe});
    EXPECT_EQ(ended_.file, "series-of-ocean");
    EXPECT_EQ(number_, number);
  }
  reader_.relay().say(RelayKind::unsubscribed, number);
  reader_.poll();
  reader_.kill_relay();
  reader_.start_relay();
  heard_.clear();
  tell_relay();
  EXPECT_TRUE(heard_.empty());
}

class AnUnansweredOpening : public RelayRemote {
 protected:
  // Asks a relay for a hold, which dies before it has answered.
  std::unique_ptr<series::Part> unanswered() {
    reader_.script = [] {};
    series::PartSelection wanted;
    wanted.fields = {{0, {testing_fixture::box_of(0, rows, 0, columns)}}};
    wanted.mode = series::Mode::hold;
    auto part = std::move(reader_.remote->open_part(record_, 0, wanted, soon())).value();
    EXPECT_EQ(part->finish_opening(os::now_ns() + 1'000'000).code(), Code::timeout);
    reader_.kill_relay();
    return part;
  }
};

// Fault: the relay had taken the hold before it died. Another opening has another number, so the hold stayed.
TEST_F(AnUnansweredOpening, ThatIsGivenUpEndsTheHoldThatARelayMayHaveTaken) {
  auto part = unanswered();
  const std::uint64_t before = os::now_ns();
  part.reset();
  EXPECT_LT(os::now_ns() - before, patience_ns);
  reader_.start_relay();
  tell_relay();
  EXPECT_EQ(heard_, std::vector<RelayKind>{RelayKind::unsubscribe});
}

// Fault: the first relay had taken the hold before it died, and the next one refused, for example without a descriptor.
// The reader then owed no relay an end.
TEST_F(AnUnansweredOpening, EndsTheHoldAlsoIfTheNextRelayRefuses) {
  const auto usual = reader_.script;
  auto part = unanswered();
  reader_.start_relay();
  reader_.script = usual;
  refuse_ = "the relay: Too many open files";
  refusal_ = COUPLET_ERROR_LIMIT;
  EXPECT_EQ(part->finish_opening(soon()).code(), Code::limit);
  heard_.clear();
  part.reset();
  tell_relay();
  EXPECT_EQ(heard_, std::vector<RelayKind>{RelayKind::unsubscribe});
}

// Fault: closing took so long for each writer rank.
TEST_F(RelayRemote, ClosingTheHoldsOfARelayThatIsAwayWaitsOnce) {
  std::vector<std::unique_ptr<series::Part>> parts;
  for (int count = 0; count < 8; ++count) {
    parts.push_back(opened(series::Mode::hold));
  }
  reader_.kill_relay();
  const std::uint64_t before = os::now_ns();
  parts.clear();
  const std::uint64_t time_ns = os::now_ns() - before;
  EXPECT_GE(time_ns, patience_ns);
  EXPECT_LT(time_ns, 4 * patience_ns);
  reader_.start_relay();
  heard_.clear();
  tell_relay();
  EXPECT_EQ(heard_, std::vector<RelayKind>(8, RelayKind::unsubscribe));
}

// A process that makes no call after it has closed cannot tell the relay later. One that is stopped is not waited for
// for each writer rank.
TEST_F(RelayRemote, ClosingHoldsWaitsUntilTheNextRelayHasHeardIt) {
  for (const bool answers : {true, false}) {
    if (!reader_.there) {
      reader_.start_relay();
    }
    std::vector<std::unique_ptr<series::Part>> parts;
    for (int count = 0; count < 8; ++count) {
      parts.push_back(opened(series::Mode::hold));
    }
    reader_.kill_relay();
    reader_.start_relay();
    heard_.clear();
    confirm_ = answers;
    const std::uint64_t before = os::now_ns();
    parts.clear();
    const std::uint64_t time_ns = os::now_ns() - before;
    tell_relay();
    EXPECT_EQ(heard_, std::vector<RelayKind>(8, RelayKind::unsubscribe));
    if (answers) {
      EXPECT_LT(time_ns, patience_ns);
    } else {
      EXPECT_GE(time_ns, patience_ns);
      EXPECT_LT(time_ns, 4 * patience_ns);
    }
  }
}

}  // namespace
}  // namespace couplet::relay
