// Pictures of the flow while it is computed. Each rank draws its own sites, and phased reductions compose one picture
// from those within the messages of the rounds. All numbers are integers, so that a picture has the same bits on any
// number of ranks.
#ifndef BLOODFLOW_PICTURE_HPP
#define BLOODFLOW_PICTURE_HPP

#include <couplet/couplet.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "flow.hpp"
#include "stopwatch.hpp"

namespace bloodflow {

// What the two numbers of a pixel mean. picture.py reads them in the same way.
struct Pixel {
  // Of the speed: the sum of weights, and above it that of weight x speed.
  static constexpr int weight_bits = 24;
  static constexpr double speed_unit = 1.0 / (1 << 20);
  // Of the wall: how much it faces the viewer, above it the shear, and above that how near it is, plus 1. 0: no wall.
  static constexpr int facing_bits = 12;
  static constexpr int shear_bits = 28;
  static constexpr double shear_unit = 1.0 / (1LL << 32);
  static constexpr double nearness_unit = 1.0 / (1 << 10);
};

struct Frame {
  std::uint64_t round = 0;
  double angle = 0;
  std::vector<std::int64_t> speed, wall;  // by row, from the top, and column
};

class Picture {
 public:
  // pixels: for each lattice unit. All that is given outlives it. first_round: of the rounds of the manager.
  Picture(const Flow& flow, const Values& values, int pixels, std::uint64_t first_round, Stopwatch& watch);

  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  [[nodiscard]] std::int64_t height() const noexcept { return height_; }
  // Adds the reductions. take: gets each frame at rank 0.
  void register_with(couplet::StepManager& manager, std::uint64_t every, std::function<void(const Frame&)> take);

 private:
  // Where a point is on the screen, in pixels, and how near it is.
  struct Projected {
    double column, row, nearness;
  };
  [[nodiscard]] Projected project(const Vector& point) const;
  void set_view();
  void draw_speed(std::span<std::int64_t> image);
  void draw_wall(std::span<std::int64_t> image);
  void find_walls();

  struct Wall {
    std::int32_t number;
    Vector normal;
  };
  const Flow& flow_;
  const Values& values_;
  int pixels_;
  std::uint64_t first_round_;
  Stopwatch& watch_;
  std::int64_t width_, height_;
  double sine_ = 0, cosine_ = 1;
  std::vector<std::int32_t> sites_with_walls_;  // the sites for which `walls_` was found
  std::vector<Wall> walls_;
  Frame frame_;
};

// The same for frames with the same bits.
std::uint64_t digest_of(const Frame& frame);

}  // namespace bloodflow

#endif
