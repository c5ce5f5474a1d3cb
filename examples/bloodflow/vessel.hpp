// The vessel: which points of a grid are in the blood, and what lies between a point and its neighbours. It follows
// from a level set, a function that is negative inside, and is the same on all ranks.
#ifndef BLOODFLOW_VESSEL_HPP
#define BLOODFLOW_VESSEL_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "lattice.hpp"

namespace bloodflow {

// One piece of a tube, whose radius changes evenly.
struct Piece {
  Vector from, to;
  double from_radius, to_radius;
};

struct Site {
  std::int16_t x, y, z;
};

enum class Shape {
  bifurcation,  // one vessel that becomes two, one of which has a stenosis
  tube,         // a straight tube
  closed        // the bifurcation, with walls at its ends
};

// What comes towards a site along a direction.
struct Link {
  enum class Kind { fluid, wall, inlet, outlet } kind = Kind::fluid;
  std::int32_t site = -1;      // fluid: the neighbour
  double wall_distance = 0.5;  // wall: between the site and its neighbour, 0 to 1
};

class Vessel {
 public:
  // radius: of the inlet, in lattice units.
  Vessel(Shape shape, double radius);

  // Sites in the order of x, y, z.
  [[nodiscard]] const std::vector<Site>& sites() const noexcept { return sites_; }
  [[nodiscard]] std::int32_t size() const noexcept { return static_cast<std::int32_t>(sites_.size()); }
  // The points of the grid are 0 to extent (not included).
  [[nodiscard]] Site extent() const noexcept { return extent_; }
  [[nodiscard]] double radius() const noexcept { return radius_; }
  // Whether there are walls at its ends.
  [[nodiscard]] bool is_closed() const noexcept { return has_ends_; }
  // The axis of the inlet.
  [[nodiscard]] Vector axis() const noexcept { return axis_; }
  // What arrives at the site along the direction.
  [[nodiscard]] Link link(std::int32_t site, int direction) const;
  // Whether a neighbour of the site is beyond a wall, and the normal of the wall, which points outwards.
  [[nodiscard]] bool touches_wall(std::int32_t site) const;
  [[nodiscard]] Vector wall_normal(std::int32_t site) const;

 private:
  [[nodiscard]] double level(double x, double y, double z) const;
  [[nodiscard]] double level(const Site& site) const { return level(site.x, site.y, site.z); }
  [[nodiscard]] std::int32_t& at(const Site& site);
  void make_bifurcation();
  void make_tube();

  double radius_;
  bool has_ends_;
  Vector axis_;
  Site extent_{};
  std::vector<Piece> pieces_;
  std::vector<std::int32_t> numbers_;  // by point; -1: outside
  std::vector<Site> sites_;
};

// Throws std::invalid_argument if there is no such shape.
Shape shape_of(const std::string& name);

}  // namespace bloodflow

#endif
