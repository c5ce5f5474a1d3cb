// waiting.hpp without MPI; rank and size come from COUPLET_RANK and COUPLET_SIZE. Usage: waiting left|right [what]
#include "waiting.hpp"

int main(int argc, char** argv) {
  return waiting::tell(argc, argv, [](const std::string& program) { return couplet::join(program); });
}
