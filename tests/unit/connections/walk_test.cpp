#include "connections/walk.hpp"

#include <gmock/gmock.h>

namespace couplet::connections {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr WalkOptions options{.min_delay_ns = 100 * ms, .max_delay_ns = 400 * ms, .patience_ns = 1000 * ms};
using Action = Walk::Action;

Walk two() {
  return {{"shm", "tcp"}, options, 1};
}

TEST(Verdict, OfEachFailure) {
  struct Row {
    Code code;
    Verdict verdict;
  };
  for (const Row& row :
       {Row{Code::exists, Verdict::theirs_comes}, Row{Code::limit, Verdict::later}, Row{Code::memory, Verdict::later},
        Row{Code::no_space, Verdict::later}, Row{Code::peer_lost, Verdict::later}, Row{Code::system, Verdict::later},
        Row{Code::timeout, Verdict::later}, Row{Code::full, Verdict::later}, Row{Code::state, Verdict::later},
        Row{Code::unsupported, Verdict::never}, Row{Code::authentication, Verdict::never},
        Row{Code::version, Verdict::never}, Row{Code::mismatch, Verdict::never}, Row{Code::protocol, Verdict::never}}) {
    EXPECT_EQ(verdict_of(row.code), row.verdict) << code_name(static_cast<couplet_status>(row.code));
  }
}

TEST(Walk, GoesThroughTheTransportsInOrder) {
  Walk walk = two();
  Walk::Step step = walk.next(1);
  EXPECT_EQ(step.action, Action::dial);
  EXPECT_EQ(step.transport, 0U);
  walk.dialing(0);
  EXPECT_EQ(walk.next(2).action, Action::wait) << "one dial at a time";
  EXPECT_EQ(walk.failed(0, fail(Code::unsupported, "another node"), 3), Verdict::never);
  step = walk.next(3);
  EXPECT_EQ(step.action, Action::dial);
  EXPECT_EQ(step.transport, 1U);
}

TEST(Walk, EndsWhenNoTransportIsLeft) {
  Walk walk = two();
  walk.leave_out(0, "is switched off here");
  walk.failed(1, fail(Code::unsupported, "is switched off in B"), 1);
  EXPECT_EQ(walk.next(1).action, Action::give_up);
  EXPECT_EQ(walk.reasons(), "shm: is switched off here; tcp: is switched off in B");
  EXPECT_EQ(walk.code(), Code::unsupported);
}

TEST(Walk, TriesAgainWithLongerAndLongerPauses) {
  Walk walk = two();
  walk.leave_out(0, "");
  std::uint64_t now = ms;
  std::uint64_t longest = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    walk.failed(1, fail(Code::peer_lost, "connection refused"), now);
    EXPECT_EQ(walk.unanswered(), attempt + 1);
    const std::uint64_t began = now;
    while (walk.next(now).action == Action::wait) {
      now += ms;
    }
    EXPECT_GE(now - began, longest / 2);
    longest = std::max(longest, now - began);
    ASSERT_EQ(walk.next(now).action, Action::dial) << attempt;
  }
  EXPECT_LE(longest, options.max_delay_ns + ms);
  EXPECT_GE(longest, options.max_delay_ns / 2);
}

TEST(Walk, CountsDialsThatWereRefusedInARow) {
  Walk walk = two();
  const Status refused = fail(Code::system, "cannot connect to 10.0.0.1:4711: Connection refused");
  walk.failed(1, refused, 1);
  walk.failed(0, fail(Code::timeout, "no answer"), 1);  // over another transport
  walk.failed(1, refused, 2);
  EXPECT_EQ(walk.refused(), 2);
  walk.failed(1, fail(Code::system, "cannot connect to 10.0.0.1:4711: No route to host"), 3);
  EXPECT_EQ(walk.refused(), 0);
  walk.end();
  EXPECT_EQ(walk.next(3).action, Action::give_up);
  EXPECT_EQ(walk.reasons(), "shm: no answer; tcp: cannot connect to 10.0.0.1:4711: No route to host");
}

TEST(Walk, HasPatienceWithAPeerThatComputesWhileItsSystemHasTakenTheDial) {
  constexpr std::uint64_t step_ns = 100 * ms;
  WalkOptions long_ones = options;
  long_ones.max_unanswered_ns = 500 * ms;
  for (const bool long_dial : {false, true}) {
    Walk walk({"tcp"}, long_ones, 1);
    std::uint64_t now = 1;
    ASSERT_EQ(walk.next(now).action, Action::dial);
    walk.dialing(0);
    for (int tick = 0; tick < (long_dial ? 100 : 4); ++tick) {
      ASSERT_EQ(walk.next(now += step_ns).action, Action::wait);
    }
    walk.failed(0, fail(Code::peer_lost, "Connection reset by peer"), now);
    int more = 0;
    while (walk.next(now += step_ns).action != Action::give_up && ++more < 100) {
    }
    EXPECT_GT(more, long_dial ? 8 : 4);
    EXPECT_LT(more, long_dial ? 12 : 8) << "the patience is counted from here";
  }
}

