/* Closes a series again and again while other threads begin calls on it, and leaves in the same way. A call of another
 * thread succeeds, or says that the handle is closed. See test_closing.py. Usage: closing_c TIMES */
#include <couplet/couplet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLERS = 3 };
static couplet_universe* universe;
static _Atomic(couplet_series*) reader;
static atomic_bool over;
static atomic_int rounds[CALLERS]; /* of each caller */
static atomic_int refused;

static void check(couplet_status status, const char* what) {
  if (status == COUPLET_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, couplet_status_name(status), couplet_error_text());
  exit(1);
}

static void check_beside_close(couplet_status status, const char* what) {
  if (status == COUPLET_ERROR_STATE || status == COUPLET_ERROR_ARGUMENT) {
    atomic_fetch_add(&refused, 1);
  } else {
    check(status, what);
  }
}

static void* call(void* own_rounds) {
  while (!atomic_load(&over)) {
    couplet_series* const series = atomic_load(&reader);
    const couplet_awaited awaited = {.series = series};
    uint64_t first = 0;
    uint64_t end = 0;
    int32_t index = -1;
    check_beside_close(couplet_series_retained(series, &first, &end, NULL), "retained");
    const couplet_status ready = couplet_wait_any(&awaited, 1, 0, &index, NULL);
    if (ready != COUPLET_NOT_YET) check_beside_close(ready, "wait_any");
    atomic_fetch_add((atomic_int*)own_rounds, 1);
  }
  return NULL;
}

static couplet_series* open_reader(void) {
  couplet_series* series = NULL;
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.local = 1;
  check(couplet_series_open(universe, "eta", &options, &series), "open");
  return series;
}

/* Waits until each caller has begun a new round: a correct program does not use a handle that it closed long ago. */
static void wait_for_callers(void) {
  for (int one = 0; one < CALLERS; ++one) {
    const int before = atomic_load(&rounds[one]);
    while (atomic_load(&rounds[one]) < before + 2) sched_yield();
  }
}

int main(int count, char** arguments) {
  const int times = count == 2 ? atoi(arguments[1]) : 0;
  const int64_t shape[1] = {4};
  const int64_t start[1] = {0};
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.threads = 1;
  check(couplet_join("closer", &options, &universe), "join");
  couplet_series* writer = NULL;
  check(couplet_series_create(universe, "eta", COUPLET_INT32, 1, shape, start, shape, NULL, &writer), "create");
  const int32_t values[4] = {0};
  check(couplet_series_put(writer, values, 1), "put");
  atomic_store(&reader, open_reader());
  pthread_t callers[CALLERS];
  for (int one = 0; one < CALLERS; ++one) pthread_create(&callers[one], NULL, call, &rounds[one]);
  for (int turn = 0; turn < times; ++turn) {
    check(couplet_series_close(atomic_load(&reader)), "close");
    atomic_store(&reader, open_reader());
    wait_for_callers();
  }
  check(couplet_leave(universe), "leave");
  wait_for_callers();
  atomic_store(&over, 1);
  for (int one = 0; one < CALLERS; ++one) pthread_join(callers[one], NULL);
  printf("%d closed, %s refused\n", times, atomic_load(&refused) > 0 ? "some calls were" : "no call was");
  return 0;
}
