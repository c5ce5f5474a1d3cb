/* buffer ROLE VARIANT METHOD STEPS [late | NSTEPS [exactly]]: the time-series buffer, as in the paper's figure: 3 x 3
 * requester ranks and 2 x 2 workers. VARIANT: boxes (double, the paper's first functions), grid (int, the later ones),
 * untyped (float, those without a type). METHOD: 1 wait, 2 overwrite. late: the workers begin to read when everything
 * was loaded. NSTEPS: the workers end after so many steps. exactly: they do not read once more to be told the end. */
#include <string.h>

#include "exchange.h"

#define ROWS 18
#define COLUMNS 24
#define WORKER 4

static int rank, method, steps, late, given, exact;
static const char* variant;
static int grid_requester[2] = {3, 3}, grid_worker[2] = {2, 2}, total[2] = {ROWS, COLUMNS};

static int is(const char* name) {
  return strcmp(variant, name) == 0;
}
static double value(int step, int row, int column) {
  return 1000.0 * step + COLUMNS * row + column;
}

static void requester(void) {
  static double doubles[6 * 8];
  static int ints[6 * 8];
  static float floats[6 * 8];
  int start[2], end[2], none[1] = {0};
  CTCAR_init();
  MPI_Comm_rank(CTCA_subcomm, &rank);
  start[0] = rank / 3 * 6, start[1] = rank % 3 * 8, end[0] = start[0] + 6, end[1] = start[1] + 8;
  if (is("boxes")) EXPECT(CTCAR_buffer_init_real8(1, 2, start, end) == 0);
  if (is("grid")) EXPECT(CTCAR_buffer_init_int(1, 2, ints, grid_requester, total, method) == 0);
  if (is("untyped")) EXPECT(CTCAR_buffer_init_real4(1, 2, floats, grid_requester, total, method) == 0);
  for (int step = 0; step < steps; step++) {
    for (int k = 0; k < 6 * 8; k++) {
      doubles[k] = value(step, start[0] + k / 8, start[1] + k % 8);
      ints[k] = (int)doubles[k];
      floats[k] = (float)doubles[k];
    }
    if (is("boxes")) EXPECT(CTCAR_buffer_load_data_real8(doubles) == 0);
    if (is("grid")) EXPECT(CTCAR_buffer_load_data_int(ints) == 0);
    if (is("untyped")) EXPECT(CTCAR_buffer_load_data() == 0);
  }
  EXPECT(CTCAR_buffer_over() == 0);
  MPI_Barrier(CTCA_subcomm);
  if (late && rank == 0) EXPECT(CTCAR_sendreq(none, 1) == 0);
  EXPECT(CTCAR_buffer_free() == 0);
  EXPECT(CTCAR_finalize() == 0);
}

static void coupler(void) {
  int reqinfo[CTCAC_REQINFOITEMS], source, parameter[1];
  CTCAC_init();
  if (is("boxes")) EXPECT(CTCAC_buffer_init_real8() == 0);
  if (is("grid")) EXPECT(CTCAC_buffer_init_int() == 0);
  if (is("untyped")) EXPECT(CTCAC_buffer_init() == 0);
  for (;;) {
    CTCAC_pollreq(reqinfo, &source, parameter, 1);
    if (CTCAC_isfin()) break;
    CTCAC_enqreq(reqinfo, WORKER, parameter, 1);
  }
  EXPECT(CTCAC_buffer_free() == 0);
  EXPECT(CTCAC_finalize() == 0);
}

/* Reads one step and returns 1, or returns 2 at the end. Gives its first element and the strides, whatever its type. */
static int read_step(double* data, int count) {
  static int ints[ROWS * COLUMNS];
  int answer;
  if (is("boxes")) return CTCAW_buffer_read_data_real8(data);
  answer = is("grid") ? CTCAW_buffer_read_data_int(ints) : CTCAW_buffer_read_data();
  if (answer == 1 && !is("grid")) EXPECT(CTCAW_buffer_get_address() != NULL);
  for (int k = 0; k < count && answer == 1; k++)
    data[k] = is("grid") ? ints[k] : ((const float*)CTCAW_buffer_get_address())[k];
  return answer;
}

/* Returns 1 if all elements belong to that step. */
static int whole(const double* data, int step, const int* start, const int* end) {
  for (int row = start[0]; row < end[0]; row++)
    for (int column = start[1]; column < end[1]; column++)
      if (*data++ != value(step, row, column)) return 0;
  return 1;
}

static void worker(void) {
  static double data[ROWS * COLUMNS];
  int start[2], end[2], last = -1, read = 0, torn = 0, source, parameter[1], answer;
  CTCAW_init(WORKER, 4);
  MPI_Comm_rank(CTCA_subcomm, &rank);
  const int rows = is("boxes") ? 6 : 9, columns = is("boxes") ? 8 : 12, margin = is("boxes") ? 1 : 0;
  start[0] = margin * 3 + rank / 2 * rows, start[1] = margin * 4 + rank % 2 * columns;
  end[0] = start[0] + rows, end[1] = start[1] + columns;
  if (is("boxes")) EXPECT(CTCAW_buffer_init_real8(given > 0 ? given : steps + 1, start, end, method) == 0);
  if (is("grid")) EXPECT(CTCAW_buffer_init_int(grid_worker, total) == 0);
  if (is("untyped")) EXPECT(CTCAW_buffer_init(grid_worker, total) == 0);
  if (late) {
    CTCAW_pollreq(&source, parameter, 1);
    EXPECT(!CTCAW_isfin());
    CTCAW_complete();
  }
  while (!(exact && read == given) && (answer = read_step(data, rows * columns)) == 1) {
    const int step = is("boxes") ? CTCAW_get_timestep() : CTCAW_buffer_get_timestep();
    const int mixed = is("boxes") ? CTCAW_get_overwrite_flag() : CTCAW_buffer_get_overwriting_flag();
    EXPECT(step > last && step < steps && (mixed == 0 || method == 2));
    EXPECT(mixed || whole(data, step, start, end));
    if (method == 1) EXPECT(step == last + 1);
    torn += mixed, read++, last = step;
  }
  EXPECT(exact || (answer == 2 && read_step(data, 0) == 2));
  EXPECT(method == 2 || read == (given > 0 ? given : steps));
  EXPECT(last == (given > 0 ? given : steps) - 1 && (!late || torn == 0));
  if (method == 1 || late) printf("worker rank %d: %d steps\n", rank, read);
  fflush(stdout);
  if (!exact) EXPECT(CTCAW_buffer_free() == 0);
  CTCAW_pollreq(&source, parameter, 1);
  EXPECT(CTCAW_isfin());
  if (exact) EXPECT(CTCAW_buffer_free() == 0);
  EXPECT(CTCAW_finalize() == 0);
}

int main(int argc, char** argv) {
  EXPECT(argc >= 5);
  variant = argv[2], method = atoi(argv[3]), steps = atoi(argv[4]), late = argc > 5 && strcmp(argv[5], "late") == 0,
  given = argc > 5 ? atoi(argv[5]) : 0, exact = argc > 6 && strcmp(argv[6], "exactly") == 0;
  if (strcmp(argv[1], "requester") == 0) requester();
  if (strcmp(argv[1], "coupler") == 0) coupler();
  if (strcmp(argv[1], "worker") == 0) worker();
  return 0;
}
