// Times in seconds, element types and pseudo-random numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/random.hpp"
#include "base/seconds.hpp"
#include "base/types.hpp"

namespace couplet {
namespace {

TEST(Seconds, AreConvertedAndNeverOverflow) {
  EXPECT_EQ(nanoseconds_of(1.5), 1'500'000'000U);
  EXPECT_EQ(nanoseconds_of(0), 0U);
  EXPECT_EQ(nanoseconds_of(-1), 0U);
  EXPECT_EQ(nanoseconds_of(1e-10), 0U);
  EXPECT_EQ(nanoseconds_of(std::nan("")), 0U);
  EXPECT_EQ(nanoseconds_of(std::numeric_limits<double>::infinity()), UINT64_MAX);
  EXPECT_EQ(nanoseconds_of(1e300), UINT64_MAX);
  EXPECT_EQ(nanoseconds_of(9.3e9), UINT64_MAX);  // 294 years
  EXPECT_LT(nanoseconds_of(9.2e9), max_countable_ns);
}

TEST(Types, EachTypeOfTheHeaderHasItsSize) {
  EXPECT_EQ(find_type(COUPLET_FLOAT)->element_bytes, sizeof(float));
  EXPECT_EQ(find_type(COUPLET_DOUBLE)->element_bytes, sizeof(double));
  EXPECT_EQ(find_type(COUPLET_INT64)->element_bytes, 8U);
  EXPECT_EQ(find_type(COUPLET_COMPLEX_DOUBLE)->element_bytes, 16U);
  EXPECT_EQ(find_type(COUPLET_COMPLEX_DOUBLE)->swap_bytes, 8U);
  EXPECT_EQ(find_type(COUPLET_BYTE)->swap_bytes, 1U);
}

TEST(Types, ANumberThatIsNoTypeIsNotFound) {
  EXPECT_EQ(find_type(-1), nullptr);
  EXPECT_EQ(find_type(static_cast<couplet_type>(type_table.size())), nullptr);
  EXPECT_EQ(find_type(std::numeric_limits<couplet_type>::max()), nullptr);
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Random first(5);
  Random second(5);
  std::set<std::uint64_t> seen;
  for (int count = 0; count < 1000; ++count) {
    const std::uint64_t number = first.next();
    EXPECT_EQ(number, second.next());
    seen.insert(number);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(Random, NumbersAreInTheirBounds) {
  Random random(9);
  EXPECT_EQ(random.below(0), 0U);
  std::set<std::uint64_t> seen;
  int hits = 0;
  for (int count = 0; count < 2000; ++count) {
    const std::uint64_t number = random.between(3, 7);
    EXPECT_GE(number, 3U);
    EXPECT_LE(number, 7U);
    seen.insert(number);
    hits += random.chance(0.25) ? 1 : 0;
  }
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_GT(hits, 400);
  EXPECT_LT(hits, 600);
  EXPECT_FALSE(random.chance(0));
  EXPECT_TRUE(random.chance(1));
}

}  // namespace
}  // namespace couplet
