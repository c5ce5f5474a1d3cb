#include <algorithm>

#include "collective/algorithms.hpp"

namespace couplet::collective {

// The way of gather_binomial back.
void scatter_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range blocks, Range own) {
  if (circle.own < 0) return;
  const std::int32_t size = circle.size();
  const std::int32_t place = (circle.own - root + size) % size;
  const auto rank_of = [&](std::int32_t turned) { return circle.rank((turned + root) % size); };
  const std::uint64_t length = own.count;
  std::int32_t bit = 1;
  while (bit < size && (place & bit) == 0) bit *= 2;
  const auto held = static_cast<std::uint64_t>(std::min(bit, size - place));
  const bool straight = place == 0 && root == 0;
  const Range all = straight ? blocks : held == 1 && place != 0 ? own : builder.scratch(held * length);
  if (place != 0) {
    builder.receive(rank_of(place - bit), all);
  } else if (!straight) {
    const auto turned = static_cast<std::uint64_t>(root);
    const std::uint64_t behind = held - turned;
    builder.copy(blocks.part(turned * length, behind * length), all.part(0, behind * length));
    builder.copy(blocks.part(0, turned * length), all.part(behind * length, turned * length));
  }
  for (std::int32_t lower = bit / 2; lower > 0; lower /= 2) {
    if (place + lower >= size) continue;
    const auto count = static_cast<std::uint64_t>(std::min(lower, size - place - lower));
    builder.send(rank_of(place + lower), all.part(static_cast<std::uint64_t>(lower) * length, count * length));
  }
  if (place == 0 || held > 1) builder.copy(all.part(0, length), own);
}

}  // namespace couplet::collective
