// The edges of one field, as pure functions: for each direction, which points come from which rank, and which go to it.
// Directions are -1, 0 or 1 in each dimension, as seen by the block that receives. Point i of a staggered dimension is
// at the lower side of cell i, and belongs to the block of that cell. The uppermost point of a dimension that is not
// periodic belongs to the last block; in a periodic one it is point 0. Tests: tests/unit/halo/regions_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/plan.hpp"
#include "halo/grid.hpp"

namespace couplet::halo {

// An array that holds the points of this rank's block, and some around them. A block of n cells has n points in each
// dimension, and n + 1 if the field is staggered there: the last one is that of the next block.
struct Field {
  std::string name;
  std::byte* memory = nullptr;  // the first element of the array
  std::string type_name;
  std::uint64_t element_bytes = 0;
  Places shape{};         // the extents of the array
  Places stride_bytes{};  // any, but the order of dimensions in memory is the same at all ranks
  Places first{};         // where the first point of the block is in the array
  Places below{};         // how many points come from lower blocks
  Places above{};         // and from higher ones, besides the one that a staggered field shares with them
  Flags is_staggered{};
  bool has_corners = false;  // also from blocks that share no face with this one
  std::int64_t component_count = 1;
  std::int64_t component_stride_bytes = 0;
};

// An edge, and how much of it moves if widths are limited: bytes_within[w] is the number of its first bytes that moves
// with width w; the last entry is for all larger ones.
struct LayeredEdge {
  exchange::Edge edge;
  std::vector<std::uint64_t> bytes_within;
};

// The edges of the field with that number, at this rank, in order of directions; what is empty is left out. is_layered:
// their lengths are variable, and the points that are nearest to the block that receives come first. Returns argument
// if a width is negative, or larger than the smallest block; shape if the array does not hold the block with its
// widths.
[[nodiscard]] Result<std::vector<LayeredEdge>> edges_of(const Grid& grid, std::int32_t rank, const Field& field,
                                                        std::uint32_t number, bool is_layered);
// Returns shape if the array has elements at one place, or is larger than can be counted.
[[nodiscard]] Status check_memory(int dimensions, const Field& field);
// The widest width of the field.
[[nodiscard]] std::int64_t widest(const Grid& grid, const Field& field);
// The points of the block that belong to it, in whole-grid numbers.
[[nodiscard]] layout::Box owned_points(const Grid& grid, std::int32_t rank, const Flags& is_staggered);

}  // namespace couplet::halo
