/* A client of waitio.h in WaitIO's style: groups by filters, requests inside structs, bytes.
 * usage: pingpong [BYTES...]: rank 0 of PB 0 sends to rank 0 of the last PB, and gets everything
 * back, each byte plus 1. */
#include <mpi.h>
#include <string.h>
#include <waitio.h>

typedef struct {
  char* data;
  waitio_req_t request; /* needs no set-up */
} transfer;

static int heads(int pbid, int rank) {
  (void)pbid;
  return rank == 0;
}

static int check(int right, const char* what) {
  if (!right) fprintf(stderr, "pingpong: wrong: %s\n", what);
  return right ? 0 : 1;
}

int main(int argc, char** argv) {
  int rank, size, pbs, pb, bad = 0, group_rank, group_size, total = 0, before = 0;
  int nprocs[16];
  waitio_filter_func_t all[4] = {truef, truef, truef, truef};
  waitio_filter_func_t first[4] = {heads, heads, heads, heads};
  int unused[4] = {0, 0, 0, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (waitio_init(10) != 0) return 1;
  waitio_pb_size(&pbs);
  waitio_pb_rank(&pb);
  waitio_get_nprocs(nprocs);
  for (int i = 0; i < pbs; i++) {
    total += nprocs[i];
    if (i < pb) before += nprocs[i];
  }
  bad += check(nprocs[pb] == size, "nprocs");
  waitio_group_t universe = waitio_create_group(4, all, unused);
  waitio_group_t ends = waitio_create_group(4, first, NULL);
  bad += check(universe != NULL && ends != NULL, "groups");
  waitio_group_rank(universe, &group_rank);
  waitio_group_size(universe, &group_size);
  bad += check(group_rank == before + rank && group_size == total, "rank in the universe");
  waitio_group_rank(ends, &group_rank);
  waitio_group_size(ends, &group_size);
  bad += check(group_rank == (rank == 0 ? pb : -1) && group_size == pbs, "rank among the heads");
  for (int word = 0; rank == 0 && pbs > 1 && (pb == 0 || pb == pbs - 1) && word < argc; word++) {
    size_t bytes = word > 0 ? (size_t)atol(argv[word]) : 8;
    transfer there, back;
    there.data = malloc(bytes + 1);
    back.data = malloc(bytes + 1);
    for (int round = 0; round < 3; round++) {
      if (pb == 0) {
        for (size_t i = 0; i < bytes; i++) there.data[i] = (char)(i * 7 + (size_t)round);
        memset(back.data, 0, bytes);
        bad += check(waitio_irecv(ends, pbs - 1, back.data, bytes, round, &back.request) == 0, "irecv");
        bad += check(waitio_isend(ends, pbs - 1, there.data, bytes, round, &there.request) == 0, "isend");
        bad += check(waitio_wait(&there.request) == 0 && waitio_wait(&back.request) == 0, "wait");
        int same = 1;
        for (size_t i = 0; i < bytes; i++) same = same && back.data[i] == (char)(there.data[i] + 1);
        bad += check(same, "data");
      } else {
        bad += check(waitio_irecv(ends, 0, back.data, bytes, round, &back.request) == 0, "irecv");
        bad += check(waitio_wait(&back.request) == 0, "wait");
        for (size_t i = 0; i < bytes; i++) there.data[i] = (char)(back.data[i] + 1);
        bad += check(waitio_isend(ends, 0, there.data, bytes, round, &there.request) == 0, "isend");
        transfer moved = there; /* a request may be copied */
        bad += check(waitio_wait(&moved.request) == 0, "wait for a copy");
      }
    }
    free(there.data);
    free(back.data);
  }
  bad += check(waitio_finalize() == 0, "finalize");
  printf("PB %d of %d rank %d: %s\n", pb, pbs, rank, bad ? "wrong" : "right");
  MPI_Finalize();
  return bad != 0;
}
