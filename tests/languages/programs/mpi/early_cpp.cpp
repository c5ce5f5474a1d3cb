// Joins with a communicator before MPI is initialized, and prints the error; see test_mpi.py.
#include <couplet/couplet_mpi.hpp>
#include <iostream>

int main() {
  try {
    static_cast<void>(couplet::join("team", MPI_COMM_WORLD));
  } catch (const couplet::Error& error) {
    std::cout << error.code() << ' ' << error.what() << '\n';
    return 0;
  }
  return 1;
}
