// halo: turns a grid that is divided into blocks, and arrays that hold a block with some cells around it, into the
// edges of one exchange. capi is above it; exchange, layout and base are below it. Invariants: the grid and what
// follows from it are pure functions of terms that all ranks give alike; both ends of an edge compute it from the block
// that receives; the title of an edge has all terms, so that ranks which disagree find out when they freeze. Decision:
// docs/decisions/0035. Tests: tests/unit/halo, tests/conformance/exchange/halo_test.cpp, tests/universe/test_halo.py.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "layout/box.hpp"

namespace couplet::halo {

inline constexpr int max_grid_dimensions = 4;

// A number for each dimension, slowest first as in C.
using Places = std::array<std::int64_t, max_grid_dimensions>;
using Flags = std::array<bool, max_grid_dimensions>;

// What all ranks give alike.
struct GridTerms {
  int dimensions = 0;
  Places cells{};   // the extents of the whole grid
  Places blocks{};  // how many there are in each dimension; 0: chosen
  Flags is_periodic{};
  // Texts number dimensions and cells as Fortran does: from 1, and the fastest dimension first.
  bool is_fortran = false;
  // The cells of the blocks in dimension 0, then of those in dimension 1, and so on. Empty: as even as possible.
  std::vector<std::int64_t> block_cells{};
};

// A grid of cells, divided into one block for each rank. Ranks are numbered with the last dimension fastest.
class Grid {
 public:
  // Chooses the numbers of blocks that are 0 so that blocks have few cells at their faces. Returns argument if the
  // terms are wrong, or if the grid cannot be divided into that many blocks of at least one cell.
  static Result<Grid> create(const GridTerms& terms, std::int32_t rank_count);

  [[nodiscard]] int dimensions() const noexcept { return terms_.dimensions; }
  [[nodiscard]] std::int64_t cells(int dimension) const noexcept { return terms_.cells[index(dimension)]; }
  [[nodiscard]] std::int64_t blocks(int dimension) const noexcept { return terms_.blocks[index(dimension)]; }
  [[nodiscard]] bool is_periodic(int dimension) const noexcept { return terms_.is_periodic[index(dimension)]; }
  [[nodiscard]] std::int32_t rank_count() const noexcept { return rank_count_; }
  // The number of a dimension in texts, and that of the first cell or element.
  [[nodiscard]] int number_of(int dimension) const noexcept {
    return terms_.is_fortran ? terms_.dimensions - dimension : dimension;
  }
  [[nodiscard]] int first_number() const noexcept { return terms_.is_fortran ? 1 : 0; }
  // The cells of the smallest block in the dimension.
  [[nodiscard]] std::int64_t smallest_block(int dimension) const;
  // Has any block a neighbour in this dimension? It may be the block itself.
  [[nodiscard]] bool has_neighbors(int dimension) const noexcept {
    return blocks(dimension) > 1 || is_periodic(dimension);
  }

  // The cells of a block. REQUIRES: 0 <= rank < rank_count().
  [[nodiscard]] layout::Box box(std::int32_t rank) const;
  // Which block of each dimension it is.
  [[nodiscard]] Places coordinates(std::int32_t rank) const;
  // The rank of the block that is so many blocks away; -1 if that is beyond the grid.
  [[nodiscard]] std::int32_t neighbor(std::int32_t rank, const Places& offset) const;
  // "30 x 40 cells in 2 x 3 blocks, periodic in 1", in the order of C; the same for the same terms only.
  [[nodiscard]] std::string describe() const;

 private:
  explicit Grid(GridTerms terms) : terms_(std::move(terms)) {}
  static std::size_t index(int dimension) noexcept { return static_cast<std::size_t>(dimension); }
  Status divide(std::int32_t rank_count);

  GridTerms terms_;
  // The first cell of the block `block` of the dimension; for the number of blocks, the number of cells.
  [[nodiscard]] std::int64_t cut(int dimension, std::int64_t block) const noexcept;
  std::int32_t rank_count_ = 0;
  // For each dimension: the first cell of each block, and at last the number of cells. Empty: as even as possible.
  std::array<std::vector<std::int64_t>, max_grid_dimensions> cuts_;
};

// "dimension 2", as texts about a grid of these terms number it.
[[nodiscard]] int number_of(const GridTerms& terms, int dimension);
// "30 x 40", in the order of those texts.
[[nodiscard]] std::string extents_of(const GridTerms& terms, const Places& numbers);
// "3, 0, -1": the first `count` numbers.
[[nodiscard]] std::string list_of(const Places& numbers, int count, const char* separator = ", ");

}  // namespace couplet::halo
