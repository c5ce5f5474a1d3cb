#include "collective/algorithms.hpp"

namespace couplet::collective {

void allgather_ring(Builder& builder, const Circle& circle, Blocks blocks) {
  if (circle.own < 0) return;
  const std::int32_t size = circle.size();
  const auto block = [&](std::int32_t distance) {
    return blocks[static_cast<std::size_t>(((circle.own - distance) % size + size) % size)];
  };
  for (std::int32_t round = 1; round < size; ++round) {
    builder.send(circle.around(1), block(round - 1));
    builder.receive(circle.around(-1), block(round));
  }
}

}  // namespace couplet::collective
