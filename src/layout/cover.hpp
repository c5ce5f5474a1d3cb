// A few boxes that contain given points of an array: what has to be copied so that all of the points are there.
// Pure arithmetic. Neighbours: box.hpp. Tests: tests/unit/layout/cover_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/box.hpp"

namespace couplet::layout {

// Points that are at most so many elements apart in a row share a box: a box costs about as much as copying that many
// elements.
inline constexpr std::int64_t max_covered_gap = 64;

// Disjoint boxes inside [0, shape) that together contain all `points` (flat indices in C order, ascending, distinct,
// inside the shape), and as few other elements as at most `max_boxes` (at least 1) boxes allow.
[[nodiscard]] std::vector<Box> cover_points(std::span<const std::int64_t> points, std::span<const std::int64_t> shape,
                                            std::size_t max_boxes);

}  // namespace couplet::layout
