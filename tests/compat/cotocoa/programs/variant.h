/* The common part of the clients of the time-series buffer's published variants: two requester ranks, one coupler, and
 * two worker ranks in groups of GROUP ranks, which read the whole array together.
 * usage: ROLE METHOD STEPS GROUP [late]
 * Each variant has the functions below. Elements are double with the method wait (1), and int with overwrite (2). */
#ifndef VARIANT_H
#define VARIANT_H
#include <ctca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

#define ROWS 12
#define COLUMNS 10
#define WORKER 1
#define MOST_STEPS 4096

static int method, steps, group_size, late, rank;
static int start[2], end[2];
int grid_requester[2] = {2, 1}, grid_worker[2], total[2] = {ROWS, COLUMNS};
static double doubles[ROWS * COLUMNS];
static int ints[ROWS * COLUMNS];
/* Large enough for all steps that may be read at once. Not each variant uses them. */
double double_steps[MOST_STEPS * ROWS * COLUMNS];
int int_steps[MOST_STEPS * ROWS * COLUMNS];

/* These are the functions of the variant. */
static void requester_init(void);
static void load(void);
static void requester_end(void);
static void coupler_init(void);
static void worker_init(void);
static int read_step(void);         /* 1: a step, 2: the end */
static const void* step_data(void); /* data of the last read step */
static int step_number(void);
static int step_mixed(void);

static int value(int step, int row, int column) {
  return 1000 * step + COLUMNS * row + column;
}

static void requester(void) {
  int none[1] = {0};
  CTCAR_init();
  MPI_Comm_rank(CTCA_subcomm, &rank);
  start[0] = rank * ROWS / 2, end[0] = start[0] + ROWS / 2, start[1] = 0, end[1] = COLUMNS;
  requester_init();
  for (int step = 0; step < steps; step++) {
    for (int k = 0; k < ROWS / 2 * COLUMNS; k++)
      doubles[k] = ints[k] = value(step, start[0] + k / COLUMNS, k % COLUMNS);
    load();
  }
  MPI_Barrier(CTCA_subcomm);
  if (late && rank == 0) CTCAR_sendreq(none, 1); /* the workers begin to read */
  if (late && rank == 0 && group_size == 1) CTCAR_sendreq(none, 1);
  requester_end();
  CTCAR_buffer_free();
  CTCAR_finalize();
}

static void coupler(void) {
  int reqinfo[CTCAC_REQINFOITEMS], source, parameter[1];
  CTCAC_init();
  coupler_init();
  for (;;) {
    CTCAC_pollreq(reqinfo, &source, parameter, 1);
    if (CTCAC_isfin()) break;
    CTCAC_enqreq(reqinfo, WORKER, parameter, 1);
  }
  CTCAC_buffer_free();
  CTCAC_finalize();
}

static int whole(int step) {
  for (int k = start[0] * COLUMNS; k < end[0] * COLUMNS; k++) {
    const int found = k - start[0] * COLUMNS, right = value(step, k / COLUMNS, k % COLUMNS);
    if (method == 1 ? ((const double*)step_data())[found] != right : ((const int*)step_data())[found] != right)
      return 0;
  }
  return 1;
}

static void worker(void) {
  int group_rank, last = -1, read = 0, source, parameter[1];
  CTCAW_init(WORKER, group_size);
  MPI_Comm_rank(CTCA_subcomm, &group_rank);
  start[0] = group_rank * ROWS / group_size, end[0] = (group_rank + 1) * ROWS / group_size, start[1] = 0,
  end[1] = COLUMNS;
  grid_worker[0] = group_size, grid_worker[1] = 1;
  worker_init();
  if (late) {
    CTCAW_pollreq(&source, parameter, 1);
    EXPECT(!CTCAW_isfin());
    CTCAW_complete();
  }
  while (read_step() == 1) {
    const int step = step_number();
    int least, most;
    MPI_Allreduce(&step, &least, 1, MPI_INT, MPI_MIN, CTCA_subcomm);
    MPI_Allreduce(&step, &most, 1, MPI_INT, MPI_MAX, CTCA_subcomm);
    EXPECT(least == step && most == step);
    EXPECT(step > last && step < steps);
    EXPECT(method == 2 || (step == last + 1 && step_mixed() == 0));
    EXPECT(step_mixed() || whole(step));
    last = step, read++;
  }
  EXPECT(read_step() == 2);
  if (method == 1) printf("worker: %d steps\n", read);
  if (method == 2) printf("worker: last step %d\n", last);
  fflush(stdout);
  CTCAW_buffer_free();
  CTCAW_pollreq(&source, parameter, 1);
  EXPECT(CTCAW_isfin());
  CTCAW_finalize();
}

int main(int argc, char** argv) {
  EXPECT(argc >= 5);
  method = atoi(argv[2]), steps = atoi(argv[3]), group_size = atoi(argv[4]), late = argc > 5;
  if (strcmp(argv[1], "requester") == 0) requester();
  if (strcmp(argv[1], "coupler") == 0) coupler();
  if (strcmp(argv[1], "worker") == 0) worker();
  return 0;
}
#endif
