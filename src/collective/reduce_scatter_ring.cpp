#include "collective/algorithms.hpp"

namespace couplet::collective {

// The block of place p begins at place p + 1 and goes around the circle to place p. Each member combines it with its
// own operand, in the order in which it comes there, which is always the same.
void reduce_scatter_ring(Builder& builder, const Circle& circle, Blocks blocks) {
  if (circle.own < 0 || circle.size() == 1) return;
  const std::int32_t size = circle.size();
  const auto block = [&](std::int32_t distance) {
    return blocks[static_cast<std::size_t>(((circle.own - distance) % size + size) % size)];
  };
  std::uint64_t longest = 0;
  for (const Range& one : blocks) longest = longest < one.count ? one.count : longest;
  const Range operands[] = {builder.scratch(longest), builder.scratch(longest)};
  for (std::int32_t round = 1; round < size; ++round) {
    const Range coming = block(round + 1);
    const Range operand = operands[round % 2].part(0, coming.count);
    builder.send(circle.around(1), block(round));
    builder.receive(circle.around(-1), operand);
    builder.combine_left(operand, coming);
  }
}

}  // namespace couplet::collective
