// Carries out a plan: starts hub and processes on a simulated kernel, causes the faults of the plan, and keeps what the
// processes have seen.
#pragma once

#include <memory>

#include "history.hpp"

namespace world {

struct Outcome {
  History history;
  std::vector<Finding> findings;  // findings about the end: processes that do not end, and what is left behind
  std::uint64_t steps = 0;
  std::uint64_t trace = 0;
};

// Plays a plan. To be called only once in a real process, since the simulated processes leave their memory and the
// library's state behind. calls_from_s: when to begin to print each call of the kernel; negative: never.
[[nodiscard]] Outcome play(const Plan& plan, double calls_from_s);

}  // namespace world
