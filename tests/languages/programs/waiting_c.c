/* The waiting of tests/languages in C; see test_waiting.py. Usage: waiting_c source|waiter|loop */
#include <couplet/couplet.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                       \
  do {                                                                                                    \
    couplet_status status_ = (call);                                                                      \
    if (status_ < 0) {                                                                                    \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, couplet_status_name(status_), couplet_error_text()); \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)
#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: not true: %s (%s)\n", __LINE__, #condition, couplet_error_text()); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

enum { STEPS = 20, NUMBERS = 3, LAST = 4 };
static couplet_universe* universe;
static couplet_group* group;
static const int64_t shape[1] = {4};

static void refused(couplet_status status, couplet_status expected, const char* words) {
  REQUIRE(status == expected);
  REQUIRE(strstr(couplet_error_text(), words) != NULL);
}

static couplet_series* create(const char* name) {
  const int64_t start[1] = {0};
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = 8;
  options.required_readers = "waiter";
  couplet_series* series;
  CHECK(couplet_series_create(universe, name, COUPLET_INT32, 1, shape, start, shape, &options, &series));
  return series;
}

static void be_source(void) {
  couplet_series* fast = create("fast");
  couplet_series* slow = create("slow");
  int32_t index = -1;
  const couplet_awaited own = {.series = fast};
  refused(couplet_wait_any(&own, 1, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "series 'fast' is written by this rank");
  for (int32_t step = 1; step <= STEPS; ++step) {
    const int32_t values[4] = {step, step, step, step};
    const int64_t number = step;
    CHECK(couplet_series_put(fast, values, step));
    if (step % 4 == 0) CHECK(couplet_series_put(slow, values, step));
    if (step % 2 == 0) CHECK(couplet_send(group, &number, 1, COUPLET_INT64, 1, NUMBERS));
  }
  const int64_t last = 99;
  CHECK(couplet_send(group, &last, 1, COUPLET_INT64, 1, LAST));
  CHECK(couplet_series_close(fast));
  CHECK(couplet_series_close(slow));
}

static void make_mistakes(couplet_series* fast) {
  int32_t index = -1;
  couplet_awaited awaited[2] = {{.series = fast}, {.series = fast, .at_least = 2}};
  refused(couplet_wait_any(awaited, 0, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "at least one thing");
  refused(couplet_wait_any(NULL, 1, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "awaited is NULL");
  refused(couplet_wait_any(awaited, 1, 0, NULL, NULL), COUPLET_ERROR_ARGUMENT, "index is NULL");
  refused(couplet_wait_any(awaited, 1, NAN, &index, NULL), COUPLET_ERROR_ARGUMENT, "NaN");
  refused(couplet_wait_any(awaited, 2, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "entry 1 of 2 is the same as entry 0");
  awaited[1] = (couplet_awaited){.at_least = 1};
  refused(couplet_wait_any(awaited, 2, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "entry 1 of 2: 0 handles are set");
  awaited[1] = (couplet_awaited){.series = fast, .group = group};
  refused(couplet_wait_any(awaited, 2, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "2 handles are set");
  awaited[1] = (couplet_awaited){.series = fast, .tag = 3};
  refused(couplet_wait_any(awaited, 2, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "they belong to a group");
  awaited[1] = (couplet_awaited){.group = group, .at_least = 3};
  refused(couplet_wait_any(awaited, 2, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "it belongs to a series");
  awaited[1] = (couplet_awaited){.group = group, .source = 7};
  refused(couplet_wait_any(awaited, 2, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "source 7 is outside group");
  awaited[1] = (couplet_awaited){.group = group, .reserved = 1};
  refused(couplet_wait_any(awaited, 2, 0, &index, NULL), COUPLET_ERROR_ARGUMENT, "reserved is 1");
  refused(couplet_arm_any(awaited, 1, &index, NULL), COUPLET_ERROR_STATE, "couplet_universe_descriptor");
  refused(couplet_universe_descriptor(universe, NULL), COUPLET_ERROR_ARGUMENT, "descriptor is NULL");
  REQUIRE(index == -1);
}

static int32_t look(const couplet_awaited* awaited, int32_t count, int descriptor, couplet_message* message) {
  int32_t index = -1;
  if (descriptor < 0) {
    REQUIRE(couplet_wait_any(awaited, count, 60, &index, message) == COUPLET_OK);
    return index;
  }
  couplet_status status;
  while ((status = couplet_arm_any(awaited, count, &index, message)) == COUPLET_NOT_YET) {
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    REQUIRE(poll(&polled, 1, 60000) == 1);
  }
  REQUIRE(status == COUPLET_OK);
  return index;
}

/* Returns the number of steps, or -1 at the end. */
static int64_t take_steps(couplet_series* series, int64_t* newest) {
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  const couplet_status status = couplet_series_read(series, 1, 3, 0, NULL, 0, &batch);
  CHECK(status);
  if (status == COUPLET_END) return -1;
  REQUIRE(status == COUPLET_OK);
  for (uint64_t at = 0; at < batch.count; ++at) {
    REQUIRE(batch.steps[at] > *newest);
    *newest = batch.steps[at];
    REQUIRE(((const int32_t*)batch.data)[4 * at + 3] == (int32_t)*newest);
  }
  return (int64_t)batch.count;
}

static void be_waiter(int loop) {
  const char* names[2] = {"fast", "slow"};
  couplet_series* series[2];
  int64_t counts[2] = {0, 0}, newest[2] = {0, 0}, numbers = 0, last = 0;
  for (int i = 0; i < 2; ++i) CHECK(couplet_series_open(universe, names[i], NULL, &series[i]));
  make_mistakes(series[0]);
  couplet_request* request = NULL;
  CHECK(couplet_irecv(group, &last, 1, COUPLET_INT64, 0, LAST, &request));
  int32_t descriptor = -1;
  if (loop) CHECK(couplet_universe_descriptor(universe, &descriptor));
  while (series[0] != NULL || series[1] != NULL || numbers < STEPS / 2 || request != NULL) {
    couplet_awaited awaited[4];
    int32_t count = 0;
    for (int i = 0; i < 2; ++i)
      if (series[i] != NULL) awaited[count++] = (couplet_awaited){.series = series[i]};
    if (numbers < STEPS / 2) awaited[count++] = (couplet_awaited){.group = group, .tag = NUMBERS, .source = -1};
    if (request != NULL) awaited[count++] = (couplet_awaited){.request = request};
    couplet_message message = {0};
    const couplet_awaited* ready = &awaited[look(awaited, count, descriptor, &message)];
    if (ready->series != NULL) {
      const int which = ready->series == series[1];
      const int64_t taken = take_steps(series[which], &newest[which]);
      if (taken < 0) {
        CHECK(couplet_series_close(series[which]));
        series[which] = NULL;
      } else {
        counts[which] += taken;
      }
    } else if (ready->group != NULL) {
      int64_t number = 0;
      REQUIRE(message.source == 0 && message.tag == NUMBERS && message.bytes == 8);
      CHECK(couplet_recv(group, &number, 1, COUPLET_INT64, message.source, message.tag, NULL));
      REQUIRE(number == 2 * ++numbers);
    } else {
      CHECK(couplet_wait(&request, 0, NULL));
      REQUIRE(last == 99);
    }
  }
  printf("c: %d fast, %d slow, %d numbers\n", (int)counts[0], (int)counts[1], (int)numbers);
}

int main(int argc, char** argv) {
  const char* role = argc > 1 ? argv[1] : "";
  CHECK(couplet_join(strcmp(role, "source") == 0 ? "source" : "waiter", NULL, &universe));
  CHECK(couplet_universe_group(universe, &group));
  if (strcmp(role, "source") == 0) {
    be_source();
  } else {
    be_waiter(strcmp(role, "loop") == 0);
  }
  CHECK(couplet_leave(universe));
  return 0;
}
