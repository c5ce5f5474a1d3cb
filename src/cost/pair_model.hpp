// The model of a node's hot spot: T(pa, pe) = alpha pa + beta pe + gamma, in one or two pieces over pa. pa and pe are
// the numbers of intra-node and inter-node pairs of messages. Pure. The same as python/couplet/cost/model.py, which
// makes it of a measurement; docs/formats/cost.md. Tests: tests/unit/cost, tests/cost/test_core.py.
#pragma once

#include <vector>

namespace couplet::cost {

// A plane, which holds for min_pa <= pa < max_pa. All times are in seconds.
struct PairPiece {
  double min_pa = 0;
  double max_pa = 0;
  double alpha_s = 0;
  double beta_s = 0;
  double gamma_s = 0;

  [[nodiscard]] double seconds(double pa, double pe) const noexcept { return alpha_s * pa + beta_s * pe + gamma_s; }
};

struct PairModel {
  std::vector<PairPiece> pieces;  // by increasing pa, without gaps

  // Returns the piece for pa: the first one that ends above it, else the last one. REQUIRES: there is a piece.
  [[nodiscard]] const PairPiece& piece(double pa) const noexcept;
  [[nodiscard]] double seconds(double pa, double pe) const noexcept { return piece(pa).seconds(pa, pe); }
  // Says whether there is a piece, and the pieces follow each other without a gap.
  [[nodiscard]] bool is_complete() const noexcept;
};

// Returns the two pieces of a hinge, which have the same beta and meet at the breakpoint. `first` is the piece below
// the breakpoint; first.max_pa is not used. REQUIRES: first.min_pa <= breakpoint <= max_pa.
[[nodiscard]] PairModel hinge(const PairPiece& first, double breakpoint, double alpha_above_s, double max_pa);

}  // namespace couplet::cost
