/* Joins with a communicator before MPI is initialized, and prints the error; see test_mpi.py. */
#include <couplet/couplet_mpi.h>
#include <stdio.h>

int main(void) {
  couplet_universe* universe = NULL;
  const couplet_status status = couplet_join_mpi("team", MPI_COMM_WORLD, NULL, &universe);
  printf("%d %s\n", status, couplet_error_text());
  return universe == NULL ? 0 : 1;
}
