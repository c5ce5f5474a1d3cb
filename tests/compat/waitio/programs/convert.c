/* A client of waitio_mpi.h: every call of the MPI conversion library, among all ranks of all PBs. It prints one line
 * for each rank, which says how many results were right. */
#include <mpi.h>
#include <string.h>
#include <waitio_mpi.h>

#define MOST 64

static int right = 0, wrong = 0;

static void check(int good, const char* what) {
  good ? right++ : wrong++;
  if (!good) fprintf(stderr, "convert: wrong: %s\n", what);
}

static void messages(WAITIO_MPI_Comm comm, int rank, int size) {
  WAITIO_MPI_Request reqs[2 * MOST];
  int statuses[2 * MOST][WAITIO_MPI_STATUS_SIZE];
  double out[MOST], in[MOST];
  int round = 5, token = -1;
  for (int peer = 0; peer < size; peer++) {
    out[peer] = 100.0 * rank + peer;
    in[peer] = -1;
    waitio_mpi_irecv(&in[peer], 1, WAITIO_MPI_DOUBLE, peer, 7, comm, &reqs[peer]);
    waitio_mpi_isend(&out[peer], 1, WAITIO_MPI_DOUBLE_PRECISION, peer, 7, comm, &reqs[size + peer]);
  }
  check(waitio_mpi_waitall(2 * size, reqs, &statuses[0][0]) == 0, "waitall");
  for (int peer = 0; peer < size; peer++) {
    check(in[peer] == 100.0 * peer + rank, "what came from each rank");
    check(statuses[peer][0] == peer && statuses[peer][1] == 7 && statuses[peer][2] == 0 && statuses[peer][3] == 8,
          "status of a receive");
    check(statuses[size + peer][0] == -1 && statuses[size + peer][2] == 0, "status of a send");
  }
  check(waitio_mpi_waitall(2 * size, reqs, NULL) == 0, "waitall of complete requests");
  for (int i = 0; i < round; i++) { /* a ring of blocking calls */
    if (rank == 0) waitio_mpi_send(&i, 1, WAITIO_MPI_INT, (rank + 1) % size, 100 + i, comm);
    check(waitio_mpi_recv(&token, 1, WAITIO_MPI_INTEGER, (rank + size - 1) % size, 100 + i, comm) == 0, "recv");
    check(token == i, "token");
    if (rank != 0) waitio_mpi_send(&token, 1, WAITIO_MPI_INT, (rank + 1) % size, 100 + i, comm);
  }
}

static void reductions(WAITIO_MPI_Comm comm, int rank, int size) {
  int sum = rank + 1, int_result = 0;
  long longs[2] = {1L << (20 + rank), -rank}, long_results[2];
  char letter = (char)('a' + rank), last = 0;
  float single = 0.5F * (float)rank, highest = -1;
  double pair[2] = {rank, -rank}, lowest[2];
  check(waitio_mpi_allreduce(&sum, &int_result, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm) == 0, "allreduce");
  check(int_result == size * (size + 1) / 2, "sum");
  waitio_mpi_allreduce(longs, long_results, 2, WAITIO_MPI_LONG, WAITIO_MPI_MAX, comm);
  check(long_results[0] == 1L << (19 + size) && long_results[1] == 0, "max of longs");
  waitio_mpi_allreduce(&letter, &last, 1, WAITIO_MPI_CHAR, WAITIO_MPI_MAX, comm);
  check(last == (char)('a' + size - 1), "max of chars");
  check(waitio_mpi_reduce(&single, &highest, 1, WAITIO_MPI_FLOAT, WAITIO_MPI_SUM, size - 1, comm) == 0, "reduce");
  check(highest == (rank == size - 1 ? 0.25F * (float)(size * (size - 1)) : -1), "sum at the root");
  waitio_mpi_allreduce(pair, lowest, 2, WAITIO_MPI_DOUBLE, WAITIO_MPI_MIN, comm);
  check(lowest[0] == 0 && lowest[1] == -(size - 1), "min");
}

