#include "layout/cover.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace couplet::layout {
namespace {

using Points = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;

Points elements_of(const Box& box, const Shape& shape) {
  Points elements;
  std::array<std::int64_t, max_dimensions> at = box.start;
  for (std::uint64_t count = box.elements(); count > 0; --count) {
    std::int64_t flat = 0;
    for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
      flat = flat * shape[dimension] + at[dimension];
    }
    elements.push_back(flat);
    for (std::size_t dimension = shape.size(); dimension-- > 0;) {
      if (++at[dimension] < box.stop[dimension]) {
        break;
      }
      at[dimension] = box.start[dimension];
    }
  }
  return elements;
}

// Checks what is promised; returns how many elements the boxes have.
std::size_t expect_covered(const Points& points, const Shape& shape, std::size_t max_boxes) {
  const auto boxes = cover_points(points, shape, max_boxes);
  EXPECT_LE(boxes.size(), max_boxes);
  std::set<std::int64_t> covered;
  std::size_t elements = 0;
  for (const Box& box : boxes) {
    EXPECT_TRUE(check_inside(box, shape, "box").ok());
    const Points own = elements_of(box, shape);
    elements += own.size();
    covered.insert(own.begin(), own.end());
  }
  EXPECT_EQ(covered.size(), elements) << "the boxes overlap";
  for (const std::int64_t point : points) {
    EXPECT_TRUE(covered.contains(point)) << point;
  }
  return elements;
}

TEST(Cover, NoPointsNeedNoBox) {
  EXPECT_TRUE(cover_points({}, Shape{3, 4}, 8).empty());
}

TEST(Cover, ARectangleIsOneBox) {
  Points points;
  for (std::int64_t row = 10; row < 50; ++row) {
    for (std::int64_t column = 100; column < 200; ++column) {
      points.push_back(row * 1000 + column);
    }
  }
  EXPECT_EQ(cover_points(points, Shape{60, 1000}, 8).size(), 1U);
  EXPECT_EQ(expect_covered(points, {60, 1000}, 8), points.size());
}

TEST(Cover, PointsFarApartInARowAreCopiedAlone) {
  EXPECT_EQ(expect_covered({5, 90000, 200000}, {1000000}, 8), 3U);
  EXPECT_EQ(cover_points(Points{5, 5 + 64}, Shape{1000}, 8).size(), 1U);  // a gap of 63 elements costs less than a box
}

TEST(Cover, TooManyRunsGrowTogetherUntilTheyFit) {
  Points points;
  for (std::int64_t index = 0; index < 300; ++index) {
    points.push_back(index * 200);
  }
  EXPECT_EQ(expect_covered(points, {60000}, 300), 300U);
  EXPECT_LE(expect_covered(points, {60000}, 10), 60000U);
}

TEST(Cover, AStaircaseOfManyRowsBecomesSlabs) {
  Points points;
  for (std::int64_t row = 0; row < 400; ++row) {
    points.push_back(row * 2000 + row);
    points.push_back(row * 2000 + row + 1500);
  }
  const std::size_t elements = expect_covered(points, {400, 2000}, 20);
  EXPECT_LE(elements, 400U * 1520);
}

TEST(Cover, RandomPointsOfThreeDimensionsAreAllThere) {
  std::mt19937 random(7);
  const Shape shape = {7, 11, 130};
  for (int round = 0; round < 30; ++round) {
    std::set<std::int64_t> chosen;
    while (chosen.size() < 40) {
      chosen.insert(static_cast<std::int64_t>(random() % (7 * 11 * 130)));
    }
    const Points points(chosen.begin(), chosen.end());
    for (const std::size_t max_boxes : {std::size_t{1}, std::size_t{3}, std::size_t{20}, std::size_t{100}}) {
      expect_covered(points, shape, max_boxes);
    }
  }
}

}  // namespace
}  // namespace couplet::layout
