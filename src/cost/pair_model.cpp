#include "cost/pair_model.hpp"

#include <cstddef>

namespace couplet::cost {

const PairPiece& PairModel::piece(double pa) const noexcept {
  for (std::size_t place = 0; place + 1 < pieces.size(); ++place) {
    if (pa < pieces[place].max_pa) return pieces[place];
  }
  return pieces.back();
}

bool PairModel::is_complete() const noexcept {
  for (std::size_t place = 0; place < pieces.size(); ++place) {
    if (pieces[place].min_pa > pieces[place].max_pa) return false;
    if (place > 0 && pieces[place].min_pa != pieces[place - 1].max_pa) return false;
  }
  return !pieces.empty();
}

PairModel hinge(const PairPiece& first, double breakpoint, double alpha_above_s, double max_pa) {
  PairPiece below = first;
  below.max_pa = breakpoint;
  PairPiece above = first;
  above.min_pa = breakpoint;
  above.max_pa = max_pa;
  above.alpha_s = alpha_above_s;
  above.gamma_s = first.gamma_s + (first.alpha_s - alpha_above_s) * breakpoint;
  return {{below, above}};
}

}  // namespace couplet::cost
