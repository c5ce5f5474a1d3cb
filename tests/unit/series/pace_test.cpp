#include "series/pace.hpp"

#include <gtest/gtest.h>

namespace couplet::series {
namespace {

Pace of(double claims_per_copy) {
  Pace pace;
  pace.note({1000, static_cast<std::uint64_t>(claims_per_copy * 1000), false});
  return pace;
}

TEST(Pace, AFastReaderIsLeftAlone) {
  const Pace pace = of(0.2);
  EXPECT_EQ(pace.advise(0, 4, 1).ahead, 0U);
  EXPECT_EQ(pace.advise(0, 4, 1).max_steps, UINT64_MAX);
  EXPECT_FALSE(pace.needs_fresh_step(2));
}

TEST(Pace, ASlowOneJumpsSoFarThatItsCopySurvives) {
  const Pace pace = of(2.4);
  const auto advice = pace.advise(0, 1, 1);
  EXPECT_GE(advice.ahead, 3U);  // the writer claims 2.4 slots meanwhile
  EXPECT_LE(advice.ahead, 4U);
  EXPECT_GE(advice.max_steps, 1U);
  EXPECT_LE(advice.max_steps, 2U);
  EXPECT_EQ(pace.advise(7, 1, 1).ahead, 7U);  // far enough ahead
  EXPECT_EQ(pace.advise(7, 1, 1).max_steps, 4U);
}

TEST(Pace, WhoTakesFewStepsGainsOnTheWriter) {
  const Pace pace = of(2.4);
  EXPECT_EQ(pace.advise(3, 1, 4).ahead, 3U);
  EXPECT_EQ(pace.advise(3, 1, 4).max_steps, UINT64_MAX);
}

TEST(Pace, ItGrowsAtOnceAndShrinksSlowly) {
  Pace pace = of(1);
  pace.note({1, 3, true});
  EXPECT_EQ(pace.claims_per_copy(), 3);
  pace.note({1, 0, false});
  EXPECT_EQ(pace.claims_per_copy(), 2.25);
  pace.note({0, 0, false});
  EXPECT_EQ(pace.claims_per_copy(), 2.25);
}

TEST(Pace, BeingOvertakenCountsEvenWhereTheCopyWasStoppedAtOnce) {
  Pace pace = of(2);
  pace.note({1, 1, true});
  EXPECT_EQ(pace.claims_per_copy(), 2.5);
}

TEST(Pace, StepsThatAreFetchedTogetherAreOneCopy) {
  Pace pace;
  pace.note({.copies = 1, .claimed = 10, .overtaken = false, .together = 4});
  EXPECT_EQ(pace.claims_per_copy(), 10);
  EXPECT_EQ(pace.advise(0, 1, 1).ahead, 11U);
  EXPECT_EQ(pace.advise(0, 4, 1).ahead, 11U);
  EXPECT_EQ(pace.advise(0, 5, 1).ahead, 17U);  // two copies, and four steps fewer to wait for
  EXPECT_EQ(pace.advise(0, 1, 1).max_steps, 4U);
}

TEST(Pace, WithFewSlotsOnlyAFreshStepSurvives) {
  EXPECT_TRUE(of(2.4).needs_fresh_step(4));
  EXPECT_FALSE(of(2.4).needs_fresh_step(5));
}

}  // namespace
}  // namespace couplet::series
