// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, IJHPCA 19 (2005).
#include "collective/algorithms.hpp"

namespace couplet::collective {
namespace {

// Exchanges `data` with the partner, and combines both. The operand of the lower place is always on the left, so that
// both get the same bits, and the order of the circle is kept.
void exchange(Builder& builder, std::int32_t partner, bool partner_is_lower, Range data) {
  const Range operand = builder.scratch(data.count);
  builder.send(partner, data);
  builder.receive(partner, operand);
  partner_is_lower ? builder.combine_left(operand, data) : builder.combine_right(operand, data);
}

}  // namespace

// Recursive doubling among the largest power of two of members. Of the first 2 x rest members each odd one stands for
// both: it gets the operand of the member before it first, and gives it the result at the end.
void allreduce_doubling(Builder& builder, const Circle& circle, Range data) {
  if (circle.own < 0 || circle.size() == 1) return;
  const std::int32_t size = circle.size();
  std::int32_t power = 1;
  while (power * 2 <= size) power *= 2;
  const std::int32_t rest = size - power;
  const bool paired = circle.own < 2 * rest;
  if (paired && circle.own % 2 == 0) {
    builder.send(circle.rank(circle.own + 1), data);
    builder.receive(circle.rank(circle.own + 1), data);
    return;
  }
  if (paired) {
    const Range operand = builder.scratch(data.count);
    builder.receive(circle.rank(circle.own - 1), operand);
    builder.combine_left(operand, data);
  }
  const std::int32_t place = paired ? circle.own / 2 : circle.own - rest;
  for (std::int32_t bit = 1; bit < power; bit *= 2) {
    const std::int32_t other = place ^ bit;
    exchange(builder, circle.rank(other < rest ? 2 * other + 1 : other + rest), other < place, data);
  }
  if (paired) builder.send(circle.rank(circle.own - 1), data);
}

}  // namespace couplet::collective
