// layout: boxes, their intersections, and copies of boxes between arrays; pure functions over memory.
// Above: series, relay, halo. Below: base.
// Invariants: a box is half open, [start, stop), in C order; an empty box has a dimension with stop <= start and no bytes.
// A formally racy copy lives in one function only (copy_racing).
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
  [[nodiscard]] std::uint64_t elements() const noexcept;  // 0 when empty
  [[nodiscard]] bool empty() const noexcept { return elements() == 0; }
  bool operator==(const Box&) const = default;
};

// [0, shape) in every dimension.
[[nodiscard]] Box whole(std::span<const std::int64_t> shape);
[[nodiscard]] std::optional<Box> intersect(const Box& a, const Box& b);
// shape error that names the dimension where `box` leaves [0, shape), has other dimensions or start > stop.
[[nodiscard]] Status check_inside(const Box& box, std::span<const std::int64_t> shape, std::string_view what);
// "[0, 900) x [150, 750)"
[[nodiscard]] std::string to_string(const Box& box);

}  // namespace couplet::layout
