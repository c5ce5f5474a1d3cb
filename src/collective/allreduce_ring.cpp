#include "collective/algorithms.hpp"

namespace couplet::collective {

// Each block goes around once and is combined at each member, and then around once more as a result.
void allreduce_ring(Builder& builder, const Circle& circle, Range data, std::uint64_t unit) {
  if (circle.own < 0 || circle.size() == 1) return;
  const std::vector<Range> blocks = split(data, circle.size(), unit);
  reduce_scatter_ring(builder, circle, blocks);
  allgather_ring(builder, circle, blocks);
}

}  // namespace couplet::collective
