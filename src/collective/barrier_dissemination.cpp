// D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, Int. J. Parallel Programming 17 (1988).
#include "collective/algorithms.hpp"

namespace couplet::collective {

// A member begins a round when the message of the round before has come. What comes is received beside `mark`: if all
// members waited for their sends to end before they receive, no message that is announced would ever be fetched.
void barrier_dissemination(Builder& builder, const Circle& circle, Range mark) {
  if (circle.own < 0) return;
  for (std::int32_t distance = 1; distance < circle.size(); distance *= 2) {
    builder.send(circle.around(distance), mark);
    const Range come = builder.scratch(mark.count);
    builder.receive(circle.around(-distance), come);
    builder.copy(come, mark);
  }
}

}  // namespace couplet::collective
