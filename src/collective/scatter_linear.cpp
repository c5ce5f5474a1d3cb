#include "collective/algorithms.hpp"

namespace couplet::collective {

void scatter_linear(Builder& builder, const Circle& circle, std::int32_t root, Blocks blocks, Range own) {
  if (circle.own < 0) return;
  if (circle.own != root) return builder.receive(circle.rank(root), own);
  for (std::int32_t place = 0; place < circle.size(); ++place) {
    if (place != root) builder.send(circle.rank(place), blocks[static_cast<std::size_t>(place)]);
  }
  const Range kept = blocks[static_cast<std::size_t>(root)];
  if (kept.space != own.space || kept.first != own.first) builder.copy(kept, own);
}

}  // namespace couplet::collective
