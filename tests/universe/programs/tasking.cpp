// tasking.hpp without MPI. Usage: tasking PROGRAM WHAT
#include "tasking.hpp"

int main(int argc, char** argv) {
  return tasking::tell(argc, argv, [](const std::string& program) { return couplet::join(program); });
}
