#include <algorithm>

#include "collective/algorithms.hpp"

namespace couplet::collective {

// Places are counted from the root. A place collects the blocks of those that it gets by setting a lower bit behind its
// own block, and passes all of them on to the place without its lowest set bit.
void gather_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range own, Range blocks) {
  if (circle.own < 0) return;
  const std::int32_t size = circle.size();
  const std::int32_t place = (circle.own - root + size) % size;
  const auto rank_of = [&](std::int32_t turned) { return circle.rank((turned + root) % size); };
  const std::uint64_t length = own.count;
  std::int32_t bit = 1;
  while (bit < size && (place & bit) == 0) bit *= 2;
  const auto held = static_cast<std::uint64_t>(std::min(bit, size - place));  // number of blocks in the end
  const bool straight = place == 0 && root == 0;                              // they have their places already
  const Range all = straight ? blocks : held == 1 && place != 0 ? own : builder.scratch(held * length);
  if (straight || held > 1) builder.copy(own, all.part(0, length));
  for (std::int32_t lower = 1; lower < bit && place + lower < size; lower *= 2) {
    const auto count = static_cast<std::uint64_t>(std::min(lower, size - place - lower));
    builder.receive(rank_of(place + lower), all.part(static_cast<std::uint64_t>(lower) * length, count * length));
  }
  if (place != 0) return builder.send(rank_of(place - bit), all);
  if (straight) return;
  if (held == 1) return builder.copy(own, blocks);
  const auto turned = static_cast<std::uint64_t>(root);
  const std::uint64_t behind = held - turned;  // blocks of the root and of the places after it
  builder.copy(all.part(0, behind * length), blocks.part(turned * length, behind * length));
  builder.copy(all.part(behind * length, turned * length), blocks.part(0, turned * length));
}

}  // namespace couplet::collective
