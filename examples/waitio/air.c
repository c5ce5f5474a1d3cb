#include <mpi.h>
#include <waitio_mpi.h>

int main(int argc, char** argv) { /* PB 1: answers each surface by the wind of the step before */
  WAITIO_MPI_Comm universe, heads;
  WAITIO_MPI_Request req[2];
  double surface[10] = {0}, wind[10], own, energy = 0;
  int rank, head, error = 0;
  MPI_Init(&argc, &argv);
  if (waitio_create_universe(&universe) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  error += waitio_create_universe_pbhead(&heads);
  error += waitio_group_rank(universe, &rank) + waitio_group_rank(heads, &head);
  for (int step = 1; step <= 3 && error == 0; step++) {
    own = rank;
    if (head >= 0) {
      for (int i = 0; i < 10; i++) wind[i] = 2 * surface[i] + i;
      error += waitio_mpi_isend(wind, 10, WAITIO_MPI_DOUBLE, 0, step, heads, &req[0]);
      error += waitio_mpi_irecv(surface, 10, WAITIO_MPI_DOUBLE, 0, step, heads, &req[1]);
      error += waitio_mpi_waitall(2, req, NULL);
    }
    error += waitio_mpi_allreduce(&own, &energy, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, universe);
  }
  if (head >= 0) printf("air: energy %7.3f\n", energy);
  error += waitio_finalize();
  MPI_Finalize();
  return error != 0;
}
