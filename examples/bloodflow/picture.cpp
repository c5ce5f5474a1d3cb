#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace bloodflow {
namespace {

constexpr double speed_reach = 1.3;  // lattice units around a site that it colours
constexpr double wall_reach = 1.1;
constexpr double max_speed = 1;
constexpr double max_tilt = 3;  // a wall that is seen from the side is not extended farther than that

// Calls body(column, row, dx, dy) for the pixels around a point; dx, dy: in lattice units.
template <typename Body>
void for_pixels_around(double column, double row, double reach, int pixels, std::int64_t width, std::int64_t height,
                       const Body& body) {
  const double radius = reach * pixels;
  const auto first_row = std::max<std::int64_t>(0, std::lround(std::ceil(row - radius)));
  const auto last_row = std::min<std::int64_t>(height - 1, std::lround(std::floor(row + radius)));
  const auto first_column = std::max<std::int64_t>(0, std::lround(std::ceil(column - radius)));
  const auto last_column = std::min<std::int64_t>(width - 1, std::lround(std::floor(column + radius)));
  for (std::int64_t at_row = first_row; at_row <= last_row; ++at_row) {
    for (std::int64_t at_column = first_column; at_column <= last_column; ++at_column) {
      body(at_column, at_row, (static_cast<double>(at_column) - column) / pixels,
           (static_cast<double>(at_row) - row) / pixels);
    }
  }
}

}  // namespace

std::uint64_t digest_of(const Frame& frame) {
  std::uint64_t hash = frame.round;
  const auto add = [&](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  };
  std::for_each(frame.speed.begin(), frame.speed.end(), add);
  std::for_each(frame.wall.begin(), frame.wall.end(), add);
  return hash;
}

Picture::Picture(const Flow& flow, const Values& values, int pixels, std::uint64_t first_round, Stopwatch& watch)
    : flow_(flow), values_(values), pixels_(pixels), first_round_(first_round), watch_(watch) {
  const Site extent = flow.vessel.extent();
  width_ = static_cast<std::int64_t>(extent.x) * pixels;
  height_ = std::lround(std::ceil(std::hypot(extent.y, extent.z))) * pixels;
  find_walls();
}

void Picture::register_with(couplet::StepManager& manager, std::uint64_t every,
                            std::function<void(const Frame&)> take) {
  const auto count = static_cast<std::uint64_t>(width_ * height_);
  frame_.speed.resize(count);
  frame_.wall.resize(count);
  manager.add_reduction<std::int64_t>(
      {.name = "projected speed", .every = every}, COUPLET_OPERATION_SUM, count, false,
      [this](std::uint64_t /*round*/, std::span<std::int64_t> image) {
        const Stopwatch::Lap lap(watch_);
        set_view();
        draw_speed(image);
        return true;
      },
      [this](std::uint64_t began, std::uint64_t /*givers*/, std::span<const std::int64_t> image) {
        const Stopwatch::Lap lap(watch_);
        frame_.round = first_round_ + began;
        std::copy(image.begin(), image.end(), frame_.speed.begin());
      });
  manager.add_reduction<std::int64_t>(
      {.name = "wall shear", .every = every}, COUPLET_OPERATION_MAX, count, false,
      [this](std::uint64_t /*round*/, std::span<std::int64_t> image) {
        const Stopwatch::Lap lap(watch_);
        draw_wall(image);
        return true;
      },
      [this, take = std::move(take)](std::uint64_t /*began*/, std::uint64_t /*givers*/,
                                     std::span<const std::int64_t> image) {
        const Stopwatch::Lap lap(watch_);
        std::copy(image.begin(), image.end(), frame_.wall.begin());
        take(frame_);
      });
}

void Picture::set_view() {
  const double radians = flow_.angle * std::numbers::pi / 180;
  sine_ = std::sin(radians);
  cosine_ = std::cos(radians);
  frame_.angle = flow_.angle;
}

