/* requester ID PROCS ID PROCS ID PROCS ID PROCS: the worker program of each phase, and how many of its ranks do a
 * request together. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exchange.h"

static int rank, size;
static int64_t handles[REQUESTS];
static int handle_count;

static int expected(int phase, int request, int id, int procs) {
  double sum = 0;
  for (int k = 0; k < FIELD; k++) sum += field_at(rank, 2 * request + k);
  for (int k = 0; k < DATA && phase > 0; k++) sum += data_at(rank, phase, request, k);
  return (int)(procs * sum) + id;
}

static void send_request(int phase, int request) {
  int parameters[PARAMETERS] = {phase, request, 0}, ints[DATA];
  float floats[DATA];
  double doubles[DATA];
  int64_t* handle = &handles[handle_count];
  for (int k = 0; k < DATA; k++) doubles[k] = floats[k] = (float)(ints[k] = data_at(rank, phase, request, k));
  if (request % 2 == 0) {
    handle_count++;
    if (phase == 0) EXPECT(CTCAR_sendreq_hdl(parameters, PARAMETERS, handle) == 0);
    if (phase == 1) EXPECT(CTCAR_sendreq_withint_hdl(parameters, PARAMETERS, ints, DATA, handle) == 0);
    if (phase == 2) EXPECT(CTCAR_sendreq_withreal4_hdl(parameters, PARAMETERS, floats, DATA, handle) == 0);
    if (phase == 3) EXPECT(CTCAR_sendreq_withreal8_hdl(parameters, PARAMETERS, doubles, DATA, handle) == 0);
  } else {
    if (phase == 0) EXPECT(CTCAR_sendreq(parameters, PARAMETERS) == 0);
    if (phase == 1) EXPECT(CTCAR_sendreq_withint(parameters, PARAMETERS, ints, DATA) == 0);
    if (phase == 2) EXPECT(CTCAR_sendreq_withreal4(parameters, PARAMETERS, floats, DATA) == 0);
    if (phase == 3) EXPECT(CTCAR_sendreq_withreal8(parameters, PARAMETERS, doubles, DATA) == 0);
  }
  memset(parameters, -1, sizeof parameters); /* they are free again */
}

/* Waits for every second handle, and tests the others. */
static void await_handles(void) {
  for (int k = 0; k < handle_count; k++) {
    if (k % 2 == 0) EXPECT(CTCAR_wait(handles[k]) == 0);
    while (CTCAR_test(handles[k]) != 1) usleep(200);
  }
  handle_count = 0;
}

int main(int argc, char** argv) {
  int area, results[PHASES * REQUESTS] = {0};
  float notes[PHASES * REQUESTS];
  double* field;
  EXPECT(argc == 1 + 2 * PHASES);
  EXPECT(CTCAR_init() == 0);
  MPI_Comm_rank(CTCA_subcomm, &rank);
  MPI_Comm_size(CTCA_subcomm, &size);
  CTCAR_prof_start();
  CTCAR_prof_start_total();
  field = malloc(40 * (size_t)(rank + 1) * sizeof *field);
  for (int k = 0; k < 40 * (rank + 1); k++) field[k] = field_at(rank, k);
  for (int k = 0; k < PHASES * REQUESTS; k++) notes[k] = 1;
  EXPECT(CTCAR_regarea_real8(field, 40 * (size_t)(rank + 1), &area) == 0 && area == 0);
  EXPECT(CTCAR_regarea_int(results, PHASES * REQUESTS, &area) == 0 && area == 1);
  EXPECT(CTCAR_regarea_real4(notes, PHASES * REQUESTS, &area) == 0 && area == 2);
  for (int phase = 0; phase < PHASES; phase++) {
    CTCAR_prof_start_calc();
    CTCAR_prof_stop_calc();
    for (int request = 0; request < REQUESTS; request++) send_request(phase, request);
    await_handles();
    MPI_Barrier(CTCA_subcomm); /* so that the coupler gets one phase after the other */
  }
  for (int k = 0; k < PHASES * REQUESTS; k++) { /* those without a handle come at some time */
    const time_t begun = time(NULL);
    while (*(volatile int*)&results[k] == 0 && time(NULL) < begun + 60) usleep(500);
    const int phase = k / REQUESTS, request = k % REQUESTS;
    EXPECT(results[k] == expected(phase, request, atoi(argv[1 + 2 * phase]), atoi(argv[2 + 2 * phase])));
    EXPECT(notes[k] == (float)(2 + request));
  }
  printf("requester rank %d of %d: %d right\n", rank, size, PHASES * REQUESTS);
  fflush(stdout);
  CTCAR_prof_stop_total();
  CTCAR_prof_stop();
  EXPECT(CTCAR_finalize() == 0);
  free(field);
  return 0;
}
