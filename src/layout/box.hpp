// layout: boxes, their intersections, and copies of boxes between arrays. Pure functions over memory. series, relay and
// halo include it; it includes base.
// Invariants: a box is half open, [start, stop), in C order; an empty box has a dimension with stop <= start, and no
// bytes; the only formally racy copy is copy_racing.
// Tests: tests/unit/layout.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"

namespace couplet::layout {

inline constexpr int max_dimensions = COUPLET_MAX_DIMENSIONS;

struct Box {
  int dimensions = 0;
  std::array<std::int64_t, max_dimensions> start{};
  std::array<std::int64_t, max_dimensions> stop{};

  [[nodiscard]] std::int64_t extent(int dimension) const noexcept {
    const auto index = static_cast<std::size_t>(dimension);
    return stop[index] > start[index] ? stop[index] - start[index] : 0;
  }
  [[nodiscard]] std::uint64_t elements() const noexcept;  // 0 if the box is empty
  [[nodiscard]] bool empty() const noexcept { return elements() == 0; }
  bool operator==(const Box&) const = default;
};

// Returns the box [0, shape) in every dimension.
[[nodiscard]] Box whole(std::span<const std::int64_t> shape);
[[nodiscard]] std::optional<Box> intersect(const Box& a, const Box& b);
// Returns a shape error that names the dimension in which `box` leaves [0, shape) or has start > stop, or says that the
// number of dimensions differs.
[[nodiscard]] Status check_inside(const Box& box, std::span<const std::int64_t> shape, std::string_view what);
// Returns, for example, "[0, 900) x [150, 750)".
[[nodiscard]] std::string to_string(const Box& box);

}  // namespace couplet::layout
