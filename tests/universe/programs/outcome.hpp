// How the programs of these tests begin and end.
#ifndef COUPLET_TESTS_OUTCOME_HPP
#define COUPLET_TESTS_OUTCOME_HPP

#include <couplet/couplet.hpp>
#include <iostream>
#include <string>

namespace outcome {

/// Joins, runs and leaves. Prints one line if all went well, and returns the status of the process.
template <class Join, class Run>
int tell(const std::string& program, Join join, Run run) {
  try {
    couplet::Universe universe = join(program);
    run(universe);
    const std::int32_t rank = universe.program().rank;
    universe.leave();
    std::cout << (program + " " + std::to_string(rank) + ": done\n") << std::flush;
    return 0;
  } catch (const couplet::Error& error) {
    std::cerr << (program + ": " + error.name() + ": " + error.what() + "\n") << std::flush;
    return 1;
  }
}

}  // namespace outcome

#endif
