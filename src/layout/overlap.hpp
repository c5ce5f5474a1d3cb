// Finds two boxes of many that share an element.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "layout/box.hpp"

namespace couplet::layout {

// The indices of two boxes, the lower one first.
struct Overlap {
  std::size_t first = 0;
  std::size_t second = 0;
};

// Returns any two boxes that share an element, or nothing if they are disjoint. All have the same number of dimensions;
// empty ones share nothing. Takes n log n time for decompositions whose boxes can be divided by planes in any of the
// dimensions.
[[nodiscard]] std::optional<Overlap> find_overlap(std::span<const Box> boxes);

}  // namespace couplet::layout
