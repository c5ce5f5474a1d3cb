#include "layout/box.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace couplet::layout {

std::uint64_t Box::elements() const noexcept {
  std::uint64_t count = dimensions > 0 ? 1 : 0;
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    const auto length = static_cast<std::uint64_t>(extent(dimension));
    if (length == 0) {
      return 0;
    }
    if (__builtin_mul_overflow(count, length, &count)) {
      count = UINT64_MAX;  // the loop goes on, since a later dimension may be empty
    }
  }
  return count;
}

Box whole(std::span<const std::int64_t> shape) {
  Box box;
  box.dimensions = static_cast<int>(std::min<std::size_t>(shape.size(), max_dimensions));
  std::copy_n(shape.begin(), box.dimensions, box.stop.begin());
  return box;
}

std::optional<Box> intersect(const Box& a, const Box& b) {
  if (a.dimensions != b.dimensions || a.empty() || b.empty()) {
    return std::nullopt;
  }
  Box common;
  common.dimensions = a.dimensions;
  for (std::size_t index = 0; index < static_cast<std::size_t>(a.dimensions); ++index) {
    common.start[index] = std::max(a.start[index], b.start[index]);
    common.stop[index] = std::min(a.stop[index], b.stop[index]);
    if (common.start[index] >= common.stop[index]) {
      return std::nullopt;
    }
  }
  return common;
}

Status check_inside(const Box& box, std::span<const std::int64_t> shape, std::string_view what) {
  if (static_cast<std::size_t>(box.dimensions) != shape.size()) {
    return fail(Code::shape, "{} has {}, the array has {}", what, counted(box.dimensions, "dimension"), shape.size());
  }
  for (std::size_t index = 0; index < shape.size(); ++index) {
    const std::int64_t start = box.start[index];
    const std::int64_t stop = box.stop[index];
    if (start > stop) {
      return fail(Code::shape, "{} {} starts after it stops in dimension {}: {} > {}", what, to_string(box), index,
                  start, stop);
    }
    if (start < 0 || stop > shape[index]) {
      return fail(Code::shape, "{} {} lies outside the array in dimension {}: [{}, {}) is not within [0, {})", what,
                  to_string(box), index, start, stop, shape[index]);
    }
  }
  return {};
}

std::string to_string(const Box& box) {
  std::string text;
  for (std::size_t index = 0; index < static_cast<std::size_t>(box.dimensions); ++index) {
    text += fmt::format("{}[{}, {})", index == 0 ? "" : " x ", box.start[index], box.stop[index]);
  }
  return text.empty() ? "[]" : text;
}

}  // namespace couplet::layout
