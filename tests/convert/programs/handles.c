/* Handles in places that are easily overlooked: chosen by a condition, in structs, returned by functions that are
 * declared first, and beside pointers. It is converted by tests/convert. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Grid {
  int width;
  MPI_Comm comm;
} Grid;

typedef struct Exchange {
  MPI_Request requests[2];
  MPI_Datatype kind;
  int count;
} Exchange;

MPI_Comm whole(void);
MPI_Datatype column_type(void);

static Grid* new_grid(int width, MPI_Comm comm) {
  Grid* grid = malloc(sizeof *grid);
  grid->width = width;
  grid->comm = comm;
  return grid;
}

static void shift(const double* from, MPI_Datatype kind, int rank, int size) {
  double into[36] = {0};
  MPI_Sendrecv(from, 1, kind, (rank + 1) % size, 3, into, 1, kind, (rank + size - 1) % size, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  printf("rank %d:", rank);
  for (int i = 0; i < 36; ++i)
    if (into[i] != 0) printf(" %d=%g", i, into[i]);
  printf("\n");
}

int main(int argc, char* argv[]) {
  int rank, size, sum;
  double numbers[36];
  MPI_Comm half;
  MPI_Datatype row, real = MPI_DATATYPE_NULL;
  Exchange both = {{MPI_REQUEST_NULL, MPI_REQUEST_NULL}, MPI_DATATYPE_NULL, 2};
  MPI_Init(&argc, &argv);
  Grid* grid = new_grid(6, MPI_COMM_WORLD);
  MPI_Comm_rank(grid->comm, &rank);
  MPI_Comm_size(whole(), &size);
  real = sizeof(double) == 8 ? MPI_DOUBLE : MPI_FLOAT;
  for (int i = 0; i < 36; ++i) numbers[i] = 100 * rank + i + 1;
  if (both.kind == MPI_DATATYPE_NULL) both.kind = column_type();
  MPI_Type_contiguous(grid->width, real, &row);
  MPI_Type_commit(&row);
  for (int k = 0; k < 2; ++k) {
    MPI_Datatype chosen = k ? both.kind : row;
    shift(numbers, chosen, rank, size);
    shift(numbers, k ? row : both.kind, rank, size);
  }
  MPI_Irecv(&sum, 1, MPI_INT, (rank + size - 1) % size, 4, MPI_COMM_WORLD, &both.requests[1]);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 4, MPI_COMM_WORLD);
  MPI_Waitall(both.count, both.requests, MPI_STATUSES_IGNORE);
  printf("rank %d got %d\n", rank, sum);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int k = 0; k < 2; ++k) {
    MPI_Comm used = k ? half : MPI_COMM_WORLD;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, used);
    MPI_Comm_size(k ? half : MPI_COMM_WORLD, &size);
    printf("rank %d of %d, sum %d\n", rank, size, sum);
  }
  MPI_Comm_free(&half);
  free(grid);
  MPI_Finalize();
  return 0;
}

MPI_Comm whole(void) {
  return MPI_COMM_WORLD;
}

MPI_Datatype column_type(void) {
  MPI_Datatype column;
  MPI_Type_vector(6, 1, 6, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  return column;
}