// The viewer looks along y, and has turned around the x axis through the middle of the grid.
Picture::Projected Picture::project(const Vector& point) const {
  const Site extent = flow_.vessel.extent();
  const double y = point.y - 0.5 * extent.y;
  const double z = point.z - 0.5 * extent.z;
  return {(point.x + 0.5) * pixels_, 0.5 * static_cast<double>(height_) - (z * cosine_ + y * sine_) * pixels_,
          0.5 * static_cast<double>(height_) / pixels_ - (y * cosine_ - z * sine_)};
}

void Picture::draw_speed(std::span<std::int64_t> image) {
  std::fill(image.begin(), image.end(), 0);
  for (std::size_t number = 0; number < values_.sites.size(); ++number) {
    const Site& site = flow_.vessel.sites()[values_.sites[number]];
    const Vector u = moments(values_.of(number)).velocity;
    const double speed = std::min(std::sqrt(dot(u, u)), max_speed);
    const std::int64_t fixed = std::llround(speed / Pixel::speed_unit);
    const Projected at =
        project({static_cast<double>(site.x), static_cast<double>(site.y), static_cast<double>(site.z)});
    for_pixels_around(at.column, at.row, speed_reach, pixels_, width_, height_,
                      [&](std::int64_t column, std::int64_t row, double dx, double dy) {
                        const double rest = 1 - (dx * dx + dy * dy) / (speed_reach * speed_reach);
                        if (rest <= 0) return;
                        const std::int64_t weight = std::llround(64 * rest * rest);
                        image[row * width_ + column] += (weight * fixed << Pixel::weight_bits) + weight;
                      });
  }
}

void Picture::find_walls() {
  walls_.clear();
  for (std::size_t number = 0; number < values_.sites.size(); ++number) {
    const std::int32_t site = values_.sites[number];
    if (!flow_.vessel.touches_wall(site)) continue;
    walls_.push_back({static_cast<std::int32_t>(number), flow_.vessel.wall_normal(site)});
  }
  sites_with_walls_ = values_.sites;
}

void Picture::draw_wall(std::span<std::int64_t> image) {
  if (sites_with_walls_ != values_.sites) find_walls();
  std::fill(image.begin(), image.end(), 0);
  constexpr double largest = static_cast<double>((1LL << Pixel::shear_bits) - 1);
  for (const Wall& wall : walls_) {
    const Vector& n = wall.normal;
    const double facing = -(n.y * cosine_ - n.z * sine_);
    if (facing <= 0.05) continue;
    const double up = n.z * cosine_ + n.y * sine_;
    const Site& site = flow_.vessel.sites()[values_.sites[wall.number]];
    const Projected at =
        project({static_cast<double>(site.x), static_cast<double>(site.y), static_cast<double>(site.z)});
    const double shear = wall_shear(values_.of(wall.number), n, flow_.rates);
    const auto fixed_shear = std::llround(std::min(shear / Pixel::shear_unit, largest));
    const auto fixed_facing = std::llround(std::min(facing, 1.0) * ((1 << Pixel::facing_bits) - 1));
    for_pixels_around(at.column, at.row, wall_reach, pixels_, width_, height_,
                      [&](std::int64_t column, std::int64_t row, double dx, double dy) {
                        if (dx * dx + dy * dy > wall_reach * wall_reach) return;
                        // The wall is a small disc, and not all of it is as near.
                        const double tilt = std::clamp((dy * up - dx * n.x) / facing, -max_tilt, max_tilt);
                        const auto near = 1 + std::llround(std::max(0.0, at.nearness + tilt) / Pixel::nearness_unit);
                        const std::int64_t value = (near << (Pixel::shear_bits + Pixel::facing_bits)) +
                                                   (fixed_shear << Pixel::facing_bits) + fixed_facing;
                        image[row * width_ + column] = std::max(image[row * width_ + column], value);
                      });
  }
}

}  // namespace bloodflow
