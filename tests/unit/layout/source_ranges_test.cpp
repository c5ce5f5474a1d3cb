#include "layout/source_ranges.hpp"

#include <gtest/gtest.h>

namespace couplet::layout {
namespace {

Box box_of(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  Box box;
  box.dimensions = 2;
  box.start = {a, c};
  box.stop = {b, d};
  return box;
}

TEST(SourceRanges, OfNothingAreNone) {
  EXPECT_TRUE(source_ranges({}, 0, 10).empty());
}

TEST(SourceRanges, OfWholeRowsAreOne) {
  const auto plan = plan_copy(box_of(0, 8, 0, 100), box_of(2, 5, 0, 100), 4);
  EXPECT_EQ(source_ranges(plan, 0, 10), (std::vector<ByteRange>{{800, 2000}}));
}

TEST(SourceRanges, OfColumnsAreOneForEachRowUnlessTheyLieCloseTogether) {
  const auto plan = plan_copy(box_of(0, 3, 0, 100), box_of(0, 3, 10, 20), 4);
  EXPECT_EQ(source_ranges(plan, 100, 10), (std::vector<ByteRange>{{40, 80}, {440, 480}, {840, 880}}));
  EXPECT_EQ(source_ranges(plan, 360, 10), (std::vector<ByteRange>{{40, 880}}));
  EXPECT_EQ(source_ranges(plan, 100, 2), (std::vector<ByteRange>{{40, 880}}));
}

}  // namespace
}  // namespace couplet::layout
