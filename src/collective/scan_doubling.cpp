// W. D. Hillis, G. L. Steele: Data parallel algorithms, CACM 29 (1986).
#include "collective/algorithms.hpp"

namespace couplet::collective {

void scan_doubling(Builder& builder, const Circle& circle, Range data) {
  if (circle.own < 0) return;
  for (std::int32_t distance = 1; distance < circle.size(); distance *= 2) {
    if (circle.own + distance < circle.size()) builder.send(circle.rank(circle.own + distance), data);
    if (circle.own - distance < 0) continue;
    const Range operand = builder.scratch(data.count);
    builder.receive(circle.rank(circle.own - distance), operand);
    builder.combine_left(operand, data);
  }
}

}  // namespace couplet::collective
