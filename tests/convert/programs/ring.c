/* A ring in C: sendrecv, waitany, testall, and a request array on the heap. It is converted by tests/convert. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void pass_on(double* value, int rank, int size, MPI_Comm comm);

int main(int argc, char** argv) {
  int rank, size, index, done = 0, provided = 0;
  double value, got[2] = {0, 0};
  MPI_Status status, *statuses;
  MPI_Request *requests, last = MPI_REQUEST_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  value = rank + 0.5;
  pass_on(&value, rank, size, MPI_COMM_WORLD);
  requests = malloc(4 * sizeof(MPI_Request));
  statuses = (MPI_Status*)malloc(4 * sizeof(MPI_Status));
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  MPI_Irecv(&got[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&got[1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, requests + 1);
  MPI_Isend(&value, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(&value, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[3]);
  if (MPI_Waitall(4, requests, statuses) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  if (left != MPI_PROC_NULL && statuses[0].MPI_SOURCE != left) printf("wrong source\n");
  MPI_Irecv(&got[0], 1, MPI_DOUBLE, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &last);
  MPI_Send(&got[1], 1, MPI_DOUBLE, (rank + 1) % size, 2, MPI_COMM_WORLD);
  MPI_Waitany(1, &last, &index, &status);
  while (!done) MPI_Testall(1, &last, &done, MPI_STATUSES_IGNORE);
  printf("rank %d: %.2f %.2f %d %d %d\n", rank, got[0], got[1], index, status.MPI_TAG, last == MPI_REQUEST_NULL);
  (void)provided;
  free(requests);
  free(statuses);
  MPI_Finalize();
  return 0;
}

static void pass_on(double* value, int rank, int size, MPI_Comm comm) {
  MPI_Sendrecv_replace(value, 1, MPI_DOUBLE, (rank + 1) % size, 3, (rank + size - 1) % size, 3, comm,
                       MPI_STATUS_IGNORE);
}
