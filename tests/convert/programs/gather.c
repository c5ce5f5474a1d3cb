/* Gathers and scatters of blocks in C, in place and with offsets. It is converted by tests/convert. */
#include <mpi.h>
#include <stdio.h>

#define MOST 8

int main(int argc, char* argv[]) {
  int rank, size, counts[MOST], places[MOST], all[MOST * MOST] = {0}, mine[MOST], prefix, total = 0;
  long product = 1;
  MPI_Datatype type = MPI_INT;
  MPI_Op operation = MPI_SUM;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < size; ++i) {
    counts[i] = i + 1;
    places[i] = total + i; /* with a gap behind each block */
    total += counts[i];
  }
  for (int i = 0; i <= rank; ++i) mine[i] = 10 * rank + i;
  MPI_Gatherv(mine, rank + 1, type, all, counts, places, type, 0, MPI_COMM_WORLD);
  MPI_Bcast(all, MOST * MOST, MPI_INT, 0, MPI_COMM_WORLD);
  printf("rank %d gatherv", rank);
  for (int i = 0; i < total + size; ++i) printf(" %d", all[i]);
  MPI_Scatterv(all, counts, places, type, rank == 0 ? MPI_IN_PLACE : mine, counts[rank], type, 0, MPI_COMM_WORLD);
  all[rank] = rank + 5;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, all, 1, type, MPI_COMM_WORLD);
  printf(" allgather");
  for (int i = 0; i < size; ++i) printf(" %d", all[i]);
  MPI_Scan(&rank, &prefix, 1, MPI_INT, operation, MPI_COMM_WORLD);
  product = rank + 2;
  MPI_Allreduce(MPI_IN_PLACE, &product, 1, MPI_LONG, MPI_PROD, MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, -rank, &half);
  if (half != MPI_COMM_NULL) {
    MPI_Gather(&rank, 1, MPI_INT, mine, 1, MPI_INT, 0, half);
    MPI_Comm_free(&half);
  }
  MPI_Alltoall(all, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
  printf(" scan %d %ld first %d alltoall %d\n", prefix, product, mine[0], counts[size - 1]);
  MPI_Finalize();
  return 0;
}
