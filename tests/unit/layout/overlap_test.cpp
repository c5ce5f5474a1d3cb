#include "layout/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace couplet::layout {
namespace {

Box make(std::initializer_list<std::int64_t> starts, std::initializer_list<std::int64_t> stops) {
  Box box;
  box.dimensions = static_cast<int>(starts.size());
  std::copy(starts.begin(), starts.end(), box.start.begin());
  std::copy(stops.begin(), stops.end(), box.stop.begin());
  return box;
}

TEST(FindOverlap, DisjointBoxesHaveNone) {
  EXPECT_FALSE(find_overlap({}));
  const std::vector<Box> boxes = {make({0, 0}, {2, 2}), make({0, 2}, {2, 4}), make({2, 0}, {4, 4}),
                                  make({1, 1}, {1, 9})};  // the last one is empty
  EXPECT_FALSE(find_overlap(boxes));
}

TEST(FindOverlap, NamesTheTwo) {
  const std::vector<Box> boxes = {make({0, 0}, {2, 2}), make({5, 5}, {9, 9}), make({1, 1}, {3, 3})};
  const auto found = find_overlap(boxes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 0U);
  EXPECT_EQ(found->second, 2U);
}

// A review measured 212 ms for 4,096 columns, growing with the square: 100 ranks with so many boxes took minutes. The
// quadratic search needs 8e10 comparisons here, and does not end within the test's limit.
TEST(FindOverlap, FourHundredThousandWholeColumnsAreSearchedAtOnce) {
  constexpr std::int64_t count = 409'600;
  std::vector<Box> boxes;
  for (std::int64_t column = 0; column < count; ++column) {
    boxes.push_back(make({0, column, 0}, {1000, column + 1, 50}));
  }
  std::shuffle(boxes.begin(), boxes.end(), std::mt19937(7));
  EXPECT_FALSE(find_overlap(boxes));
  Box wrong = boxes.back();
  wrong.stop[1] += 1;  // it reaches into its neighbour, or beyond the array
  wrong.start[1] -= 1;
  boxes.push_back(wrong);
  EXPECT_TRUE(find_overlap(boxes));
}

// Bricks: no plane crosses the wall in the second dimension.
TEST(FindOverlap, StaggeredRowsAreDisjoint) {
  std::vector<Box> boxes;
  for (std::int64_t row = 0; row < 200; ++row) {
    for (std::int64_t brick = 0; brick < 200; ++brick) {
      const std::int64_t start = brick * 10 + row % 2 * 5;
      boxes.push_back(make({row, start}, {row + 1, start + 10}));
    }
  }
  EXPECT_FALSE(find_overlap(boxes));
  boxes.push_back(make({100, 500}, {102, 501}));
  EXPECT_TRUE(find_overlap(boxes));
}

TEST(FindOverlap, AgreesWithComparingAllPairs) {
  std::mt19937 random(11);
  int disjoint = 0;
  for (int round = 0; round < 300; ++round) {
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    std::vector<Box> boxes;
    const int count = 20 + static_cast<int>(random() % 60);
    for (int number = 0; number < count; ++number) {
      const std::int64_t row = below(100);
      const std::int64_t column = below(100);
      const std::int64_t layer = below(100);
      boxes.push_back(make({row, column, layer}, {row + below(9), column + below(9), layer + below(9)}));
    }
    bool expected = false;
    for (std::size_t a = 0; a < boxes.size(); ++a) {
      for (std::size_t b = a + 1; b < boxes.size(); ++b) {
        expected = expected || intersect(boxes[a], boxes[b]).has_value();
      }
    }
    const auto found = find_overlap(boxes);
    ASSERT_EQ(found.has_value(), expected);
    if (found) {
      ASSERT_LT(found->first, found->second);
      ASSERT_TRUE(intersect(boxes[found->first], boxes[found->second]));
    } else {
      ++disjoint;
    }
  }
  EXPECT_GT(disjoint, 10);
  EXPECT_LT(disjoint, 290);
}

// The leaves of a random tree of cuts: most planes cut many of them. A search that copies boxes to both sides of such
// planes without a bound takes 2^n steps.
TEST(FindOverlap, LeavesOfRandomCutsAreDisjoint) {
  std::mt19937 random(5);
  std::vector<Box> boxes = {make({0, 0, 0, 0}, {1 << 20, 1 << 20, 1 << 20, 1 << 20})};
  while (boxes.size() < 3000) {
    const std::size_t at = random() % boxes.size();
    const std::size_t dimension = random() % 4;
    Box& lower = boxes[at];
    if (lower.stop[dimension] - lower.start[dimension] < 2) {
      continue;
    }
    Box upper = lower;
    const std::int64_t middle = lower.start[dimension] + (lower.stop[dimension] - lower.start[dimension]) / 2;
    lower.stop[dimension] = middle;
    upper.start[dimension] = middle;
    boxes.push_back(upper);
  }
  EXPECT_FALSE(find_overlap(boxes));
  Box wrong = boxes.front();
  wrong.start[0] = wrong.stop[0] - 1;
  boxes.push_back(wrong);
  EXPECT_TRUE(find_overlap(boxes));
}

// No plane divides boxes around one point.
TEST(FindOverlap, BoxesAroundOnePointAreFoundAtOnce) {
  std::vector<Box> boxes;
  for (std::int64_t size = 1; size < 2000; ++size) {
    boxes.push_back(make({-size, -size, -size}, {size, size, size}));
  }
  EXPECT_TRUE(find_overlap(boxes));
}

// Bars along each of three axes, none of which meets another. Planes divide them only with many cuts.
TEST(FindOverlap, CrossingBarsAreDisjoint) {
  std::vector<Box> boxes;
  for (std::int64_t a = 0; a < 40; ++a) {
    for (std::int64_t b = 0; b < 40; ++b) {
      boxes.push_back(make({0, 4 * a, 4 * b}, {160, 4 * a + 1, 4 * b + 1}));
      boxes.push_back(make({4 * a, 0, 4 * b + 2}, {4 * a + 1, 160, 4 * b + 3}));
      boxes.push_back(make({4 * a + 2, 4 * b + 2, 0}, {4 * a + 3, 4 * b + 3, 160}));
    }
  }
  const auto found = find_overlap(boxes);
  bool expected = false;
  for (std::size_t a = 0; a < boxes.size() && !expected; ++a) {
    for (std::size_t b = a + 1; b < boxes.size() && !expected; ++b) {
      expected = intersect(boxes[a], boxes[b]).has_value();
    }
  }
  EXPECT_EQ(found.has_value(), expected);
}

}  // namespace
}  // namespace couplet::layout
