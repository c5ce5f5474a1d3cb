/* worker ID PROCS PHASE */
#include "exchange.h"

static int parameters[PARAMETERS], ints[DATA];
static float floats[DATA];
static double doubles[DATA];

static int poll(int phase) {
  int source = -1;
  if (phase == 0) EXPECT(CTCAW_pollreq(&source, parameters, PARAMETERS) == 0);
  if (phase == 1) EXPECT(CTCAW_pollreq_withint(&source, parameters, PARAMETERS, ints, DATA) == 0);
  if (phase == 2) EXPECT(CTCAW_pollreq_withreal4(&source, parameters, PARAMETERS, floats, DATA) == 0);
  if (phase == 3) EXPECT(CTCAW_pollreq_withreal8(&source, parameters, PARAMETERS, doubles, DATA) == 0);
  for (int k = 0; k < DATA && phase > 0; k++) {
    if (phase == 1) doubles[k] = ints[k];
    if (phase == 2) doubles[k] = floats[k];
  }
  return source;
}

int main(int argc, char** argv) {
  int id, procs, phase, area, rank, size, initialized, done = 0;
  double field[FIELD], sum, total;
  EXPECT(argc == 4);
  id = atoi(argv[1]), procs = atoi(argv[2]), phase = atoi(argv[3]);
  if (phase == 3) MPI_Init(&argc, &argv); /* a program that does this itself */
  EXPECT(CTCAW_init(id, procs) == 0);
  MPI_Comm_rank(CTCA_subcomm, &rank);
  MPI_Comm_size(CTCA_subcomm, &size);
  EXPECT(size == procs);
  CTCAW_prof_start();
  EXPECT(CTCAW_regarea_real8(&area) == 0 && area == 0);
  EXPECT(CTCAW_regarea_int(&area) == 0 && area == 1);
  EXPECT(CTCAW_regarea_real4(&area) == 0 && area == 2);
  for (;;) {
    const int source = poll(phase);
    if (CTCAW_isfin()) break;
    EXPECT(parameters[0] == phase && parameters[2] == 1000 + source);
    CTCAW_prof_start_calc();
    EXPECT(CTCAW_readarea_real8(0, source, (size_t)(2 * parameters[1]), FIELD, field) == 0);
    sum = 0;
    for (int k = 0; k < FIELD; k++) sum += field[k];
    for (int k = 0; k < DATA && phase > 0; k++) sum += doubles[k];
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, CTCA_subcomm);
    if (rank == 0) {
      int result = (int)total + id;
      EXPECT(CTCAW_writearea_int(1, source, (size_t)(phase * REQUESTS + parameters[1]), 1, &result) == 0);
      done++;
    }
    CTCAW_prof_stop_calc();
    EXPECT(CTCAW_complete() == 0);
  }
  CTCAW_prof_stop();
  if (rank == 0) printf("worker %d: %d requests\n", id, done);
  fflush(stdout);
  EXPECT(CTCAW_finalize() == 0);
  MPI_Initialized(&initialized);
  MPI_Finalized(&done);
  EXPECT(initialized && done == (phase != 3)); /* who began it ends it */
  if (phase == 3) MPI_Finalize();
  return 0;
}
