// Joins with a communicator in C++; see test_mpi.py.
#include <couplet/couplet_mpi.hpp>
#include <iostream>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int failed = 1;
  try {
    couplet::Universe universe = couplet::join("team", MPI_COMM_WORLD);
    const couplet::OwnProgram own = universe.program();
    const couplet::ProgramInfo team = universe.program(own.program);
    failed = own.rank == rank && own.size == 2 && team.name == "team" && team.size == 2 ? 0 : 1;
    universe.leave();
  } catch (const couplet::Error& error) {
    std::cerr << error.name() << ": " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  if (rank == 0 && failed == 0) {
    std::cout << "joined: cpp\n";
  }
  return failed;
}
