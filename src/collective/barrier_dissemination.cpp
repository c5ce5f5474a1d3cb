// D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, Int. J. Parallel Programming 17 (1988).
#include "collective/algorithms.hpp"

namespace couplet::collective {

// A member begins a round when the message of the round before has come.
void barrier_dissemination(Builder& builder, const Circle& circle, Range mark) {
  if (circle.own < 0) return;
  for (std::int32_t distance = 1; distance < circle.size(); distance *= 2) {
    builder.send(circle.around(distance), mark);
    builder.receive(circle.around(-distance), mark);
  }
}

}  // namespace couplet::collective
