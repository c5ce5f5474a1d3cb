// R. van de Geijn: On global combine operations, J. Parallel and Distributed Computing 22 (1994).
#include "collective/algorithms.hpp"

namespace couplet::collective {

void broadcast_scatter_ring(Builder& builder, const Circle& circle, std::int32_t root, Range data) {
  if (circle.own < 0) return;
  const std::vector<Range> blocks = split(data, circle.size());
  scatter_linear(builder, circle, root, blocks, blocks[static_cast<std::size_t>(circle.own)]);
  allgather_ring(builder, circle, blocks);
}

}  // namespace couplet::collective
