// J. Bruck, C.-T. Ho, S. Kipnis, D. Weathersby: Efficient algorithms for all-to-all communications in multiport
// message-passing systems, IEEE Trans. Parallel and Distributed Systems 8 (1997).
#include <algorithm>

#include "collective/algorithms.hpp"

namespace couplet::collective {

// The scratch space has the blocks of the own place, the next one, and so on around the circle. In each round, what is
// there goes to the member as many places before.
void allgather_bruck(Builder& builder, const Circle& circle, Range blocks) {
  if (circle.own < 0 || circle.size() == 1) return;
  const auto size = static_cast<std::uint64_t>(circle.size());
  const auto own = static_cast<std::uint64_t>(circle.own);
  const std::uint64_t length = blocks.count / size;
  const Range turned = builder.scratch(blocks.count);
  builder.copy(blocks.part(own * length, length), turned.part(0, length));
  for (std::uint64_t there = 1; there < size; there *= 2) {
    const std::uint64_t more = std::min(there, size - there);
    const auto distance = static_cast<std::int32_t>(there);
    builder.send(circle.around(-distance), turned.part(0, more * length));
    builder.receive(circle.around(distance), turned.part(there * length, more * length));
  }
  builder.copy(turned.part(0, (size - own) * length), blocks.part(own * length, (size - own) * length));
  builder.copy(turned.part((size - own) * length, own * length), blocks.part(0, own * length));
}

}  // namespace couplet::collective
