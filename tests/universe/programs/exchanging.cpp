// exchanging.hpp without MPI. Usage: exchanging PROGRAM WHAT
#include "exchanging.hpp"

int main(int argc, char** argv) {
  return exchanging::tell(argc, argv, [](const std::string& program) { return couplet::join(program); });
}
