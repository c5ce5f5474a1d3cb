#include "wire/step_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace couplet::wire {
namespace {

std::vector<std::uint64_t> steps_of(std::uint32_t share, std::uint64_t end) {
  std::vector<std::uint64_t> steps;
  for (std::uint64_t ordinal = 0; ordinal < end; ++ordinal) {
    if (in_share(ordinal, share)) {
      steps.push_back(ordinal);
    }
  }
  return steps;
}

TEST(StepShare, TheWholeShareIsAllSteps) {
  EXPECT_EQ(steps_of(whole_share, 10'000).size(), 10'000U);
}

// The page docs/formats/relay.md says which steps these are; relays of other releases choose the same ones.
TEST(StepShare, TheStepsOfAShareNeverChange) {
  EXPECT_EQ(steps_of(27307, 20), (std::vector<std::uint64_t>{0, 2, 5, 7, 10, 12, 13, 15, 18}));
}

TEST(StepShare, ASmallerShareIsASubsetOfALargerOne) {
  for (std::uint32_t share = min_share; share <= whole_share; share += 1009) {
    const auto few = steps_of(share, 2000);
    const auto many = steps_of(std::min(share + 700, whole_share), 2000);
    EXPECT_TRUE(std::includes(many.begin(), many.end(), few.begin(), few.end())) << share;
  }
}

TEST(StepShare, EachWindowHasAboutTheShare) {
  for (std::uint32_t share = min_share; share <= whole_share; share += 1009) {
    const auto steps = steps_of(share, 20'000);
    for (std::uint64_t begin = 0; begin + 200 <= 20'000; begin += 37) {
      const auto count = std::count_if(steps.begin(), steps.end(),
                                       [&](std::uint64_t step) { return step >= begin && step < begin + 200; });
      EXPECT_NEAR(static_cast<double>(count), 200.0 * share / whole_share, 4) << share << " from " << begin;
    }
  }
}

}  // namespace
}  // namespace couplet::wire