// A heartbeat that stops on a shared file system is found silent only after 30 s, so such dials are all long.
TEST(Walk, HasNoNewPatienceAfterALongDialThatNobodyHasAnswered) {
  Walk walk({"file"}, options, 1);
  std::uint64_t now = 1;
  ASSERT_EQ(walk.next(now).action, Action::dial);
  walk.dialing(0);
  for (int tick = 0; tick < 200; ++tick) {
    ASSERT_EQ(walk.next(now += 100 * ms).action, Action::wait);
  }
  walk.failed(0, fail(Code::timeout, "its heartbeat has not changed for 30 s"), now);
  EXPECT_EQ(walk.next(now += ms).action, Action::give_up);
}

TEST(Walk, DialsAtOnceWhenItIsToHurry) {
  Walk walk = two();
  walk.leave_out(0, "is switched off here");
  walk.failed(1, fail(Code::peer_lost, "connection refused"), 1);
  ASSERT_EQ(walk.next(2).action, Action::wait);
  walk.hurry();
  EXPECT_EQ(walk.next(2).action, Action::dial) << "the peer asks to be called";
  EXPECT_EQ(walk.next(2).transport, 1U) << "what is left out stays out";
}

TEST(Walk, GoesOnWithTheNextTransportWhileTheFirstOneHasToWait) {
  Walk walk = two();
  EXPECT_EQ(walk.failed(0, fail(Code::limit, "too many open files"), 1), Verdict::later);
  EXPECT_EQ(walk.next(1).transport, 1U);
  walk.failed(1, fail(Code::limit, "too many open files"), 1);
  EXPECT_EQ(walk.next(1).action, Action::wait);
  EXPECT_EQ(walk.next(500 * ms).transport, 0U) << "in order again";
}

TEST(Walk, AConnectionOfThePeerIsNoUnansweredDial) {
  Walk walk = two();
  walk.failed(1, fail(Code::peer_lost, "no route"), 1);
  EXPECT_EQ(walk.failed(1, fail(Code::exists, "both have dialed"), 2), Verdict::theirs_comes);
  EXPECT_EQ(walk.unanswered(), 0);
}

TEST(Walk, PatienceCountsOnlyTheTimeInWhichItWasLookedAt) {
  Walk walk = two();
  walk.leave_out(0, "");
  walk.failed(1, fail(Code::peer_lost, "no route"), 1);
  static_cast<void>(walk.next(1));
  constexpr std::uint64_t hour = 3'600'000 * ms;
  EXPECT_EQ(walk.next(hour).action, Action::dial) << "it computed for an hour";
  std::uint64_t now = hour;
  int looks = 0;
  while (walk.next(now += 100 * ms).action != Action::give_up && looks < 100) {
    ++looks;
  }
  EXPECT_LE(looks, 11);
  EXPECT_GE(looks, 7);
}

TEST(BackOff, StaysWithinItsBounds) {
  BackOff back_off(100, 1000, 7);
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t delay = back_off.next_delay_ns();
    EXPECT_GE(delay, 75U);
    EXPECT_LE(delay, 1000U);
  }
  back_off.reset();
  EXPECT_LE(back_off.next_delay_ns(), 100U);
}

TEST(BackOff, TwoProcessesThatFailTogetherDoNotTryTogether) {
  BackOff one(1'000'000, 8'000'000, 1);
  BackOff other(1'000'000, 8'000'000, 2);
  std::uint64_t apart = 0;
  for (int round = 0; round < 8; ++round) {
    apart += one.next_delay_ns() != other.next_delay_ns() ? 1U : 0U;
  }
  EXPECT_GE(apart, 6U);
}

TEST(RunningClock, StandsStillWhileItsProcessDoesNotRun) {
  RunningClock clock;
  EXPECT_EQ(clock.now_ns(5'000'000'000), 5'000'000'000U);
  EXPECT_EQ(clock.now_ns(5'900'000'000), 5'900'000'000U);
  EXPECT_EQ(clock.now_ns(65'900'000'000), 6'900'000'000U) << "stopped for a minute: a gap of one second counts";
  EXPECT_EQ(clock.now_ns(66'000'000'000), 7'000'000'000U);
}

}  // namespace
}  // namespace couplet::connections
