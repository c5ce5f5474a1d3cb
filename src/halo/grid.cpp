#include "halo/grid.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "halo/division.hpp"

namespace couplet::halo {
namespace {

// Cells are counted in 64 bits, with room for widths beyond the last one.
constexpr std::int64_t max_cells = std::int64_t{1} << 48U;

Status check(const GridTerms& terms, std::int32_t rank_count) {
  if (terms.dimensions < 1 || terms.dimensions > max_grid_dimensions) {
    return fail(Code::argument, "a grid must have 1 to {} dimensions, not {}", max_grid_dimensions, terms.dimensions);
  }
  if (rank_count < 1) return fail(Code::argument, "a grid must have at least 1 rank, not {}", rank_count);
  for (int dimension = 0; dimension < terms.dimensions; ++dimension) {
    const auto place = static_cast<std::size_t>(dimension);
    if (terms.cells[place] < 1 || terms.cells[place] > max_cells) {
      return fail(Code::argument, "a grid must have 1 to {} cells in dimension {}, not {}", max_cells,
                  number_of(terms, dimension), terms.cells[place]);
    }
    if (terms.blocks[place] < 0 || terms.blocks[place] > terms.cells[place]) {
      return fail(Code::argument, "the {} of a grid in dimension {} cannot be divided into {}",
                  counted(terms.cells[place], "cell"), number_of(terms, dimension),
                  counted(terms.blocks[place], "block"));
    }
  }
  return {};
}

}  // namespace

int number_of(const GridTerms& terms, int dimension) {
  return terms.is_fortran ? terms.dimensions - dimension : dimension;
}

std::string extents_of(const GridTerms& terms, const Places& numbers) {
  Places turned = numbers;
  if (terms.is_fortran) std::reverse(turned.begin(), turned.begin() + terms.dimensions);
  return list_of(turned, terms.dimensions, " x ");
}

std::string list_of(const Places& numbers, int count, const char* separator) {
  std::string list;
  for (int place = 0; place < count; ++place) {
    list += fmt::format("{}{}", place == 0 ? "" : separator, numbers[static_cast<std::size_t>(place)]);
  }
  return list;
}

Result<Grid> Grid::create(const GridTerms& terms, std::int32_t rank_count) {
  COUPLET_TRY(check(terms, rank_count));
  Grid grid(terms);
  COUPLET_TRY(grid.divide(rank_count));
  return grid;
}

Status Grid::divide(std::int32_t rank_count) {
  const bool is_explicit = !terms_.block_cells.empty();
  for (int dimension = 0; is_explicit && dimension < dimensions(); ++dimension) {
    if (blocks(dimension) > 0) continue;
    return fail(Code::argument, "the cells of each block are given, but not how many blocks dimension {} has",
                number_of(dimension));
  }
  COUPLET_TRY_VALUE(terms_.blocks, choose_blocks(terms_, rank_count));
  rank_count_ = rank_count;
  std::size_t next = 0;
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    if (!is_explicit) continue;
    std::vector<std::int64_t>& cuts = cuts_[index(dimension)];
    cuts.assign(1, 0);
    for (std::int64_t block = 0; block < blocks(dimension); ++block, ++next) {
      const std::int64_t own = next < terms_.block_cells.size() ? terms_.block_cells[next] : 0;
      if (own < 1 || own > cells(dimension) - cuts.back()) {
        return fail(Code::argument, "block {} of dimension {} has {}, where 1 to {} are left of {}",
                    block + first_number(), number_of(dimension), counted(own, "cell"), cells(dimension) - cuts.back(),
                    cells(dimension));
      }
      cuts.push_back(cuts.back() + own);
    }
    if (cuts.back() != cells(dimension)) {
      return fail(Code::argument, "the blocks of dimension {} have {} together, and the grid has {}",
                  number_of(dimension), counted(cuts.back(), "cell"), cells(dimension));
    }
  }
  if (next == terms_.block_cells.size()) return {};
  return fail(Code::argument, "the cells of {} are given, and the dimensions have {} together",
              counted(terms_.block_cells.size(), "block"), next);
}

std::int64_t Grid::cut(int dimension, std::int64_t block) const noexcept {
  const std::vector<std::int64_t>& cuts = cuts_[index(dimension)];
  if (!cuts.empty()) return cuts[static_cast<std::size_t>(block)];
  return cells(dimension) / blocks(dimension) * block + std::min(block, cells(dimension) % blocks(dimension));
}

std::int64_t Grid::smallest_block(int dimension) const {
  const std::vector<std::int64_t>& cuts = cuts_[index(dimension)];
  if (cuts.empty()) return cells(dimension) / blocks(dimension);
  std::int64_t smallest = cells(dimension);
  for (std::size_t block = 1; block < cuts.size(); ++block)
    smallest = std::min(smallest, cuts[block] - cuts[block - 1]);
  return smallest;
}

Places Grid::coordinates(std::int32_t rank) const {
  Places found{};
  std::int64_t rest = rank;
  for (int dimension = dimensions() - 1; dimension >= 0; --dimension) {
    found[index(dimension)] = rest % blocks(dimension);
    rest /= blocks(dimension);
  }
  return found;
}

layout::Box Grid::box(std::int32_t rank) const {
  const Places own = coordinates(rank);
  layout::Box box;
  box.dimensions = dimensions();
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    const std::size_t place = index(dimension);
    box.start[place] = cut(dimension, own[place]);
    box.stop[place] = cut(dimension, own[place] + 1);
  }
  return box;
}

std::int32_t Grid::neighbor(std::int32_t rank, const Places& offset) const {
  const Places own = coordinates(rank);
  std::int64_t found = 0;
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    const std::size_t place = index(dimension);
    const std::int64_t count = blocks(dimension);
    std::int64_t there = own[place] + offset[place] % count;
    if (is_periodic(dimension)) {
      there = (there + count) % count;
    } else {
      there = own[place] + offset[place];
      if (there < 0 || there >= count) return -1;
    }
    found = found * count + there;
  }
  return static_cast<std::int32_t>(found);
}

std::string Grid::describe() const {
  std::string text = fmt::format("{} cells in {} blocks", list_of(terms_.cells, dimensions(), " x "),
                                 list_of(terms_.blocks, dimensions(), " x "));
  const char* word = ", periodic in ";
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    if (!is_periodic(dimension)) continue;
    text += fmt::format("{}{}", word, dimension);
    word = " and ";
  }
  if (terms_.block_cells.empty()) return text;
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a: there may be more numbers than a text can have
  for (const std::int64_t own : terms_.block_cells) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((static_cast<std::uint64_t>(own) >> shift) & 0xFFU)) * 0x100000001B3U;
    }
  }
  return fmt::format("{}, given block by block ({:016x})", text, hash);
}

}  // namespace couplet::halo
