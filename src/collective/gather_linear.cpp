#include "collective/algorithms.hpp"

namespace couplet::collective {

void gather_linear(Builder& builder, const Circle& circle, std::int32_t root, Range own, Blocks blocks) {
  if (circle.own < 0) return;
  if (circle.own != root) return builder.send(circle.rank(root), own);
  builder.fork();
  for (std::int32_t place = 0; place < circle.size(); ++place) {
    const Range block = blocks[static_cast<std::size_t>(place)];
    place == root ? builder.copy(own, block) : builder.receive(circle.rank(place), block);
  }
  builder.join();
}

}  // namespace couplet::collective
