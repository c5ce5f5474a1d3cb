/* Datatypes in C: columns, blocks, lists of places, structures. It is converted by tests/convert. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct Particle {
  int number;
  double place[3];
  char kind;
} Particle;

static int rank, size;

static MPI_Datatype particle_type(void) {
  MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, made;
  MPI_Aint places[] = {offsetof(Particle, number), offsetof(Particle, place), offsetof(Particle, kind)};
  int lengths[] = {1, 3, 1};
  MPI_Type_create_struct(3, lengths, places, kinds, &made);
  MPI_Type_commit(&made);
  return made;
}

/* Sends an item to the right, receives one from the left, and shows what has come. */
static void shift(const char* name, const int* from, MPI_Datatype type) {
  int into[36], count, bytes;
  MPI_Aint lower, extent;
  MPI_Status status;
  MPI_Request request;
  for (int i = 0; i < 36; ++i) into[i] = -1;
  MPI_Irecv(into, 1, type, (rank + size - 1) % size, 4, MPI_COMM_WORLD, &request);
  MPI_Send(from, 1, type, (rank + 1) % size, 4, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, type, &count);
  MPI_Type_size(type, &bytes);
  MPI_Type_get_extent(type, &lower, &extent);
  printf("%s rank %d source %d count %d size %d from %ld over %ld:", name, rank, status.MPI_SOURCE, count, bytes,
         (long)lower, (long)extent);
  for (int i = 0; i < 36; ++i)
    if (into[i] >= 0) printf(" %d=%d", i, into[i]);
  printf("\n");
}

int main(int argc, char* argv[]) {
  int table[36];
  int sizes[] = {4, 3, 3}, parts[] = {2, 2, 1}, starts[] = {1, 0, 2}, lengths[] = {2, 0, 1}, at[] = {5, 9, 1};
  int ends[] = {8, 1};
  MPI_Aint bytes[] = {40, 0, 8}, address, next;
  MPI_Datatype column, block, list, few, far, twice, same, pieces, wide, stepped, particle, none = MPI_DATATYPE_NULL;
  Particle mine[2], others[2];
  memset(mine, 0, sizeof mine);
  memset(others, 0, sizeof others);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 36; ++i) table[i] = 100 * rank + i;

  MPI_Type_vector(4, 1, 9, MPI_INT, &column);
  MPI_Type_commit(&column);
  shift("vector", table, column);
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &block);
  MPI_Type_commit(&block);
  shift("subarray", table, block);
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &list);
  MPI_Type_commit(&list);
  shift("subarray as in Fortran", table, list);
  MPI_Type_free(&list);
  MPI_Type_indexed(3, lengths, at, MPI_INT, &list);
  MPI_Type_commit(&list);
  shift("indexed", table, list);
  MPI_Type_create_indexed_block(2, 2, ends, MPI_INT, &few);
  MPI_Type_commit(&few);
  shift("indexed block", table, few);
  MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &far);
  MPI_Type_commit(&far);
  shift("hindexed", table, far);
  MPI_Type_create_hindexed_block(2, 3, bytes, MPI_INT, &pieces);
  MPI_Type_commit(&pieces);
  shift("hindexed block", table, pieces);
  MPI_Type_create_hvector(3, 2, 20, MPI_INT, &stepped);
  MPI_Type_commit(&stepped);
  shift("hvector", table, stepped);
  MPI_Type_create_resized(column, 0, sizeof(int), &wide);
  MPI_Type_contiguous(3, wide, &twice);
  MPI_Type_dup(twice, &same);
  MPI_Type_commit(&same);
  shift("three columns", table, same);

  particle = particle_type();
  for (int i = 0; i < 2; ++i) {
    mine[i].number = 10 * rank + i;
    mine[i].kind = (char)('a' + rank);
    for (int d = 0; d < 3; ++d) mine[i].place[d] = rank + 0.25 * d + 4 * i;
  }
  MPI_Sendrecv(mine, 2, particle, (rank + 1) % size, 6, others, 2, particle, (rank + size - 1) % size, 6,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("structure rank %d: %d %c %g, %d %c %g\n", rank, others[0].number, others[0].kind, others[0].place[2],
         others[1].number, others[1].kind, others[1].place[1]);
  MPI_Get_address(&mine[0], &address);
  MPI_Get_address(&mine[1], &next);
  printf("apart %ld, %d\n", (long)MPI_Aint_diff(next, address), next == MPI_Aint_add(address, sizeof(Particle)));
  MPI_Type_free(&wide);
  MPI_Type_free(&particle);
  printf("freed %d\n", particle == none);
  MPI_Finalize();
  return 0;
}
