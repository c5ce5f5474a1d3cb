/* Makes mistakes, and prints what the calls have returned. usage: mistake WHAT... PB 1 makes most of the mistakes, and
 * PB 0 is right; afterwards all ranks still exchange a message. Several ones are possible in one process. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>
#include <waitio_mpi.h>

static int is(const char* what, const char* name) {
  return strcmp(what, name) == 0;
}

/* Returns what the wrong call has returned. */
static int mistake(const char* what, WAITIO_MPI_Comm universe, int rank) {
  waitio_req_t request, copy;
  WAITIO_MPI_Comm other;
  char data[16] = "0123456789abcde";
  int number = 0, two = 2, *lists[1] = {&two}, counts[1] = {1};
  if (is(what, "rank")) {
    int returned = waitio_isend(universe, 9, data, 4, 1, &request);
    return waitio_wait(&request) == 0 ? returned : 0; /* what failed at its start is complete */
  }
  if (is(what, "negative rank")) return waitio_irecv(universe, -1, data, 4, 1, &request);
  if (is(what, "tag")) return waitio_mpi_send(data, 4, WAITIO_MPI_CHAR, 0, -5, universe);
  if (is(what, "type")) return waitio_mpi_send(data, 4, 77, 0, 5, universe);
  if (is(what, "count")) return waitio_mpi_recv(data, -4, WAITIO_MPI_CHAR, 0, 5, universe);
  if (is(what, "null group")) return waitio_isend(NULL, 0, data, 4, 1, &request);
  if (is(what, "junk group")) return waitio_group_rank((waitio_group_t)(void*)data, &number);
  if (is(what, "null request")) return waitio_isend(universe, 0, data, 4, 1, NULL);
  if (is(what, "no PB")) return waitio_create_pbgroup(&other, 5);
  if (is(what, "no such rank in a list")) return waitio_create_group_wranks(1, lists, counts) == NULL;
  if (is(what, "no filters")) return waitio_create_group(2, NULL, NULL) == NULL;
  if (is(what, "nobody in a group")) {
    waitio_filter_func_t none[2] = {NULL, NULL};
    return waitio_create_group(2, none, NULL) == NULL;
  }
  if (is(what, "junk request")) {
    memset(&request, 0x5a, sizeof request);
    return waitio_wait(&request);
  }
  if (is(what, "stale request")) {
    waitio_isend(universe, rank, data, 4, 1, &request);
    waitio_mpi_recv(data, 4, WAITIO_MPI_CHAR, rank, 1, universe);
    copy = request;
    if (waitio_wait(&request) != 0 || waitio_wait(&request) != 0) return 0; /* a complete one is right */
    return waitio_wait(&copy);
  }
  if (is(what, "zeroed request")) {
    memset(&request, 0, sizeof request);
    return waitio_wait(&request) == 0 ? 4711 : 0; /* is complete */
  }
  if (is(what, "waitall with junk")) {
    WAITIO_MPI_Request both[2];
    int statuses[2][4];
    memset(both, 0x5a, sizeof both);
    waitio_isend(universe, rank, data, 4, 1, &both[1]);
    waitio_mpi_recv(data, 4, WAITIO_MPI_CHAR, rank, 1, universe);
    int returned = waitio_mpi_waitall(2, both, &statuses[0][0]);
    return statuses[0][2] == returned && statuses[1][2] == 0 && both[1].words[0] == 0 ? returned : 0;
  }
  if (is(what, "truncation")) {
    waitio_isend(universe, rank, data, 16, 1, &request);
    int returned = waitio_mpi_recv(data, 3, WAITIO_MPI_CHAR, rank, 1, universe);
    return waitio_wait(&request) == 0 ? returned : 0;
  }
  if (is(what, "init twice")) return waitio_init(10) == 0 ? 4711 : 0; /* is allowed */
  return 0;
}

/* Mistakes in calls that all make: PB 1 gives another argument. */
static int together(const char* what, WAITIO_MPI_Comm universe, int pb) {
  double one = 1, sum = 0;
  if (is(what, "operation"))
    return waitio_mpi_allreduce(&one, &sum, 1, WAITIO_MPI_DOUBLE, pb == 1 ? 9 : WAITIO_MPI_SUM, universe);
  if (is(what, "root")) return waitio_mpi_bcast(&one, 1, WAITIO_MPI_DOUBLE, pb == 1 ? 9 : 0, universe);
  if (is(what, "counts"))
    return waitio_mpi_allreduce(&one, &sum, pb == 1 ? 0 : 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, universe);
  return -1;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "nothing";
  WAITIO_MPI_Comm universe = NULL, heads;
  int pb, rank, size, sum = 0, one = 1;
  if (is(what, "before MPI_Init")) {
    printf("returned %d\n", waitio_init(10));
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is(what, "before init")) printf("returned %d\n", waitio_pb_size(&pb));
  if (is(what, "finalize before init")) printf("returned %d\n", waitio_finalize());
  if (waitio_create_universe(&universe) != 0) {
    printf("init failed\n");
    MPI_Finalize();
    return 0;
  }
  waitio_pb_rank(&pb);
  waitio_group_rank(universe, &rank);
  waitio_group_size(universe, &size);
  if (is(what, "no finalize")) {
    printf("PB %d of the hub\n", pb);
    MPI_Finalize();
    return 0;
  }
  if (is(what, "waits to be killed")) {
    printf("joined\n");
    fflush(stdout);
    waitio_mpi_recv(&one, 1, WAITIO_MPI_INT, rank, 1, universe);
  }
  if (is(what, "dies")) {
    if (pb == 1) _exit(9);
    printf("returned %d\n", waitio_mpi_recv(&one, 1, WAITIO_MPI_INT, size - 1, 1, universe));
    waitio_finalize();
    MPI_Finalize();
    return 0;
  }
  int all = together(what, universe, pb);
  if (all >= 0) printf("returned %d\n", all);
  for (int i = 1; all < 0 && pb == 1 && i < argc; i++) printf("%s: %d\n", argv[i], mistake(argv[i], universe, rank));
  if (is(what, "not a member")) {
    waitio_create_universe_pbhead(&heads);
    waitio_group_rank(heads, &sum);
    if (sum < 0)
      printf("returned %d\n", waitio_mpi_allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, heads) != 0);
  }
  waitio_mpi_allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, universe);
  printf("sum %s\n", sum == size ? "right" : "wrong");
  if (is(what, "finalize with requests")) {
    waitio_req_t request;
    waitio_irecv(universe, rank, (char*)&one, 4, 3, &request);
    printf("returned %d\n", waitio_finalize());
    printf("then %d\n", waitio_wait(&request));
  } else {
    int finalized = waitio_finalize();
    if (is(what, "double finalize")) printf("returned %d then %d\n", finalized, waitio_finalize());
    if (is(what, "init again")) printf("returned %d\n", waitio_init(10));
  }
  MPI_Finalize();
  return 0;
}
