#include "layout/box.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "layout/copy_plan.hpp"

namespace couplet::layout {
namespace {

Box make_box(std::vector<std::pair<std::int64_t, std::int64_t>> ranges) {
  Box box;
  box.dimensions = static_cast<int>(ranges.size());
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    box.start[index] = ranges[index].first;
    box.stop[index] = ranges[index].second;
  }
  return box;
}

TEST(Box, CountsItsElements) {
  EXPECT_EQ(make_box({{2, 5}, {0, 4}}).elements(), 12U);
  EXPECT_EQ(make_box({{2, 2}, {0, 4}}).elements(), 0U);
  EXPECT_EQ(make_box({{5, 2}, {0, 4}}).elements(), 0U);
  EXPECT_EQ(Box{}.elements(), 0U);
}

TEST(Box, AnOverflowingCountSaturates) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(make_box({{0, huge}, {0, huge}}).elements(), UINT64_MAX);
  EXPECT_EQ(make_box({{0, huge}, {0, huge}, {3, 3}}).elements(), 0U);
}

TEST(Box, IntersectsOrDoesNot) {
  EXPECT_EQ(intersect(make_box({{0, 5}, {2, 9}}), make_box({{3, 8}, {0, 4}})), make_box({{3, 5}, {2, 4}}));
  EXPECT_FALSE(intersect(make_box({{0, 5}}), make_box({{5, 8}})));
  EXPECT_FALSE(intersect(make_box({{0, 5}}), make_box({{0, 5}, {0, 5}})));
  EXPECT_FALSE(intersect(make_box({{3, 3}}), make_box({{0, 5}})));
}

TEST(Box, OutsideIsAnErrorThatNamesTheDimension) {
  const std::vector<std::int64_t> shape = {10, 20};
  EXPECT_TRUE(check_inside(make_box({{0, 10}, {0, 20}}), shape, "box").ok());
  EXPECT_TRUE(check_inside(make_box({{4, 4}, {0, 20}}), shape, "box").ok());
  const Status outside = check_inside(make_box({{0, 10}, {5, 21}}), shape, "the reader's box");
  EXPECT_EQ(outside.code(), Code::shape);
  EXPECT_NE(outside.text().find("dimension 1"), std::string::npos) << outside.text();
  EXPECT_NE(outside.text().find("the reader's box [0, 10) x [5, 21)"), std::string::npos) << outside.text();
  EXPECT_EQ(check_inside(make_box({{-1, 3}, {0, 1}}), shape, "box").code(), Code::shape);
  EXPECT_EQ(check_inside(make_box({{3, 2}, {0, 1}}), shape, "box").code(), Code::shape);
  EXPECT_EQ(check_inside(make_box({{0, 1}}), shape, "box").code(), Code::shape);
}

TEST(CopyPlan, MergesWhatIsContiguousInBoth) {
  const Box array = make_box({{0, 6}, {0, 7}, {0, 8}});
  EXPECT_EQ(plan_copy(array, array, 4).runs(), 1U);
  const CopyPlan planes = plan_copy(array, make_box({{2, 5}, {0, 7}, {0, 8}}), 4);
  EXPECT_EQ(planes.runs(), 1U);
  EXPECT_EQ(planes.source_offset, 2U * 7 * 8 * 4);
  const CopyPlan rows = plan_copy(array, make_box({{2, 5}, {1, 4}, {0, 8}}), 4);
  EXPECT_EQ(rows.runs(), 3U);
  EXPECT_EQ(rows.run_bytes, 3U * 8 * 4);
  const CopyPlan columns = plan_copy(array, make_box({{0, 6}, {0, 7}, {3, 4}}), 4);
  EXPECT_EQ(columns.run_bytes, 4U);
  EXPECT_EQ(columns.loop_count, 1);  // both outer dimensions are one loop
  EXPECT_EQ(columns.loops[0].count, 42U);
}

TEST(CopyPlan, BeyondTwoToThe31) {
  const std::int64_t extent = std::int64_t{1} << 20;
  const Box array = make_box({{0, extent}, {0, extent}});
  const CopyPlan plan = plan_copy(array, make_box({{extent - 1, extent}, {extent - 10, extent}}), 8);
  EXPECT_EQ(plan.run_bytes, 80U);
  EXPECT_EQ(plan.source_offset, 8 * ((std::uint64_t{1} << 40) - 10));
}

TEST(CopyPlan, TooLargeIsALimit) {
  const std::int64_t extent = std::int64_t{1} << 40;
  EXPECT_EQ(box_bytes(make_box({{0, extent}, {0, extent}}), 8).code(), Code::limit);
  EXPECT_EQ(box_bytes(make_box({{0, extent}}), 8).value(), std::uint64_t{1} << 43);
}

}  // namespace
}  // namespace couplet::layout
