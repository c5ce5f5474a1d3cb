/* coupler RANKS ID ID ID ID: how many ranks the requester has, and the worker program of each phase. */
#include "exchange.h"

static int reqinfo[CTCAC_REQINFOITEMS], parameters[PARAMETERS], ints[DATA];
static float floats[DATA];
static double doubles[DATA];

static int poll(int phase) {
  int source = -1;
  if (phase == 0) EXPECT(CTCAC_pollreq(reqinfo, &source, parameters, PARAMETERS) == 0);
  if (phase == 1) EXPECT(CTCAC_pollreq_withint(reqinfo, &source, parameters, PARAMETERS, ints, DATA) == 0);
  if (phase == 2) EXPECT(CTCAC_pollreq_withreal4(reqinfo, &source, parameters, PARAMETERS, floats, DATA) == 0);
  if (phase == 3) EXPECT(CTCAC_pollreq_withreal8(reqinfo, &source, parameters, PARAMETERS, doubles, DATA) == 0);
  return source;
}

static void enqueue(int phase, int id) {
  if (phase == 0) EXPECT(CTCAC_enqreq(reqinfo, id, parameters, PARAMETERS) == 0);
  if (phase == 1) EXPECT(CTCAC_enqreq_withint(reqinfo, id, parameters, PARAMETERS, ints, DATA) == 0);
  if (phase == 2) EXPECT(CTCAC_enqreq_withreal4(reqinfo, id, parameters, PARAMETERS, floats, DATA) == 0);
  if (phase == 3) EXPECT(CTCAC_enqreq_withreal8(reqinfo, id, parameters, PARAMETERS, doubles, DATA) == 0);
}

int main(int argc, char** argv) {
  int area, done = 0, requesters;
  float note;
  EXPECT(argc == 2 + PHASES);
  EXPECT(CTCAC_init_detail(10, 10, 10, 80000, 10) == 0);
  CTCAC_prof_start();
  EXPECT(CTCAC_regarea_real8(&area) == 0 && area == 0);
  EXPECT(CTCAC_regarea_int(&area) == 0 && area == 1);
  EXPECT(CTCAC_regarea_real4(&area) == 0 && area == 2);
  requesters = atoi(argv[1]);
  for (;;) {
    const int phase = done / (REQUESTS * requesters);
    const int source = poll(phase < PHASES ? phase : 0);
    if (CTCAC_isfin()) break;
    EXPECT(source >= 0 && source < requesters && parameters[0] == phase && parameters[2] == 0);
    CTCAC_prof_start_calc();
    const size_t place = (size_t)(phase * REQUESTS + parameters[1]);
    EXPECT(CTCAC_readarea_real4(area, source, place, 1, &note) == 0);
    note = 2 * note + (float)parameters[1];
    EXPECT(CTCAC_writearea_real4(area, source, place, 1, &note) == 0);
    parameters[2] = 1000 + source;
    CTCAC_prof_stop_calc();
    enqueue(phase, atoi(argv[2 + phase]));
    done++;
  }
  CTCAC_prof_stop();
  printf("coupler: %d requests\n", done);
  fflush(stdout);
  return CTCAC_finalize();
}
