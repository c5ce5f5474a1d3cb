#include "layout/cover.hpp"

#include <algorithm>

namespace couplet::layout {
namespace {

// Each run of points in a row, with gaps of at most `max_gap` elements, as a box.
std::vector<Box> runs_of(std::span<const std::int64_t> points, std::span<const std::int64_t> shape,
                         std::int64_t max_gap) {
  std::vector<Box> runs;
  const std::size_t last = shape.size() - 1;
  const std::int64_t length = shape[last];
  std::int64_t row = -1;
  for (const std::int64_t point : points) {
    const std::int64_t column = point % length;
    if (point / length == row && column - runs.back().stop[last] <= max_gap) {
      runs.back().stop[last] = column + 1;
      continue;
    }
    row = point / length;
    Box& run = runs.emplace_back();
    run.dimensions = static_cast<int>(shape.size());
    run.start[last] = column;
    run.stop[last] = column + 1;
    std::int64_t rest = row;
    for (std::size_t dimension = last; dimension-- > 0; rest /= shape[dimension]) {
      run.start[dimension] = rest % shape[dimension];
      run.stop[dimension] = run.start[dimension] + 1;
    }
  }
  return runs;
}

// Joins boxes that differ only in `dimension` and touch there.
void join_along(std::size_t dimension, std::vector<Box>& boxes) {
  const auto key = [dimension](Box box) {
    box.start[dimension] = box.stop[dimension] = 0;
    return box;
  };
  const auto before = [&](const Box& a, const Box& b) {
    const Box one = key(a);
    const Box other = key(b);
    if (one.start != other.start) {
      return one.start < other.start;
    }
    return one.stop != other.stop ? one.stop < other.stop : a.start[dimension] < b.start[dimension];
  };
  std::sort(boxes.begin(), boxes.end(), before);
  std::size_t kept = 0;
  for (std::size_t index = 1; index < boxes.size(); ++index) {
    Box& last = boxes[kept];
    if (last.stop[dimension] == boxes[index].start[dimension] && key(last) == key(boxes[index])) {
      last.stop[dimension] = boxes[index].stop[dimension];
    } else {
      boxes[++kept] = boxes[index];
    }
  }
  boxes.resize(boxes.empty() ? 0 : kept + 1);
}

void widen(Box& box, const Box& other) {
  for (std::size_t dimension = 0; dimension < static_cast<std::size_t>(box.dimensions); ++dimension) {
    box.start[dimension] = std::min(box.start[dimension], other.start[dimension]);
    box.stop[dimension] = std::max(box.stop[dimension], other.stop[dimension]);
  }
}

// One box around all runs of each of `max_boxes` parts of the first dimension.
std::vector<Box> slabs_of(const std::vector<Box>& runs, std::int64_t extent, std::size_t max_boxes) {
  const auto parts = static_cast<std::int64_t>(max_boxes);
  const std::int64_t thickness = std::max<std::int64_t>((extent + parts - 1) / parts, 1);
  std::vector<Box> slabs;
  std::int64_t part = -1;
  for (const Box& run : runs) {  // in C order
    if (run.start[0] / thickness != part) {
      part = run.start[0] / thickness;
      slabs.push_back(run);
    }
    widen(slabs.back(), run);
  }
  return slabs;
}

}  // namespace

std::vector<Box> cover_points(std::span<const std::int64_t> points, std::span<const std::int64_t> shape,
                              std::size_t max_boxes) {
  if (points.empty()) {
    return {};
  }
  const std::int64_t length = shape.back();
  constexpr std::int64_t growth = 4;
  for (std::int64_t max_gap = max_covered_gap;; max_gap *= growth) {
    std::vector<Box> boxes = runs_of(points, shape, max_gap);
    for (std::size_t dimension = shape.size() - 1; dimension-- > 0;) {
      join_along(dimension, boxes);
    }
    if (boxes.size() <= max_boxes) {
      return boxes;
    }
    if (max_gap >= length) {
      return slabs_of(runs_of(points, shape, length), shape[0], max_boxes);
    }
  }
}

}  // namespace couplet::layout
