// coalescing.hpp under an MPI. Usage: mpiexec -n N coalescing.FLAVOUR PROGRAM WHAT
#include "../coalescing.hpp"

#include <couplet/couplet_mpi.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed =
      coalescing::tell(argc, argv, [](const std::string& program) { return couplet::join(program, MPI_COMM_WORLD); });
  if (failed != 0) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return failed;
}