static void movements(WAITIO_MPI_Comm comm, int rank, int size) {
  int counts[MOST], offsets[MOST], all[MOST * MOST], own[MOST], total = 0;
  double word[3] = {0, 0, 0};
  if (rank == size - 1) word[0] = 1, word[1] = 2, word[2] = 3;
  check(waitio_mpi_bcast(word, 3, WAITIO_MPI_DOUBLE, size - 1, comm) == 0, "bcast");
  check(word[0] == 1 && word[1] == 2 && word[2] == 3, "what was broadcast");
  own[0] = rank, own[1] = -rank;
  memset(all, 0, sizeof all);
  check(waitio_mpi_gather(own, all, 2, WAITIO_MPI_INT, 0, comm) == 0, "gather");
  check(all[2 * (size - 1)] == (rank == 0 ? size - 1 : 0), "what was gathered");
  check(waitio_mpi_allgather(own, all, 2, WAITIO_MPI_INT, comm) == 0, "allgather");
  for (int i = 0; i < size; i++) check(all[2 * i] == i && all[2 * i + 1] == -i, "what all have gathered");
  for (int i = 0; i < size; i++) all[i] = 10 * i;
  check(waitio_mpi_scatter(all, 1, WAITIO_MPI_INT, own, 1, WAITIO_MPI_INT, 0, comm) == 0, "scatter");
  check(own[0] == 10 * rank, "what was scattered");
  for (int i = 0; i < size; i++) { /* rank i has i + 1 elements, with a gap of one before each block */
    counts[i] = i + 1;
    offsets[i] = total + 1;
    total += i + 2;
  }
  for (int i = 0; i < MOST * MOST; i++) all[i] = i;
  check(waitio_mpi_scatterv(all, counts, offsets, WAITIO_MPI_INT, own, rank + 1, WAITIO_MPI_INT, 0, comm) == 0,
        "scatterv");
  check(own[0] == offsets[rank] && own[rank] == offsets[rank] + rank, "what was scattered in parts");
  for (int i = 0; i <= rank; i++) own[i] *= 2;
  check(waitio_mpi_gatherv(own, rank + 1, WAITIO_MPI_INT, all, counts, offsets, WAITIO_MPI_INT, 0, comm) == 0,
        "gatherv");
  for (int i = 0; rank == 0 && i < size; i++)
    check(all[offsets[i] - 1] == offsets[i] - 1 && all[offsets[i]] == 2 * offsets[i], "what was gathered in parts");
}

static void groups(int pb, int pbs, int rank) {
  WAITIO_MPI_Comm heads, block;
  int group_rank, group_size, sum = 0, one = 1, bytes, nprocs[MOST];
  check(waitio_create_universe_pbhead(&heads) == 0, "heads");
  waitio_group_rank(heads, &group_rank);
  waitio_group_size(heads, &group_size);
  check(group_rank == (rank == 0 ? pb : -1) && group_size == pbs, "rank among the heads");
  if (group_rank >= 0) {
    waitio_mpi_allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, heads);
    check(sum == pbs && waitio_mpi_barrier(heads) == 0, "sum over the heads");
  }
  waitio_get_nprocs(nprocs);
  for (int i = 0; i < pbs; i++) {
    check(waitio_create_pbgroup(&block, i) == 0, "group of a PB");
    waitio_mpi_comm_rank(block, &group_rank);
    waitio_mpi_comm_size(block, &group_size);
    check(group_rank == (i == pb ? rank : -1) && group_size == nprocs[i], "rank in a PB");
    if (i == pb) {
      waitio_mpi_allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, block);
      check(sum == group_size, "sum over a PB");
    }
  }
  check(waitio_mpi_type_size(WAITIO_MPI_LONG, &bytes) == 0 && bytes == 8, "size of a type");
}

static void listed(int pb, int pbs, int rank) {
  int nprocs[MOST], first[1] = {0}, backwards[MOST], counts[MOST], size;
  int* lists[MOST] = {0};
  waitio_get_nprocs(nprocs);
  for (int i = 0; i < nprocs[pbs - 1]; i++) backwards[i] = nprocs[pbs - 1] - 1 - i;
  lists[0] = first, counts[0] = 1;
  for (int i = 1; i < pbs; i++) counts[i] = 0;
  if (pbs > 1) lists[pbs - 1] = backwards, counts[pbs - 1] = nprocs[pbs - 1];
  waitio_group_t group = waitio_create_group_wranks(pbs, lists, counts);
  int expected = pb == 0 && rank == 0 ? 0 : pbs > 1 && pb == pbs - 1 ? nprocs[pb] - rank : -1, group_rank;
  waitio_group_rank(group, &group_rank);
  waitio_group_size(group, &size);
  check(group != NULL && group_rank == expected && size == 1 + (pbs > 1 ? nprocs[pbs - 1] : 0), "listed ranks");
}

int main(int argc, char** argv) {
  WAITIO_MPI_Comm universe;
  int pb, pbs, world_rank, rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  if (waitio_create_universe(&universe) != 0) return 1; /* joins by itself */
  waitio_pb_rank(&pb);
  waitio_pb_size(&pbs);
  waitio_group_rank(universe, &rank);
  waitio_group_size(universe, &size);
  messages(universe, rank, size);
  reductions(universe, rank, size);
  movements(universe, rank, size);
  groups(pb, pbs, world_rank);
  listed(pb, pbs, world_rank);
  check(waitio_mpi_barrier(universe) == 0, "barrier");
  check(waitio_finalize() == 0, "finalize");
  printf("PB %d rank %d is %d of %d: %d right, %d wrong\n", pb, world_rank, rank, size, right, wrong);
  MPI_Finalize();
  return wrong != 0;
}
