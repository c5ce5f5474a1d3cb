/* Pairs of value and index of one type: their smallest and largest, with the rank that has it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double mine[2] = {(rank * 2) % 3 + 0.5, rank}, least[2];
  MPI_Allreduce(mine, least, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD);
  int count[2] = {10 * rank, rank}, most[2];
  MPI_Allreduce(count, most, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
  MPI_Status status;
  MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, &rank, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  int is_null = status.MPI_SOURCE == MPI_PROC_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 0;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  printf("rank %d least %g of %g, most %d of %d, flag %d\n", rank, least[0], least[1], most[0], most[1], flag);
  (void)is_null;
  MPI_Finalize();
  return 0;
}
