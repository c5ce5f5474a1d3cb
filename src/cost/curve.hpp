// A curve: what one way of moving bytes costs over the size of the message, piecewise linear; and the choice among
// several ways. Pure functions. choices.hpp makes the limits of the library of them. Tests: tests/unit/cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace couplet::cost {

// Ways whose costs differ by no more than this share tie, and the first one of the list is taken: measurements do not
// repeat better.
inline constexpr double tie_share = 0.03;
inline constexpr std::size_t max_curve_points = 256;
inline constexpr std::uint64_t any_bytes = UINT64_MAX;
// No time of a point of a file is longer (11 days): between such points, no straight line leaves the range of numbers.
inline constexpr double max_point_s = 1e6;

struct Point {
  std::uint64_t bytes = 0;
  double time_s = 0;      // predicted
  double measured_s = 0;  // what the prediction was made of; 0: not known
};

// Points by increasing size. Between two points the time is interpolated. Below the first point it is that of the first
// point, and above the last one it goes on as it did before, but does not fall.
struct Curve {
  std::vector<Point> points;

  [[nodiscard]] bool is_known() const noexcept { return !points.empty(); }
  // Returns the predicted time of a message, in seconds: at least 0, and finite, whatever the points are. If it cannot
  // be computed, it is the longest time that there is, so that every other way is preferred. REQUIRES: is_known().
  [[nodiscard]] double seconds(std::uint64_t bytes) const noexcept;
};

// The ways, by their places in a list, for messages of up to max_bytes: the one to take is the first one.
struct Range {
  std::uint64_t max_bytes = any_bytes;
  std::vector<std::size_t> order;
};

// Returns the places of the list in the order of preference at one size: first the first one that ties with the
// cheapest, then the first one of the rest that ties with the cheapest of the rest, and so on. REQUIRES: all are known.
[[nodiscard]] std::vector<std::size_t> order_at(std::span<const Curve* const> ways, std::uint64_t bytes);

// Returns the order of preference for all sizes, in as few ranges as there are; the last one is for any size. Empty if
// there are no ways. REQUIRES: all are known.
[[nodiscard]] std::vector<Range> cheapest(std::span<const Curve* const> ways);

}  // namespace couplet::cost
