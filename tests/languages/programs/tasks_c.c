/* Tasks and areas in C; see test_tasks.py. Usage: tasks_c requester|coupler|worker
 * Request n (0 to 11) has the parameters n, 2 n and the payload n, n + 1, n + 2 (double). The coupler refuses 5, gives
 * 7 another parameter and payload, and completes 9 itself. The worker says of 3 that it cannot be done, and expects two
 * parameters, while 11 has three. For the others the worker reads the box [1,3) x [2,4) of the area and writes its sum
 * and n into element n. */
#include <couplet/couplet.h>
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

enum { REQUESTS = 12 };
static couplet_universe* universe;

static couplet_tasks* open_tasks(int32_t role) {
  couplet_tasks_options options;
  couplet_tasks_options_init(&options);
  options.role = role;
  options.worker_id = role == COUPLET_TASKS_WORKER ? 40 : -1;
  options.workers = role == COUPLET_TASKS_COUPLER ? "worker" : NULL;
  couplet_tasks* tasks;
  CHECK(couplet_tasks_open(universe, "analysis", &options, &tasks));
  return tasks;
}

static void misuse(couplet_tasks* tasks) {
  const double payload[1] = {0};
  couplet_task_info info = {.struct_bytes = sizeof info};
  couplet_tasks* again;
  couplet_tasks_options options;
  couplet_tasks_options_init(&options);
  REQUIRE(couplet_tasks_open(universe, "analysis", &options, &again) == COUPLET_ERROR_EXISTS);
  options.couplers = "nobody";
  REQUIRE(couplet_tasks_open(universe, "other", &options, &again) == COUPLET_ERROR_NOT_FOUND);
  REQUIRE(strstr(couplet_error_text(), "nobody") != NULL);
  REQUIRE(couplet_tasks_submit(tasks, -7, NULL, 0, NULL, 0, COUPLET_BYTE, -1, NULL) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_tasks_submit(tasks, 40, NULL, 1, NULL, 0, COUPLET_BYTE, -1, NULL) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_tasks_submit(tasks, 40, NULL, 0, NULL, 1, COUPLET_DOUBLE, -1, NULL) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_tasks_submit(tasks, 40, NULL, 0, payload, 1, 99, -1, NULL) == COUPLET_ERROR_TYPE);
  REQUIRE(couplet_tasks_next(tasks, NULL, 0, &info) == COUPLET_ERROR_STATE);
  REQUIRE(couplet_tasks_complete(tasks, 0, COUPLET_OK, NULL) == COUPLET_ERROR_STATE);
  REQUIRE(couplet_tasks_run(tasks, 0) == COUPLET_ERROR_STATE);
  REQUIRE(couplet_tasks_close(NULL) == COUPLET_ERROR_ARGUMENT);
}

static void check_area(couplet_area* area, const double* memory) {
  couplet_area_info info = {.struct_bytes = sizeof info};
  CHECK(couplet_area_describe(area, &info));
  REQUIRE(strcmp(info.route, "own") == 0 && info.memory == (const void*)memory && info.dimensions == 2);
  for (int n = 0; n < REQUESTS; ++n) {
    const int failed = n == 3 || n == 5 || n == 9 || n == 11;
    REQUIRE(memory[n] == (failed ? n : 70 + n));
  }
}

static void request(void) {
  double memory[3 * 12]; /* element (i, j) is 12 i + j, less 6 where i is 2: the sum of the box is 70 */
  for (int n = 0; n < 36; ++n) memory[n] = n - (n >= 24 ? 6 : 0);
  const int64_t shape[2] = {3, 12};
  couplet_area_options options;
  couplet_area_options_init(&options);
  options.memory = memory;
  options.stamped = 1;
  couplet_area* area;
  CHECK(couplet_area_create(universe, "field", COUPLET_DOUBLE, 2, shape, &options, &area));
  couplet_tasks* tasks = open_tasks(COUPLET_TASKS_REQUESTER);
  misuse(tasks);
  couplet_task* handles[REQUESTS];
  for (int64_t n = 0; n < REQUESTS; ++n) {
    const int64_t parameters[3] = {n, 2 * n, 0};
    const double payload[3] = {(double)n, (double)n + 1, (double)n + 2};
    CHECK(couplet_tasks_submit(tasks, 40, parameters, n == 11 ? 3 : 2, payload, 3, COUPLET_DOUBLE, 30, &handles[n]));
  }
  int left = REQUESTS;
  while (left > 0) {
    int32_t index = -1;
    const couplet_status status = couplet_task_waitany(REQUESTS, handles, 30, &index);
    REQUIRE(index >= 0);
    const char* text = couplet_error_text();
    if (index == 3) REQUIRE(status == COUPLET_ERROR_UNSUPPORTED && strstr(text, "three is too much") != NULL);
    if (index == 5) REQUIRE(status == COUPLET_ERROR_LIMIT && strstr(text, "five is refused") != NULL);
    if (index == 11) REQUIRE(status == COUPLET_ERROR_ARGUMENT && strstr(text, "3 parameters") != NULL);
    if (index != 3 && index != 5 && index != 11) CHECK(status);
    --left;
  }
  CHECK(couplet_task_wait(&handles[0], 0));
  CHECK(couplet_area_begin(area, 30));
  check_area(area, memory);
  CHECK(couplet_area_end(area));
  CHECK(couplet_tasks_close(tasks));
  CHECK(couplet_area_close(area));
}

