#include "collective/algorithms.hpp"

namespace couplet::collective {

// A place combines its own operand with those of the places that it gets by setting a lower bit, the nearest first, and
// sends the result to the place without its lowest set bit. Each combination joins neighboring runs of places, so that
// the order is kept; if it has to be, places are counted from 0, and the result goes on to the root.
void reduce_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range data, bool in_order) {
  if (circle.own < 0 || circle.size() == 1) return;
  const std::int32_t size = circle.size();
  const std::int32_t top = in_order ? 0 : root;
  const std::int32_t place = (circle.own - top + size) % size;
  const auto rank_of = [&](std::int32_t turned) { return circle.rank((turned + top) % size); };
  std::int32_t bit = 1;
  for (; bit < size && (place & bit) == 0; bit *= 2) {
    if (place + bit >= size) continue;
    const Range operand = builder.scratch(data.count);
    builder.receive(rank_of(place + bit), operand);
    builder.combine_right(operand, data);
  }
  if (place != 0) builder.send(rank_of(place - bit), data);
  if (top == root) return;
  if (circle.own == top) builder.send(circle.rank(root), data);
  if (circle.own == root) builder.receive(circle.rank(top), data);
}

}  // namespace couplet::collective
