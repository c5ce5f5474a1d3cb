#include "halo/division.hpp"

#include <gtest/gtest.h>

namespace couplet::halo {
namespace {

Places blocks_of(const GridTerms& terms, std::int32_t ranks) {
  const auto chosen = choose_blocks(terms, ranks);
  EXPECT_TRUE(chosen.ok()) << chosen.status().text();
  return *chosen;
}

TEST(Division, ASquareIsDividedAlike) {
  EXPECT_EQ(blocks_of({.dimensions = 2, .cells = {100, 100}}, 16), (Places{4, 4, 0, 0}));
  EXPECT_EQ(blocks_of({.dimensions = 3, .cells = {60, 60, 60}}, 8), (Places{2, 2, 2, 0}));
}

TEST(Division, ALongGridIsDividedAlongItsLength) {
  EXPECT_EQ(blocks_of({.dimensions = 2, .cells = {10, 1000}}, 4), (Places{1, 4, 0, 0}));
}

TEST(Division, TiesGoToTheSlowestDimension) {
  EXPECT_EQ(blocks_of({.dimensions = 2, .cells = {100, 100}}, 2), (Places{2, 1, 0, 0}));
}

TEST(Division, GivenNumbersAreKept) {
  EXPECT_EQ(blocks_of({.dimensions = 2, .cells = {100, 100}, .blocks = {1, 0}}, 4), (Places{1, 4, 0, 0}));
}

TEST(Division, NoBlockIsEmpty) {
  EXPECT_EQ(blocks_of({.dimensions = 2, .cells = {2, 50}}, 8), (Places{1, 8, 0, 0}));
  EXPECT_EQ(choose_blocks({.dimensions = 2, .cells = {2, 3}}, 7).code(), Code::argument);
}

TEST(Division, AsManyRanksAsCanBeCountedAreDividedAtOnce) {
  constexpr std::int32_t prime = INT32_MAX;
  constexpr std::int64_t many = std::int64_t{1} << 40U;
  EXPECT_EQ(blocks_of({.dimensions = 1, .cells = {many}}, prime), (Places{prime, 0, 0, 0}));
  EXPECT_EQ(blocks_of({.dimensions = 3, .cells = {100, many, 100}}, prime), (Places{1, prime, 1, 0}));
  EXPECT_EQ(choose_blocks({.dimensions = 3, .cells = {100, 100, 100}}, prime).code(), Code::argument);
}

}  // namespace
}  // namespace couplet::halo
