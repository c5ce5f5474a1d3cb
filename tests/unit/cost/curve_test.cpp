#include "cost/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace couplet::cost {
namespace {

TEST(Curve, IsStraightBetweenItsPointsAndGoesOnAboveTheLast) {
  const Curve way{{{.bytes = 100, .time_s = 1}, {.bytes = 200, .time_s = 3}, {.bytes = 400, .time_s = 4}}};
  EXPECT_DOUBLE_EQ(way.seconds(0), 1);
  EXPECT_DOUBLE_EQ(way.seconds(100), 1);
  EXPECT_DOUBLE_EQ(way.seconds(150), 2);
  EXPECT_DOUBLE_EQ(way.seconds(200), 3);
  EXPECT_DOUBLE_EQ(way.seconds(300), 3.5);
  EXPECT_DOUBLE_EQ(way.seconds(800), 6);
}

TEST(Curve, DoesNotFallAboveItsLastPoint) {
  const Curve way{{{.bytes = 100, .time_s = 2}, {.bytes = 200, .time_s = 1}}};
  EXPECT_DOUBLE_EQ(way.seconds(150), 1.5);
  EXPECT_DOUBLE_EQ(way.seconds(1'000'000), 1);
  const Curve alone{{{.bytes = 8, .time_s = 2}}};
  EXPECT_DOUBLE_EQ(alone.seconds(any_bytes), 2);
}

// Sizes and times that no file may have: the straight line through such points leaves the range of numbers.
TEST(Curve, IsANumberWhateverItsPointsAre) {
  constexpr double huge_s = 1.7e308;
  for (const double time_s : {huge_s, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    for (const Curve& way : {Curve{{{.bytes = 100, .time_s = 0}, {.bytes = 101, .time_s = time_s}}},
                             Curve{{{.bytes = 100, .time_s = time_s}, {.bytes = 101, .time_s = 0}}},
                             Curve{{{.bytes = 0, .time_s = time_s}}},
                             Curve{{{.bytes = 0, .time_s = time_s}, {.bytes = 1, .time_s = time_s}}}}) {
      for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{4} << 20U, any_bytes}) {
        EXPECT_TRUE(std::isfinite(way.seconds(bytes)) && way.seconds(bytes) >= 0) << time_s << " at " << bytes;
      }
    }
  }
}

TEST(Cheapest, OrdersAllWaysWhateverTheirPointsAre) {
  const Curve good{{{.bytes = 0, .time_s = 1e-6}}};
  for (const double time_s : {1.7e308, HUGE_VAL, std::nan("")}) {
    const Curve bad{{{.bytes = 100, .time_s = 0}, {.bytes = 101, .time_s = time_s}}};
    const Curve* const ways[] = {&bad, &bad, &good};
    EXPECT_EQ(order_at(ways, 4U << 20U), (std::vector<std::size_t>{2, 0, 1})) << time_s;
    for (const Range& range : cheapest(ways)) EXPECT_EQ(range.order.size(), 3U) << time_s;
    const Curve* const only_bad[] = {&bad, &bad};
    EXPECT_EQ(order_at(only_bad, 4U << 20U), (std::vector<std::size_t>{0, 1})) << time_s;
  }
}

TEST(Cheapest, ChangesWhereTheLinesCross) {
  // 10 + bytes against 1000: the first one is better up to 990, and ties until it is 3 % more expensive.
  const Curve rising{{{.bytes = 0, .time_s = 10}, {.bytes = 1000, .time_s = 1010}}};
  const Curve flat{{{.bytes = 0, .time_s = 1000}}};
  const Curve* const ways[] = {&rising, &flat};
  const auto ranges = cheapest(ways);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].order, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(ranges[0].max_bytes, 1020U);
  EXPECT_EQ(ranges[1].order, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(ranges[1].max_bytes, any_bytes);
}

TEST(Cheapest, GivesTiesToTheOrderOfTheList) {
  const Curve one{{{.bytes = 0, .time_s = 1.02}}};
  const Curve other{{{.bytes = 0, .time_s = 1.0}}};
  const Curve* const ways[] = {&one, &other};
  const auto ranges = cheapest(ways);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].order.front(), 0U);
  const Curve* const reversed[] = {&other, &one};
  EXPECT_EQ(cheapest(reversed).front().order.front(), 0U);
  EXPECT_TRUE(cheapest({}).empty());
}

TEST(Cheapest, AgreesWithEachSizeLookedAtAlone) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<Curve> envelopes(1 + random() % 4);
    std::vector<const Curve*> ways;
    for (Curve& way : envelopes) {
      std::uint64_t bytes = random() % 50;
      for (std::size_t point = 1 + random() % 5; point > 0; --point) {
        way.points.push_back({.bytes = bytes, .time_s = static_cast<double>(random() % 1000) * 1e-6});
        bytes += 1 + random() % 400;
      }
      ways.push_back(&way);
    }
    const auto ranges = cheapest(ways);
    ASSERT_EQ(ranges.back().max_bytes, any_bytes);
    std::size_t range = 0;
    for (std::uint64_t bytes = 0; bytes < 3000; ++bytes) {
      while (bytes > ranges[range].max_bytes) ++range;
      // Next to a crossing, rounding may decide either way: the costs are then the same.
      const std::size_t expected = order_at(ways, bytes).front();
      const std::size_t found = ranges[range].order.front();
      const double least = ways[expected]->seconds(bytes);
      ASSERT_LE(ways[found]->seconds(bytes), least * (1 + tie_share) * (1 + 1e-9) + 1e-15)
          << "round " << round << ", " << bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace couplet::cost
