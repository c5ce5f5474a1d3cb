#include "halo/grid.hpp"

#include <gtest/gtest.h>

namespace couplet::halo {
namespace {

Grid grid_of(const GridTerms& terms, std::int32_t ranks) {
  auto made = Grid::create(terms, ranks);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return *std::move(made);
}

std::string refusal(const GridTerms& terms, std::int32_t ranks) {
  const auto made = Grid::create(terms, ranks);
  EXPECT_EQ(made.code(), Code::argument);
  return made.status().text();
}

TEST(Grid, BlocksAreAsEvenAsPossible) {
  const Grid grid = grid_of({.dimensions = 1, .cells = {10}}, 4);
  std::vector<std::int64_t> starts(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) starts[static_cast<std::size_t>(rank)] = grid.box(rank).start[0];
  EXPECT_EQ(starts, (std::vector<std::int64_t>{0, 3, 6, 8}));
  EXPECT_EQ(grid.box(3).stop[0], 10);
  EXPECT_EQ(grid.smallest_block(0), 2);
}

TEST(Grid, RanksAreNumberedWithTheLastDimensionFastest) {
  const Grid grid = grid_of({.dimensions = 3, .cells = {8, 8, 8}, .blocks = {2, 3, 2}}, 12);
  EXPECT_EQ(grid.coordinates(7), (Places{1, 0, 1, 0}));
  EXPECT_EQ(grid.box(7).start[0], 4);
  EXPECT_EQ(grid.box(7).start[1], 0);
  EXPECT_EQ(grid.box(7).start[2], 4);
}

TEST(Grid, ItsBlocksCoverEachCellOnce) {
  const Grid grid = grid_of({.dimensions = 2, .cells = {7, 5}, .blocks = {3, 2}}, 6);
  std::vector<int> seen(35, 0);
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    const layout::Box box = grid.box(rank);
    for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
      for (std::int64_t column = box.start[1]; column < box.stop[1]; ++column) {
        ++seen[static_cast<std::size_t>(row * 5 + column)];
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(35, 1));
}

TEST(Grid, BlocksCanBeGivenOneByOne) {
  const GridTerms terms{.dimensions = 2, .cells = {10, 6}, .blocks = {3, 2}, .block_cells = {1, 7, 2, 4, 2}};
  const Grid grid = grid_of(terms, 6);
  EXPECT_EQ(layout::to_string(grid.box(3)), "[1, 8) x [4, 6)");
  EXPECT_EQ(grid.smallest_block(0), 1);
  EXPECT_EQ(grid.smallest_block(1), 2);
  GridTerms other = terms;
  other.block_cells = {2, 6, 2, 4, 2};
  EXPECT_NE(grid_of(other, 6).describe(), grid.describe());
}

TEST(Grid, NeighborsWrapAroundInPeriodicDimensionsOnly) {
  const Grid grid = grid_of({.dimensions = 2, .cells = {6, 6}, .blocks = {2, 3}, .is_periodic = {false, true}}, 6);
  EXPECT_EQ(grid.neighbor(0, {1, 0}), 3);
  EXPECT_EQ(grid.neighbor(0, {-1, 0}), -1);
  EXPECT_EQ(grid.neighbor(0, {0, -1}), 2);
  EXPECT_EQ(grid.neighbor(5, {0, 1}), 3);
  EXPECT_EQ(grid.neighbor(0, {1, -4}), 5);
  EXPECT_EQ(grid.neighbor(0, {2, 0}), -1);
}

TEST(Grid, ARankCanBeItsOwnNeighbor) {
  const Grid grid = grid_of({.dimensions = 2, .cells = {6, 6}, .blocks = {1, 1}, .is_periodic = {true, false}}, 1);
  EXPECT_EQ(grid.neighbor(0, {1, 0}), 0);
  EXPECT_EQ(grid.neighbor(0, {0, 1}), -1);
  EXPECT_TRUE(grid.has_neighbors(0));
  EXPECT_FALSE(grid.has_neighbors(1));
}

TEST(Grid, RefusesWhatIsNoGrid) {
  EXPECT_NE(refusal({.dimensions = 5}, 1).find("1 to 4 dimensions, not 5"), std::string::npos);
  EXPECT_NE(refusal({.dimensions = 1, .cells = {0}}, 1).find("dimension 0, not 0"), std::string::npos);
  EXPECT_NE(refusal({.dimensions = 1, .cells = {3}}, 4).find("into 4 blocks"), std::string::npos);
  EXPECT_NE(refusal({.dimensions = 1, .cells = {3}}, 0).find("at least 1 rank"), std::string::npos);
  EXPECT_NE(refusal({.dimensions = 2, .cells = {9, 9}, .blocks = {2, 0}}, 3).find("into 3 blocks"), std::string::npos);
  EXPECT_NE(refusal({.dimensions = 1, .cells = {9}, .blocks = {-1}}, 3).find("-1 blocks"), std::string::npos);
}

TEST(Grid, RefusesBlocksThatDoNotFillIt) {
  GridTerms terms{.dimensions = 1, .cells = {10}, .blocks = {3}, .block_cells = {4, 4}};
  EXPECT_NE(refusal(terms, 3).find("block 2 of dimension 0 has 0 cells"), std::string::npos);
  terms.block_cells = {4, 4, 1};
  EXPECT_NE(refusal(terms, 3).find("9 cells together, and the grid has 10"), std::string::npos);
  terms.block_cells = {4, 7, 1};
  EXPECT_NE(refusal(terms, 3).find("block 1 of dimension 0 has 7 cells, where 1 to 6"), std::string::npos);
  terms.block_cells = {4, 4, 2, 1};
  EXPECT_NE(refusal(terms, 3).find("4 blocks are given"), std::string::npos);
  terms.blocks = {0};
  EXPECT_NE(refusal(terms, 3).find("not how many"), std::string::npos);
}

// The error named as many blocks as ranks, and not as many as the grid has.
TEST(Grid, WhoseBlocksAreGivenNeedsAsManyRanks) {
  GridTerms terms{.dimensions = 2, .cells = {4, 4}, .blocks = {2, 1}};
  EXPECT_EQ(refusal(terms, 1),
            "the number of blocks of the grid is 2 (2 x 1), and the number of ranks is 1; there must be one block for "
            "each rank");
  terms.blocks = {1, 1};
  EXPECT_NE(refusal(terms, 4).find("is 1 (1 x 1), and the number of ranks is 4"), std::string::npos);
}

TEST(Grid, TakesNoMemoryForEachOfManyBlocks) {
  constexpr std::int64_t many = std::int64_t{1} << 40U;
  const Grid grid = grid_of({.dimensions = 1, .cells = {many}}, INT32_MAX);
  EXPECT_EQ(grid.box(INT32_MAX - 1).stop[0], many);
  EXPECT_EQ(grid.box(7).start[0], grid.box(6).stop[0]);
  EXPECT_EQ(grid.smallest_block(0), many / INT32_MAX);
}

TEST(Grid, NumbersDimensionsAsFortranDoesIfItIsTold) {
  GridTerms terms{.dimensions = 3, .cells = {2, 3, 0}, .is_fortran = true};
  EXPECT_NE(refusal(terms, 1).find("cells in dimension 1, not 0"), std::string::npos);
  terms.cells = {2, 3, 4};
  EXPECT_NE(refusal(terms, 99).find("4 x 3 x 2 cells cannot be divided into 99 blocks"), std::string::npos);
  terms.blocks = {9, 0, 0};
  EXPECT_NE(refusal(terms, 9).find("in dimension 3 cannot be divided into 9 blocks"), std::string::npos);
  terms = {.dimensions = 2, .cells = {4, 10}, .blocks = {1, 3}, .is_fortran = true, .block_cells = {4, 4, 7, 1}};
  EXPECT_NE(refusal(terms, 3).find("block 2 of dimension 1 has 7 cells"), std::string::npos);
  terms.block_cells = {4, 4, 4, 2};
  EXPECT_EQ(grid_of(terms, 3).describe(),
            grid_of({.dimensions = 2, .cells = {4, 10}, .blocks = {1, 3}, .block_cells = {4, 4, 4, 2}}, 3).describe());
}

}  // namespace
}  // namespace couplet::halo
