// coalescing.hpp without MPI. Usage: coalescing PROGRAM WHAT
#include "coalescing.hpp"

int main(int argc, char** argv) {
  return coalescing::tell(argc, argv, [](const std::string& program) { return couplet::join(program); });
}
