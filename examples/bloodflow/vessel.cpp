#include "vessel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace bloodflow {
namespace {

constexpr int curve_pieces = 16;

Vector mix(const Vector& a, const Vector& b, double t) {
  return {a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z)};
}

// The distance to a piece, less its radius there.
double level_of(const Piece& piece, const Vector& point) {
  const Vector along = {piece.to.x - piece.from.x, piece.to.y - piece.from.y, piece.to.z - piece.from.z};
  const Vector there = {point.x - piece.from.x, point.y - piece.from.y, point.z - piece.from.z};
  const double t = std::clamp(dot(there, along) / dot(along, along), 0.0, 1.0);
  const Vector rest = {there.x - t * along.x, there.y - t * along.y, there.z - t * along.z};
  return std::sqrt(dot(rest, rest)) - (piece.from_radius + t * (piece.to_radius - piece.from_radius));
}

// A curve that begins and ends along x, with one radius at its beginning and another soon after it. stenosis: how much
// narrower it is in the middle.
void add_branch(std::vector<Piece>& pieces, const Vector& from, const Vector& to, double first_radius, double radius,
                double stenosis) {
  const Vector first = {0.5 * (from.x + to.x), from.y, from.z};
  const Vector second = {0.5 * (from.x + to.x), to.y, to.z};
  const auto point = [&](double t) {
    return mix(mix(mix(from, first, t), mix(first, second, t), t), mix(mix(first, second, t), mix(second, to, t), t),
               t);
  };
  const auto radius_at = [&](double t) {
    const double away = (t - 0.55) / 0.13;
    const double near = t / 0.25;
    return radius * (1 - stenosis * std::exp(-away * away)) + (first_radius - radius) * std::exp(-near * near);
  };
  for (int n = 0; n < curve_pieces; ++n) {
    const double t0 = static_cast<double>(n) / curve_pieces;
    const double t1 = static_cast<double>(n + 1) / curve_pieces;
    pieces.push_back({point(t0), point(t1), radius_at(t0), radius_at(t1)});
  }
}

}  // namespace

Shape shape_of(const std::string& name) {
  if (name == "bifurcation") return Shape::bifurcation;
  if (name == "tube") return Shape::tube;
  if (name == "closed") return Shape::closed;
  throw std::invalid_argument("shape must be bifurcation, tube or closed, not " + name);
}

Vessel::Vessel(Shape shape, double radius) : radius_(radius), has_ends_(shape == Shape::closed) {
  if (shape == Shape::tube) {
    make_tube();
  } else {
    make_bifurcation();
  }
  numbers_.assign(static_cast<std::size_t>(extent_.x) * extent_.y * extent_.z, -1);
  Site site{};
  for (site.x = 0; site.x < extent_.x; ++site.x) {
    for (site.y = 0; site.y < extent_.y; ++site.y) {
      for (site.z = 0; site.z < extent_.z; ++site.z) {
        if (level(site) >= 0) continue;
        at(site) = size();
        sites_.push_back(site);
      }
    }
  }
}

// All lengths are multiples of the radius. The axis lies between points, so that nothing is symmetric by accident.
void Vessel::make_bifurcation() {
  const double r = radius_;
  const double middle = 4.6 * r + 2;
  axis_ = {0, r + 1.5, middle};
  extent_ = {static_cast<std::int16_t>(std::lround(12 * r)), static_cast<std::int16_t>(std::lround(2 * r + 4)),
             static_cast<std::int16_t>(std::lround(2 * middle + 1))};
  const Vector fork = {3.4 * r, axis_.y, middle};
  pieces_.push_back({{-2 * r, axis_.y, middle}, fork, r, r});
  const double end = 11 * r;
  const double upper = middle + 3.4 * r;
  const double lower = middle - 3.0 * r;
  add_branch(pieces_, fork, {end, axis_.y, upper}, r, 0.82 * r, 0.4);
  add_branch(pieces_, fork, {end, axis_.y, lower}, r, 0.74 * r, 0);
  pieces_.push_back({{end, axis_.y, upper}, {14 * r, axis_.y, upper}, 0.82 * r, 0.82 * r});
  pieces_.push_back({{end, axis_.y, lower}, {14 * r, axis_.y, lower}, 0.74 * r, 0.74 * r});
}

void Vessel::make_tube() {
  const double r = radius_;
  axis_ = {0, r + 1.4, r + 1.7};
  extent_ = {static_cast<std::int16_t>(std::lround(4 * r)), static_cast<std::int16_t>(std::lround(2 * r + 4)),
             static_cast<std::int16_t>(std::lround(2 * r + 4))};
  pieces_.push_back({{-4 * r, axis_.y, axis_.z}, {8 * r, axis_.y, axis_.z}, r, r});
}

double Vessel::level(double x, double y, double z) const {
  double least = std::numeric_limits<double>::max();
  for (const Piece& piece : pieces_) least = std::min(least, level_of(piece, {x, y, z}));
  return least;
}

std::int32_t& Vessel::at(const Site& site) {
  return numbers_[(static_cast<std::size_t>(site.x) * extent_.y + site.y) * extent_.z + site.z];
}

Link Vessel::link(std::int32_t site, int direction) const {
  const Site here = sites_[site];
  const Velocity c = velocities[direction];
  const Site there = {static_cast<std::int16_t>(here.x - c.x), static_cast<std::int16_t>(here.y - c.y),
                      static_cast<std::int16_t>(here.z - c.z)};
  const bool is_beyond_ends = there.x < 0 || there.x >= extent_.x;
  // Walls lie inside the grid in y and z.
  if (!is_beyond_ends) {
    const std::size_t place = (static_cast<std::size_t>(there.x) * extent_.y + there.y) * extent_.z + there.z;
    if (numbers_[place] >= 0) return {Link::Kind::fluid, numbers_[place]};
  }
  const double beyond = level(there);
  if (beyond >= 0) {
    const double inside = level(here);
    return {Link::Kind::wall, -1, inside / (inside - beyond)};
  }
  if (has_ends_) return {Link::Kind::wall};
  return {there.x < 0 ? Link::Kind::inlet : Link::Kind::outlet};
}

bool Vessel::touches_wall(std::int32_t site) const {
  for (int i = 1; i < directions; ++i) {
    if (link(site, i).kind == Link::Kind::wall) return true;
  }
  return false;
}

Vector Vessel::wall_normal(std::int32_t site) const {
  const Site s = sites_[site];
  Vector n = {level(s.x + 0.5, s.y, s.z) - level(s.x - 0.5, s.y, s.z),
              level(s.x, s.y + 0.5, s.z) - level(s.x, s.y - 0.5, s.z),
              level(s.x, s.y, s.z + 0.5) - level(s.x, s.y, s.z - 0.5)};
  const double length = std::sqrt(dot(n, n));
  if (length == 0) return {1, 0, 0};
  return {n.x / length, n.y / length, n.z / length};
}

}  // namespace bloodflow
