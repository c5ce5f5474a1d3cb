/* MPI behind macros and in a struct, messages of unknown size. It is converted by tests/convert. */
#include <stdio.h>
#include <stdlib.h>

#include "mpi.h"

#define REAL MPI_DOUBLE
#define CHECK(call)                     \
  do {                                  \
    if ((call) != MPI_SUCCESS) exit(3); \
  } while (0)
#define SHIP(data, count, to, tag, comm) MPI_Send((data), (count), REAL, (to), (tag), (comm))

typedef struct {
  MPI_Comm comm;
  int rank, size;
  MPI_Request pending[2];
} Context;

static void setup(Context* context, MPI_Comm comm) {
  context->comm = comm;
  CHECK(MPI_Comm_rank(comm, &context->rank));
  CHECK(MPI_Comm_size(comm, &context->size));
}

static int collect(Context* context, double* sum) {
  int flag = 0, count, got = 0;
  MPI_Status status;
  while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 6, context->comm, &flag, &status);
  for (int i = 1; i < context->size; ++i) {
    double values[16];
    CHECK(MPI_Probe(MPI_ANY_SOURCE, 6, context->comm, &status));
    CHECK(MPI_Get_count(&status, REAL, &count));
    CHECK(MPI_Recv(values, count, REAL, status.MPI_SOURCE, status.MPI_TAG, context->comm, MPI_STATUS_IGNORE));
    for (int j = 0; j < count; ++j) *sum += values[j] * status.MPI_SOURCE;
    got += count;
  }
  return got;
}

int main(int argc, char** argv) {
  Context context;
  double values[16], sum = 0;
  MPI_Init(&argc, &argv);
  setup(&context, MPI_COMM_WORLD);
  for (int i = 0; i < 16; ++i) values[i] = i + 1;
  if (context.rank > 0) {
    SHIP(values, context.rank + 2, 0, 6, context.comm);
  } else {
    int got = collect(&context, &sum); /* MPI_Send in a comment stays, and "MPI_Send" in a text */
    printf("MPI_Send: %d values, %.1f\n", got, sum);
  }
  CHECK(MPI_Ibcast(&sum, 1, REAL, 0, context.comm, &context.pending[0]));
  context.pending[1] = MPI_REQUEST_NULL;
  CHECK(MPI_Waitall(2, context.pending, MPI_STATUSES_IGNORE));
  printf("rank %d: %.1f\n", context.rank, sum);
  MPI_Finalize();
  return 0;
}
