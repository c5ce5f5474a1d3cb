// halos.hpp without MPI. Usage: halos PROGRAM WHAT
#include "halos.hpp"

int main(int argc, char** argv) {
  return halos::tell(argc, argv, [](const std::string& program) { return couplet::join(program); });
}
