#include "cost/curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace couplet::cost {
namespace {

constexpr double max_exact_bytes = 9007199254740992.0;  // 2^53: beyond it, sizes are not told apart

// The line that a curve follows from its point `place` on.
struct Line {
  double at_zero_s = 0;
  double s_per_byte = 0;
};

Line line_between(const Point& left, const Point& right) noexcept {
  const double width = static_cast<double>(right.bytes) - static_cast<double>(left.bytes);
  const double slope = (right.time_s - left.time_s) / width;
  return {.at_zero_s = left.time_s - slope * static_cast<double>(left.bytes), .s_per_byte = slope};
}

Line line_at(const Curve& way, std::uint64_t bytes) noexcept {
  const std::vector<Point>& points = way.points;
  const auto above = std::upper_bound(points.begin(), points.end(), bytes,
                                      [](std::uint64_t size, const Point& point) { return size < point.bytes; });
  if (above == points.begin() || points.size() == 1) return {.at_zero_s = points.front().time_s};
  if (above != points.end()) return line_between(*(above - 1), *above);
  const Line last = line_between(points[points.size() - 2], points.back());
  return last.s_per_byte >= 0 ? last : Line{.at_zero_s = points.back().time_s};
}

// Adds the sizes around the one at which left = factor * right, if it is between the two bounds.
void add_crossing(const Line& left, const Line& right, double factor, std::uint64_t from, std::uint64_t below,
                  std::vector<std::uint64_t>& sizes) {
  const double slope = left.s_per_byte - factor * right.s_per_byte;
  if (slope == 0) return;
  const double size = (factor * right.at_zero_s - left.at_zero_s) / slope;
  if (!(size >= static_cast<double>(from)) || !(size < max_exact_bytes)) return;
  const auto whole = static_cast<std::uint64_t>(size);
  for (const std::uint64_t place : {whole, whole + 1}) {
    if (place >= from && place < below) sizes.push_back(place);
  }
}

void sort_and_thin(std::vector<std::uint64_t>& sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

// Returns sizes between which the order cannot change: from each one on, up to the next.
std::vector<std::uint64_t> places_of_change(std::span<const Curve* const> ways) {
  std::vector<std::uint64_t> bends{0};
  for (const Curve* const way : ways) {
    for (const Point& point : way->points) bends.push_back(point.bytes);
  }
  sort_and_thin(bends);
  std::vector<std::uint64_t> places = bends;
  for (std::size_t bend = 0; bend < bends.size(); ++bend) {
    const std::uint64_t below = bend + 1 < bends.size() ? bends[bend + 1] : any_bytes;
    for (const Curve* const left : ways) {
      for (const Curve* const right : ways) {
        if (left == right) continue;
        add_crossing(line_at(*left, bends[bend]), line_at(*right, bends[bend]), 1 + tie_share, bends[bend], below,
                     places);
      }
    }
  }
  sort_and_thin(places);
  return places;
}

}  // namespace

double Curve::seconds(std::uint64_t bytes) const noexcept {
  const Line line = line_at(*this, bytes);
  const double time_s = line.at_zero_s + line.s_per_byte * static_cast<double>(bytes);
  return std::isfinite(time_s) ? std::max(time_s, 0.0) : std::numeric_limits<double>::max();
}

std::vector<std::size_t> order_at(std::span<const Curve* const> ways, std::uint64_t bytes) {
  std::vector<std::size_t> left(ways.size());
  for (std::size_t place = 0; place < left.size(); ++place) left[place] = place;
  std::vector<double> times;
  times.reserve(ways.size());
  for (const Curve* const way : ways) times.push_back(way->seconds(bytes));
  std::vector<std::size_t> order;
  while (!left.empty()) {
    double least = times[left.front()];
    for (const std::size_t place : left) least = std::min(least, times[place]);
    const auto chosen = std::find_if(left.begin(), left.end(),
                                     [&](std::size_t place) { return times[place] <= least * (1 + tie_share); });
    order.push_back(*chosen);
    left.erase(chosen);
  }
  return order;
}

std::vector<Range> cheapest(std::span<const Curve* const> ways) {
  std::vector<Range> ranges;
  if (ways.empty()) return ranges;
  for (const std::uint64_t from : places_of_change(ways)) {
    std::vector<std::size_t> order = order_at(ways, from);
    if (!ranges.empty() && ranges.back().order == order) continue;
    if (!ranges.empty()) ranges.back().max_bytes = from - 1;
    ranges.push_back({.max_bytes = any_bytes, .order = std::move(order)});
  }
  return ranges;
}

}  // namespace couplet::cost
