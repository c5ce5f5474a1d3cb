#include "collective/algorithms.hpp"

namespace couplet::collective {

// In round r each member sends to the one r places further, and receives from the one r places before. No range is
// touched twice.
void alltoall_pairwise(Builder& builder, const Circle& circle, Blocks blocks_in, Blocks blocks_out) {
  if (circle.own < 0) return;
  const std::int32_t size = circle.size();
  builder.fork();
  builder.copy(blocks_in[static_cast<std::size_t>(circle.own)], blocks_out[static_cast<std::size_t>(circle.own)]);
  for (std::int32_t round = 1; round < size; ++round) {
    const std::int32_t to = (circle.own + round) % size;
    const std::int32_t from = (circle.own - round + size) % size;
    builder.send(circle.rank(to), blocks_in[static_cast<std::size_t>(to)]);
    builder.receive(circle.rank(from), blocks_out[static_cast<std::size_t>(from)]);
  }
  builder.join();
}

}  // namespace couplet::collective
