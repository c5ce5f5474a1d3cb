// waiting.hpp under an MPI, in a job of its own or with the other program in one job.
// Usage: mpiexec -n N waiting.FLAVOUR left|right [what]
#include "../waiting.hpp"

#include <couplet/couplet_mpi.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = waiting::tell(argc, argv, [](const std::string& program) {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, program == "left" ? 0 : 1, 0, &own);
    return couplet::join(program, own);
  });
  if (failed != 0) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return failed;
}
