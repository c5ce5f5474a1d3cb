/* mistake ROLE WHAT: requester, coupler or worker (id 3), which send, hand on and do one request with two parameters
 * and four real8, except for one mistake. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "exchange.h"

static const char* what;

static int is(const char* mistake) {
  return strcmp(what, mistake) == 0;
}

/* Sleeps until the process is ended. */
static void sleep_for_ever(void) {
  for (;;) pause();
}

static int requester(void) {
  int parameters[2] = {1, 2}, area;
  double data[DATA] = {1, 2, 3, 4}, field[8] = {0};
  int64_t handle, second;
  if (is("before init")) CTCAR_sendreq(parameters, 2);
  CTCAR_init();
  if (is("init twice")) CTCAR_init();
  if (is("wrong role")) CTCAW_complete();
  if (is("other order")) return CTCAR_finalize();
  EXPECT(CTCAR_test(0) == 1 && CTCAR_wait(0) == 0); /* many clients take 0 for "none", and test it */
  CTCAR_regarea_real8(field, 8, &area);
  CTCAR_sendreq_withreal8_hdl(parameters, 2, data, DATA, &handle);
  if (is("two requests")) {
    CTCAR_sendreq_withreal8_hdl(parameters, 2, data, DATA, &second);
    CTCAR_wait(second);
  }
  EXPECT(handle == 1 && CTCAR_test(handle + 1) == 1); /* nothing is known of it: it counts as done */
  if (is("requester dies")) {
    CTCAR_wait(handle);
    raise(SIGKILL);
  }
  CTCAR_wait(handle);
  CTCAR_wait(handle); /* it is done, and stays so */
  EXPECT(CTCAR_test(handle) == 1 && field[0] == 10);
  printf("requester: done\n");
  fflush(stdout);
  return CTCAR_finalize();
}

static int coupler(void) {
  int reqinfo[CTCAC_REQINFOITEMS], parameters[3], source, area;
  double data[DATA];
  CTCAC_init();
  CTCAC_regarea_int(&area); /* only the requester's type counts */
  if (is("coupler never polls")) sleep_for_ever();
  for (;;) {
    CTCAC_pollreq_withreal8(reqinfo, &source, parameters, is("parameters at the coupler") ? 3 : 2, data, DATA);
    if (CTCAC_isfin()) break;
    if (is("unknown reqinfo")) reqinfo[3] = 0;
    if (is("dropped")) continue; /* this coupler does it itself */
    CTCAC_enqreq_withreal8(reqinfo, is("unknown program") ? 99 : 3, parameters, 2, data, DATA);
    if (is("enqueued twice")) CTCAC_enqreq_withreal8(reqinfo, 3, parameters, 2, data, DATA);
  }
  return CTCAC_finalize();
}

static void poll(int* source) {
  int parameters[3];
  float floats[DATA];
  double data[DATA + 1];
  if (is("parameters")) {
    CTCAW_pollreq_withreal8(source, parameters, 3, data, DATA);
  } else if (is("size")) {
    CTCAW_pollreq_withreal8(source, parameters, 2, data, DATA + 1);
  } else if (is("type")) {
    CTCAW_pollreq_withreal4(source, parameters, 2, floats, DATA);
  } else if (is("no data")) {
    CTCAW_pollreq(source, parameters, 2);
  } else {
    CTCAW_pollreq_withreal8(source, parameters, 2, data, DATA);
    if (!CTCAW_isfin()) EXPECT(parameters[0] == 1 && parameters[1] == 2 && data[3] == 4);
  }
}

static int worker(void) {
  int source, area;
  float single;
  double result = 10;
  CTCAW_init(is("program id") ? -1 : 3, is("groups") ? 2 : 1);
  CTCAW_regarea_real4(&area); /* likewise */
  for (;;) {
    poll(&source);
    if (CTCAW_isfin()) break;
    if (is("worker dies")) raise(SIGKILL);
    if (is("unknown area")) CTCAW_readarea_real8(area + 9, source, 0, 1, &result);
    if (is("type of the area")) CTCAW_readarea_real4(area, source, 0, 1, &single);
    if (is("rank")) CTCAW_readarea_real8(area, 7, 0, 1, &result);
    if (is("offset")) CTCAW_readarea_real8(area, source, 6, 3, &result);
    CTCAW_writearea_real8(area, source, 0, 1, &result);
    CTCAW_complete();
    if (is("completed twice")) CTCAW_complete();
  }
  return CTCAW_finalize();
}

int main(int argc, char** argv) {
  EXPECT(argc == 3);
  what = argv[2];
  if (strcmp(argv[1], "requester") == 0) return requester();
  return strcmp(argv[1], "coupler") == 0 ? coupler() : worker();
}
