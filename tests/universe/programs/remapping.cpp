// remapping.hpp without MPI; rank and size come from COUPLET_RANK and COUPLET_SIZE. Usage: remapping ocean|air [what]
#include "remapping.hpp"

int main(int argc, char** argv) {
  return remapping::tell(argc, argv, [](const std::string& program) { return couplet::join(program); });
}
