#include "collective/algorithms.hpp"

namespace couplet::collective {

void scan_linear(Builder& builder, const Circle& circle, Range data) {
  if (circle.own < 0) return;
  if (circle.own > 0) {
    const Range operand = builder.scratch(data.count);
    builder.receive(circle.rank(circle.own - 1), operand);
    builder.combine_left(operand, data);
  }
  if (circle.own + 1 < circle.size()) builder.send(circle.rank(circle.own + 1), data);
}

}  // namespace couplet::collective
