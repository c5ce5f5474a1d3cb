// coupled.hpp without MPI; rank and size come from COUPLET_RANK and COUPLET_SIZE. Usage: coupled left|right [what]
#include "coupled.hpp"

int main(int argc, char** argv) {
  return coupled::tell(argc, argv, [](const std::string& program) { return couplet::join(program); });
}
