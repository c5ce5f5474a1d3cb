// Times that users give: a time that is too long for the clock is for ever, and nothing overflows.
#include "os/clock.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "os/ticks.hpp"

namespace couplet::os {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Deadline, InfinityAndHugeTimeoutsAreForEver) {
  EXPECT_EQ(deadline_after(infinity), never);
  EXPECT_EQ(deadline_after(1e300), never);
  EXPECT_EQ(deadline_after(1.9e10), never);
  EXPECT_EQ(deadline_after(2e10), never);
  EXPECT_EQ(deadline_after(-1), never);
  EXPECT_EQ(deadline_after(-infinity), never);
  // It was refused before, but it never ends a wait at once.
  EXPECT_EQ(deadline_after(nan), never);
}

TEST(Deadline, ASumThatTheClockCannotCountIsForEver) {
  EXPECT_EQ(deadline_after(1, max_countable_ns), never);
  EXPECT_EQ(deadline_after(9.2e9, 1'000'000'000'000'000'000), never);
  EXPECT_EQ(deadline_after(1, 5), 1'000'000'005U);
}

TEST(Deadline, CommonTimesAreExact) {
  EXPECT_EQ(deadline_after(0, 7), 7U);
  EXPECT_EQ(deadline_after(0.25, 0), 250'000'000U);
  EXPECT_EQ(nanoseconds_of(1e9), 1'000'000'000'000'000'000U);
  EXPECT_EQ(nanoseconds_of(-3), 0U);
  EXPECT_EQ(nanoseconds_of(nan), 0U);
  EXPECT_EQ(nanoseconds_of(infinity), UINT64_MAX);
  EXPECT_EQ(nanoseconds_of(1.9e10), UINT64_MAX);
}

TEST(Ticks, AdvanceAtLeastAThirdAsFastAsTheirUnitSays) {
  constexpr std::uint64_t measured_us = 2'000;
  const std::uint64_t begun_ns = now_ns();
  const std::uint64_t begun_ticks = ticks();
  while (now_ns() - begun_ns < measured_us * 1'000) {
  }
  EXPECT_GE(ticks() - begun_ticks, measured_us * ticks_per_us / 3);
}

}  // namespace
}  // namespace couplet::os
