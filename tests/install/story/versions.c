/* Prints the version of Couplet and of the MPI that its library was built for. */
#include <couplet/couplet_mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  printf("%s, %s\n", couplet_version(), couplet_mpi_version());
  return MPI_Finalize();
}
