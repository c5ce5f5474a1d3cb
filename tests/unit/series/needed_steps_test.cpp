#include "series/needed_steps.hpp"

#include <gtest/gtest.h>

namespace couplet::series {
namespace {

TEST(NeededSteps, AllFromTheFirstOneOn) {
  const NeededSteps needed{7};
  EXPECT_EQ(needed.first(0), 7U);
  EXPECT_EQ(needed.first(7), 7U);
  EXPECT_EQ(needed.first(8), 8U);
  EXPECT_EQ(needed.last(8), 8U);
}

TEST(NeededSteps, OneOfSeveral) {
  const NeededSteps needed{7, 10};
  EXPECT_EQ(needed.first(3), 7U);
  EXPECT_EQ(needed.first(8), 17U);
  EXPECT_EQ(needed.first(17), 17U);
  EXPECT_EQ(needed.first(18), 27U);
  EXPECT_EQ(needed.last(7), 7U);
  EXPECT_EQ(needed.last(16), 7U);
  EXPECT_EQ(needed.last(17), 17U);
}

TEST(NeededSteps, NoNumberIsTooLarge) {
  EXPECT_EQ((NeededSteps{7, UINT64_MAX}.first(8)), UINT64_MAX);
  EXPECT_EQ((NeededSteps{0, 10}.first(UINT64_MAX - 2)), UINT64_MAX);
}

}  // namespace
}  // namespace couplet::series
