#include "collective/algorithms.hpp"

namespace couplet::collective {

// Place r, counted from the root, receives from the place without its lowest set bit, and sends to those that it gets
// by setting a lower bit; the farthest first, since it has most to pass on.
void broadcast_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range data) {
  if (circle.own < 0) return;
  const std::int32_t size = circle.size();
  const std::int32_t place = (circle.own - root + size) % size;
  const auto rank_of = [&](std::int32_t turned) { return circle.rank((turned + root) % size); };
  std::int32_t bit = 1;
  while (bit < size && (place & bit) == 0) bit *= 2;
  if (place != 0) builder.receive(rank_of(place - bit), data);
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < size) builder.send(rank_of(place + bit), data);
  }
}

}  // namespace couplet::collective
