/* The story of tests/languages in C; see test_story.py. Usage: story_c writer|reader */
#include <complex.h>
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
#define REQUIRE(condition)                                              \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition); \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

enum { STEPS = 20, ROUNDS = 5, LARGE = 100000 };
static const int64_t shape[3] = {4, 3, 5};
static const int64_t box_start[3] = {1, 0, 2};
static const int64_t box_stop[3] = {4, 2, 5};

static double value(int64_t step, int64_t k, int64_t j, int64_t i) {
  return (double)(1000 * step + 100 * k + 10 * j + i);
}

static void fill(double* eta, int64_t step) {
  for (int64_t k = 0; k < shape[0]; ++k)
    for (int64_t j = 0; j < shape[1]; ++j)
      for (int64_t i = 0; i < shape[2]; ++i) eta[(k * shape[1] + j) * shape[2] + i] = value(step, k, j, i);
}

static void write_series(couplet_universe* universe) {
  const int64_t start[3] = {0, 0, 0};
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = 6;
  options.required_readers = "reader";
  options.holders = 3;
  options.collective = 1;
  couplet_series* series;
  CHECK(couplet_series_create(universe, "eta", COUPLET_DOUBLE, 3, shape, start, shape, &options, &series));
  double eta[4 * 3 * 5];
  for (int64_t step = 10; step <= 10 * STEPS; step += 10) {
    if (step % 20 == 0) {
      fill(eta, step);
      CHECK(couplet_series_put(series, eta, step));
    } else {
      void* slot;
      CHECK(couplet_series_claim(series, step - 1, &slot));
      fill(slot, step - 1);
      CHECK(couplet_series_abandon(series));
      REQUIRE(couplet_series_abandon(series) == COUPLET_ERROR_STATE);
      CHECK(couplet_series_claim(series, step, &slot));
      fill(slot, step);
      CHECK(couplet_series_publish(series));
    }
  }
  CHECK(couplet_series_close(series));
}

static void check_batch(const couplet_series_batch* batch, int64_t already) {
  const double* data = batch->data;
  for (uint64_t s = 0; s < batch->count; ++s) {
    REQUIRE(batch->ordinals[s] == (uint64_t)already + s);
    REQUIRE(batch->steps[s] == 10 * (already + (int64_t)s + 1));
    for (int64_t k = box_start[0]; k < box_stop[0]; ++k)
      for (int64_t j = box_start[1]; j < box_stop[1]; ++j)
        for (int64_t i = box_start[2]; i < box_stop[2]; ++i) REQUIRE(*data++ == value(batch->steps[s], k, j, i));
  }
}

static void read_series(couplet_universe* universe) {
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = box_start;
  options.stop = box_stop;
  options.dimensions = 3;
  options.type = COUPLET_DOUBLE;
  couplet_series* series;
  CHECK(couplet_series_open(universe, "eta", &options, &series));
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  int64_t steps = 0;
  for (;;) {
    const couplet_status status = couplet_series_read(series, 1, 4, -1, NULL, 0, &batch);
    CHECK(status);
    if (status == COUPLET_END) break;
    REQUIRE(status == COUPLET_OK && batch.lost == 0);
    check_batch(&batch, steps);
    steps += (int64_t)batch.count;
  }
  REQUIRE(steps == STEPS);
  couplet_series_statistics counts = {.struct_bytes = sizeof counts};
  CHECK(couplet_series_get_statistics(series, &counts));
  REQUIRE(counts.delivered == STEPS && counts.lost == 0);
  REQUIRE(counts.published - counts.first == counts.delivered + counts.lost + counts.skipped + counts.pending);
  CHECK(couplet_series_close(series));
}

/* Both sides are ranks of the universe's group: 0 the writer, 1 the reader. */
static void answer(couplet_group* group, int64_t* numbers) {
  couplet_message message;
  for (int round = 0; round < ROUNDS; ++round) {
    CHECK(couplet_recv(group, numbers, LARGE, COUPLET_INT64, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, &message));
    REQUIRE(message.source == 1 && message.tag == 100 + round);
    for (uint64_t n = 0; n < message.count; ++n) numbers[n] *= 2;
    CHECK(couplet_send(group, numbers, message.count, COUPLET_INT64, message.source, 200 + round));
  }
  /* Two messages, taken in the other order by their tags. */
  float first[3] = {1.5f, 2.5f, 3.5f};
  double complex second = 1 + 2 * I;
  couplet_request* requests[2];
  CHECK(couplet_isend(group, first, 3, COUPLET_FLOAT, 1, 21, &requests[0]));
  CHECK(couplet_isend(group, &second, 1, COUPLET_COMPLEX_DOUBLE, 1, 22, &requests[1]));
  CHECK(couplet_waitall(2, requests, 60, NULL, NULL));
}

static void ask(couplet_group* group, int64_t* numbers) {
  couplet_message message;
  const uint64_t counts[ROUNDS] = {0, 1, 7, 4000, LARGE};
  for (int round = 0; round < ROUNDS; ++round) {
    for (uint64_t n = 0; n < counts[round]; ++n) numbers[n] = (int64_t)n + round;
    CHECK(couplet_send(group, numbers, counts[round], COUPLET_INT64, 0, 100 + round));
    CHECK(couplet_recv(group, numbers, LARGE, COUPLET_INT64, 0, 200 + round, &message));
    REQUIRE(message.source == 0 && message.count == counts[round] && message.bytes == 8 * counts[round]);
    for (uint64_t n = 0; n < counts[round]; ++n) REQUIRE(numbers[n] == 2 * ((int64_t)n + round));
  }
  float first[3];
  double complex second;
  couplet_request* requests[2];
  int32_t index, done = 0;
  CHECK(couplet_irecv(group, &second, 1, COUPLET_COMPLEX_DOUBLE, 0, 22, &requests[0]));
  CHECK(couplet_irecv(group, first, 3, COUPLET_FLOAT, COUPLET_ANY_SOURCE, 21, &requests[1]));
  CHECK(couplet_waitany(2, requests, 60, &index, &message));
  REQUIRE(index >= 0 && message.tag == (index == 0 ? 22 : 21));
  CHECK(couplet_wait(&requests[1 - index], 60, &message));
  CHECK(couplet_test(&requests[0], &done, NULL));
  REQUIRE(done == 1 && creal(second) == 1 && cimag(second) == 2 && first[0] == 1.5f && first[2] == 3.5f);
}

int main(int argc, char** argv) {
  const int writer = argc > 1 && strcmp(argv[1], "writer") == 0;
  couplet_universe* universe;
  CHECK(couplet_join(argv[1], NULL, &universe));
  int32_t rank, size, peer;
  CHECK(couplet_universe_rank(universe, &rank, &size));
  REQUIRE(size == 2 && rank == (writer ? 0 : 1));
  CHECK(couplet_universe_find_rank(universe, writer ? "reader" : "writer", 0, &peer));
  REQUIRE(peer == 1 - rank);
  if (writer)
    write_series(universe);
  else
    read_series(universe);
  couplet_group* group;
  CHECK(couplet_universe_group(universe, &group));
  int64_t* numbers = calloc(LARGE, sizeof *numbers);
  if (writer)
    answer(group, numbers);
  else
    ask(group, numbers);
  free(numbers);
  CHECK(couplet_leave(universe));
  printf("c %s: the story is told\n", argv[1]);
  return 0;
}
