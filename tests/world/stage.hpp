// Carries out a plan: starts hub and processes on a simulated kernel, does to them what the plan says, and keeps what
// they saw.
#pragma once

#include <memory>

#include "history.hpp"

namespace world {

struct Outcome {
  History history;
  std::vector<Finding> findings;  // of the end: who does not end, what is left behind
  std::uint64_t steps = 0;
  std::uint64_t trace = 0;
};

// One plan for each process of the operating system: the simulated processes leave their memory and the library's state
// behind. calls_from_s: when to begin to print each call of the kernel; negative: never.
[[nodiscard]] Outcome play(const Plan& plan, double calls_from_s);

}  // namespace world