static void dispatch(couplet_tasks* tasks, const couplet_task_info* info) {
  const int64_t changed[2] = {7, 14};
  const double payload[3] = {7, 8, 9};
  switch (info->parameters[0]) {
    case 5:
      CHECK(couplet_tasks_complete(tasks, info->id, COUPLET_ERROR_LIMIT, "five is refused"));
      break;
    case 7:
      CHECK(couplet_tasks_dispatch(tasks, info->id, 40, changed, 2, payload, 3, COUPLET_DOUBLE));
      break;
    case 9:
      CHECK(couplet_tasks_complete(tasks, info->id, COUPLET_OK, NULL));
      break;
    default:
      CHECK(couplet_tasks_dispatch(tasks, info->id, info->worker, info->parameters, info->parameter_count,
                                   info->payload, info->payload_count, info->type));
  }
}

static void couple(void) {
  couplet_tasks* tasks = open_tasks(COUPLET_TASKS_COUPLER);
  couplet_task_info info = {.struct_bytes = sizeof info};
  REQUIRE(couplet_tasks_dispatch(tasks, 99, 40, NULL, 0, NULL, 0, COUPLET_BYTE) == COUPLET_ERROR_STATE);
  int taken = 0;
  for (;;) {
    const couplet_status status = couplet_tasks_next(tasks, NULL, 30, &info);
    CHECK(status);
    if (status == COUPLET_END) break;
    REQUIRE(status == COUPLET_OK && info.source == 0 && info.worker == 40 && info.payload_count == 3);
    REQUIRE(info.parameters[0] == taken);
    dispatch(tasks, &info);
    ++taken;
  }
  REQUIRE(taken == REQUESTS);
  CHECK(couplet_tasks_close(tasks));
}

static void do_task(couplet_area* area, const couplet_task_info* info) {
  const int64_t n = info->parameters[0];
  const double* payload = info->payload;
  REQUIRE(info->parameters[1] == 2 * n && payload[0] == (double)n && payload[2] == (double)n + 2);
  const int64_t start[2] = {1, 2}, stop[2] = {3, 4};
  double box[4];
  uint64_t stamp = 0;
  CHECK(couplet_area_read_box(area, start, stop, box, 30, &stamp));
  const double sum = box[0] + box[1] + box[2] + box[3] + (double)n;
  CHECK(couplet_area_write(area, (uint64_t)n, 1, &sum, 30, &stamp));
  REQUIRE(stamp >= 1);
}

static void work(void) {
  couplet_tasks* tasks = open_tasks(COUPLET_TASKS_WORKER);
  couplet_area* area;
  double one;
  REQUIRE(couplet_area_open(universe, "fields", 0, 0.2, &area) == COUPLET_ERROR_NOT_FOUND);
  REQUIRE(strstr(couplet_error_text(), "'field'") != NULL);
  CHECK(couplet_area_open(universe, "field", 0, 30, &area));
  REQUIRE(couplet_area_read(area, 36, 1, &one, 0, NULL) == COUPLET_ERROR_SHAPE);
  couplet_task_info info = {.struct_bytes = sizeof info};
  couplet_task_expectation expected;
  couplet_task_expectation_init(&expected);
  expected.parameter_count = 2;
  expected.payload_count = 3;
  expected.type = COUPLET_DOUBLE;
  int done = 0, refused = 0;
  for (;;) {
    const couplet_status status = couplet_tasks_next(tasks, &expected, 30, &info);
    if (status == COUPLET_END) break;
    if (status == COUPLET_ERROR_ARGUMENT) {
      ++refused;
      continue;
    }
    CHECK(status);
    REQUIRE(status == COUPLET_OK);
    ++done;
    if (info.parameters[0] == 3) {
      CHECK(couplet_tasks_complete(tasks, info.id, COUPLET_ERROR_UNSUPPORTED, "three is too much"));
      continue;
    }
    do_task(area, &info);
    CHECK(couplet_tasks_complete(tasks, info.id, COUPLET_OK, NULL));
  }
  REQUIRE(done == REQUESTS - 3 && refused == 1);
  CHECK(couplet_area_close(area));
  CHECK(couplet_tasks_close(tasks));
}

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  CHECK(couplet_join(argv[1], NULL, &universe));
  if (strcmp(argv[1], "requester") == 0)
    request();
  else if (strcmp(argv[1], "coupler") == 0)
    couple();
  else
    work();
  CHECK(couplet_leave(universe));
  printf("c %s: done\n", argv[1]);
  return 0;
}
