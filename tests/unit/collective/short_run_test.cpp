// Which schedules a ShortRun carries out. What it does with them is tested in tests/conformance/collective.
#include "collective/short_run.hpp"

#include <gtest/gtest.h>

namespace couplet::collective {
namespace {

const TypeInfo& doubles() {
  return *find_type(COUPLET_DOUBLE);
}

Schedule messages(std::size_t steps, std::uint64_t count) {
  Builder builder(0, 2);
  for (std::size_t step = 0; step < steps; ++step) builder.send(1, {Space::input, 0, count});
  return builder.take();
}

TEST(ShortRun, TakesShortMessagesOnly) {
  EXPECT_TRUE(ShortRun::fits(messages(3, 1), doubles()));
  EXPECT_TRUE(ShortRun::fits(messages(3, ShortRun::max_bytes / 8), doubles()));
  EXPECT_FALSE(ShortRun::fits(messages(3, ShortRun::max_bytes / 8 + 1), doubles()));
}

TEST(ShortRun, TakesShortSchedulesOnly) {
  EXPECT_TRUE(ShortRun::fits({}, doubles()));
  EXPECT_TRUE(ShortRun::fits(messages(ShortRun::max_steps, 1), doubles()));
  EXPECT_FALSE(ShortRun::fits(messages(ShortRun::max_steps + 1, 1), doubles()));
}

}  // namespace
}  // namespace couplet::collective
