// When to try again, and for how long something has been tried, on a clock that the test sets.
#include "base/retry.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

constexpr std::uint64_t ms = 1'000'000;

TEST(BackOff, DelaysDoubleUpToTheLimitAndAreShortenedByAtMostAQuarter) {
  BackOff delays(10 * ms, 100 * ms, 7);
  for (const std::uint64_t whole : {10 * ms, 20 * ms, 40 * ms, 80 * ms, 100 * ms, 100 * ms}) {
    const std::uint64_t delay = delays.next_delay_ns();
    EXPECT_LE(delay, whole);
    EXPECT_GE(delay, whole - whole / 4);
  }
  delays.reset();
  EXPECT_LE(delays.next_delay_ns(), 10 * ms);
}

TEST(BackOff, TwoProcessesDoNotTryAtTheSameTimes) {
  BackOff first(10 * ms, 1000 * ms, 1);
  BackOff second(10 * ms, 1000 * ms, 2);
  int equal = 0;
  for (int attempt = 0; attempt < 32; ++attempt) {
    equal += first.next_delay_ns() == second.next_delay_ns() ? 1 : 0;
  }
  EXPECT_LT(equal, 4);
}

TEST(LookedTime, ALongGapCountsAsAShortOne) {
  LookedTime time;
  time.look(1000 * ms);
  EXPECT_EQ(time.total_ns(), 0U);
  time.look(1050 * ms);
  EXPECT_EQ(time.total_ns(), 50 * ms);
  time.look(9000 * ms);  // the process has computed for eight seconds
  EXPECT_EQ(time.total_ns(), 50 * ms + LookedTime::max_gap_ns);
  time.look(8000 * ms);  // a clock that goes back adds nothing
  EXPECT_EQ(time.total_ns(), 50 * ms + LookedTime::max_gap_ns);
}

TEST(RunningClock, DoesNotGoOnWhileItsProcessIsStopped) {
  RunningClock clock;
  const std::uint64_t begin = clock.now_ns(5000 * ms);
  EXPECT_EQ(clock.now_ns(5300 * ms) - begin, 300 * ms);
  const std::uint64_t before = clock.now_ns(5400 * ms);
  EXPECT_EQ(clock.now_ns(65'400 * ms) - before, RunningClock::max_gap_ns);
  EXPECT_EQ(clock.now_ns(65'500 * ms) - before, RunningClock::max_gap_ns + 100 * ms);
}

}  // namespace
}  // namespace couplet
