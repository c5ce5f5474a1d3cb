/* The fields of tests/languages in C; see test_fields.py. Usage: fields_c writer|reader */
#include <couplet/couplet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { steps = 6, rows = 4, columns = 6, levels = 5, wide = columns + 2 };

static void require(int condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "not true: %s (%s)\n", what, couplet_error_text());
    exit(1);
  }
}
#define REQUIRE(condition) require((condition), #condition)

static double density_of(int64_t step, int64_t row, int64_t column) {
  return 100.0 * (double)step + 10.0 * (double)row + (double)column;
}

/* Fills a box of density in memory that has a stride from row to row. */
static void fill(double* data, int64_t stride, int64_t first_column, int64_t last_column, int64_t step) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = first_column; column < last_column; ++column) {
      data[row * stride + column - first_column] = density_of(step, row, column);
    }
  }
}

static void mistakes_of_writing(couplet_series* series, couplet_series_array* arrays) {
  const double before = 1;
  void* data[2];
  REQUIRE(couplet_series_put_arrays(series, arrays, 2, 70) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(strstr(couplet_error_text(), "3 boxes in 2 fields") != NULL);
  REQUIRE(couplet_series_put(series, &before, 70) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_series_claim(series, 70, data) == COUPLET_ERROR_STATE);
  REQUIRE(couplet_series_claim_arrays(series, 70, data, 2) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_series_set_time(series, 29.5) == COUPLET_ERROR_STEP);
  REQUIRE(couplet_series_set_time(series, NAN) == COUPLET_ERROR_ARGUMENT);
  const int64_t far[2] = {INT64_MAX / 2, 8};
  couplet_series_array wrong[3] = {{arrays[0].data, far, 0}, arrays[1], arrays[2]};
  REQUIRE(couplet_series_put_arrays(series, wrong, 3, 70) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(strstr(couplet_error_text(), "'density'") != NULL);
}

static void write_series(couplet_universe* universe) {
  const int64_t shape[2] = {rows, columns};
  const int64_t level_shape[1] = {levels};
  const int64_t start[4] = {0, 0, 0, 2};
  const int64_t stop[4] = {rows, 2, rows, columns};
  couplet_series_field fields[2];
  couplet_series_create_options options;
  couplet_series* series = NULL;
  couplet_series_field_init(&fields[0]);
  couplet_series_field_init(&fields[1]);
  fields[0].name = "density";
  fields[0].type = COUPLET_DOUBLE;
  fields[0].dimensions = 2;
  fields[0].shape = shape;
  fields[0].start = start;
  fields[0].stop = stop;
  fields[0].box_count = 2;
  fields[1].name = "density";
  fields[1].type = COUPLET_INT32;
  fields[1].dimensions = 1;
  fields[1].shape = level_shape;
  couplet_series_create_options_init(&options);
  options.slots = 4;
  options.required_readers = "reader";
  REQUIRE(couplet_series_create_fields(universe, "sky", fields, 2, &options, &series) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(strstr(couplet_error_text(), "two fields 'density'") != NULL);
  fields[1].name = "level";
  REQUIRE(couplet_series_create_fields(universe, "sky", fields, 2, &options, &series) == COUPLET_OK);
  double with_ghosts[rows + 2][wide];
  int32_t level[levels];
  const int64_t strides[2] = {wide * 8, 8};
  couplet_series_array arrays[3] = {
      {&with_ghosts[1][1], strides, 0}, {&with_ghosts[1][3], strides, 0}, {level, NULL, 0}};
  for (int64_t step = 10; step <= 10 * steps; step += 10) {
    REQUIRE(couplet_series_set_time(series, 0.5 * (double)step) == COUPLET_OK);
    if (step % 20 == 0) {
      fill(&with_ghosts[1][1], wide, 0, columns, step);
      for (int k = 0; k < levels; ++k) level[k] = (int32_t)step + k;
      REQUIRE(couplet_series_put_arrays(series, arrays, 3, step) == COUPLET_OK);
      continue;
    }
    void* slot[3];
    REQUIRE(couplet_series_claim_arrays(series, step, slot, 3) == COUPLET_OK);
    fill(slot[0], 2, 0, 2, step);
    fill(slot[1], columns - 2, 2, columns, step);
    for (int k = 0; k < levels; ++k) ((int32_t*)slot[2])[k] = (int32_t)step + k;
    REQUIRE(couplet_series_publish(series) == COUPLET_OK);
  }
  mistakes_of_writing(series, arrays);
  couplet_series_field_info info = {.struct_bytes = sizeof info};
  REQUIRE(couplet_series_describe_field(series, 0, &info) == COUPLET_OK);
  REQUIRE(info.box_count == 2 && info.start[3] == 2 && info.step_bytes == rows * columns * 8);
  REQUIRE(couplet_series_describe_field(series, 2, &info) == COUPLET_ERROR_NOT_FOUND);
  couplet_series_waits waits = {.struct_bytes = sizeof waits};
  REQUIRE(couplet_series_get_waits(series, &waits) == COUPLET_OK);
  REQUIRE(waits.count == 0 ? *waits.longest_for == 0 : strstr(waits.longest_for, "'reader'") != NULL);
  REQUIRE(waits.longest_ns <= waits.total_ns);
  REQUIRE(couplet_series_close(series) == COUPLET_OK);
}

static void check_step(const double* density, const int64_t* strides, const int32_t* level, int64_t step) {
  for (int64_t row = 1; row < 3; ++row) {
    for (int64_t column = 1; column < 5; ++column) {
      REQUIRE(density[(row - 1) * strides[0] + (column - 1) * strides[1]] == density_of(step, row, column));
    }
  }
  for (int k = 1; k < 4; ++k) REQUIRE(level[k - 1] == step + k);
}

static void read_series(couplet_universe* universe) {
  const int64_t start[2] = {1, 1};
  const int64_t stop[2] = {3, 5};
  const int64_t low[1] = {1};
  const int64_t high[1] = {4};
  couplet_series_choice fields[2];
  couplet_series_open_options options;
  couplet_series* series = NULL;
  couplet_series_choice_init(&fields[0]);
  couplet_series_choice_init(&fields[1]);
  fields[0].name = "level";
  fields[0].start = low;
  fields[0].stop = high;
  fields[0].dimensions = 1;
  fields[1].name = "vapour";
  fields[1].start = start;
  fields[1].stop = stop;
  fields[1].dimensions = 2;
  couplet_series_open_options_init(&options);
  options.fields = fields;
  options.field_count = 2;
  REQUIRE(couplet_series_open(universe, "sky", &options, &series) == COUPLET_ERROR_NOT_FOUND);
  REQUIRE(strstr(couplet_error_text(), "it has 'density', 'level'") != NULL);
  fields[1].name = "density";
  REQUIRE(couplet_series_open(universe, "sky", &options, &series) == COUPLET_OK);
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  double turned[2][4][2]; /* the last dimension is the rows */
  int32_t level[2][3];
  const int64_t out_strides[3] = {sizeof turned[0], 8, 16};
  const couplet_series_array outs[2] = {{level, NULL, sizeof level}, {turned, out_strides, 0}};
  const int64_t turned_strides[2] = {1, 2};
  const int64_t plain_strides[2] = {4, 1};
  REQUIRE(couplet_series_read_arrays(series, 1, 2, -1, outs, 1, &batch) == COUPLET_ERROR_ARGUMENT);
  couplet_series_batch unset = {.struct_bytes =
                                    0}; /* a read that cannot give its batch consumed the steps all the same */
  const double time = 5;
  REQUIRE(couplet_series_read(series, 1, 2, -1, NULL, 0, &unset) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_series_read_arrays(series, 1, 2, -1, outs, 2, &unset) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_series_read_at(series, &time, 1, -1, NULL, 0, &unset) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(strstr(couplet_error_text(), "couplet_series_read_at: set struct_bytes of the result") != NULL);
  couplet_series_statistics statistics = {.struct_bytes = sizeof statistics};
  REQUIRE(couplet_series_get_statistics(series, &statistics) == COUPLET_OK && statistics.delivered == 0);
  int64_t got = 0;
  for (int turn = 0;; ++turn) {
    const couplet_status status = couplet_series_read_arrays(series, 1, 2, -1, outs, turn % 2 == 0 ? 2 : 0, &batch);
    if (status == COUPLET_END) break;
    REQUIRE(status == COUPLET_OK && batch.field_count == 2 && batch.lost == 0);
    for (uint64_t i = 0; i < batch.count; ++i) {
      const int64_t step = 10 * ++got;
      REQUIRE(batch.steps[i] == step && batch.times[i] == 0.5 * (double)step);
      const double* density = (const double*)batch.fields[1].data;
      const int32_t* own = (const int32_t*)batch.fields[0].data + 3 * i;
      if (turn % 2 == 0) {
        check_step(density + 8 * i, turned_strides, own, step);
      } else {
        check_step(density + 8 * i, plain_strides, own, step);
      }
    }
  }
  REQUIRE(got == steps);
  couplet_series_waits waits = {.struct_bytes = sizeof waits};
  REQUIRE(couplet_series_get_waits(series, &waits) == COUPLET_ERROR_STATE);
  REQUIRE(couplet_series_set_time(series, 1) == COUPLET_ERROR_STATE);
  REQUIRE(couplet_series_close(series) == COUPLET_OK);
}

static void read_by_time(couplet_universe* universe) {
  couplet_series_open_options options;
  couplet_series* series = NULL;
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  couplet_series_open_options_init(&options);
  options.mode = COUPLET_SERIES_FOLLOW;
  options.interval = -1;
  REQUIRE(couplet_series_open(universe, "sky", &options, &series) == COUPLET_ERROR_ARGUMENT);
  options.interval = 0;
  const int64_t offsets[1] = {0};
  couplet_series_weights weights;
  couplet_series_weights_init(&weights);
  weights.rows = INT64_MAX;
  weights.source_points = 1;
  weights.row_offsets = offsets;
  options.weights = &weights;
  REQUIRE(couplet_series_open(universe, "sky", &options, &series) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(strstr(couplet_error_text(), "9223372036854775807 rows") != NULL);
  options.weights = NULL;
  options.interval = 20;
  REQUIRE(couplet_series_open(universe, "sky", &options, &series) == COUPLET_OK);
  REQUIRE(couplet_series_read(series, 1, 8, -1, NULL, 0, &batch) == COUPLET_OK);
  REQUIRE(batch.count == 2 && batch.steps[0] == 30 && batch.steps[1] == 40 && batch.times[1] == 20);
  REQUIRE(couplet_series_close(series) == COUPLET_OK);
}

/* Reads at times between two steps, into memory of the caller. */
static void read_between(couplet_universe* universe) {
  const int64_t shape[1] = {2};
  const double values[2][2] = {{1, 2}, {5, 10}};
  const double times[2] = {0.5, 0.75};
  double read[2][2];
  const couplet_series_array out = {read, NULL, sizeof read};
  const couplet_series_array small = {read, NULL, sizeof read - 8};
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  couplet_series_open_options options;
  couplet_series* writer = NULL;
  couplet_series* reader = NULL;
  couplet_series_open_options_init(&options);
  options.local = 1;
  REQUIRE(couplet_series_create(universe, "pair", COUPLET_DOUBLE, 1, shape, NULL, NULL, NULL, &writer) == COUPLET_OK);
  REQUIRE(couplet_series_open(universe, "pair", &options, &reader) == COUPLET_OK);
  for (int step = 0; step < 2; ++step) {
    REQUIRE(couplet_series_set_time(writer, step) == COUPLET_OK);
    REQUIRE(couplet_series_put(writer, values[step], step) == COUPLET_OK);
  }
  REQUIRE(couplet_series_read_at(reader, times, 2, -1, &small, 1, &batch) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_series_read_at(reader, times, 2, -1, &out, 1, &batch) == COUPLET_OK);
  REQUIRE(batch.count == 2 && batch.data == read && batch.times[1] == 0.75 && batch.steps[1] == 0);
  REQUIRE(read[0][0] == 3 && read[0][1] == 6 && read[1][0] == 4 && read[1][1] == 8);
  REQUIRE(couplet_series_close(reader) == COUPLET_OK && couplet_series_close(writer) == COUPLET_OK);
}

int main(int argc, char** argv) {
  couplet_universe* universe = NULL;
  REQUIRE(argc == 2 && couplet_join(argv[1], NULL, &universe) == COUPLET_OK);
  if (strcmp(argv[1], "writer") == 0) {
    write_series(universe);
    read_between(universe);
  } else {
    read_series(universe);
    read_by_time(universe);
  }
  couplet_group* everybody = NULL;
  int32_t other = strcmp(argv[1], "writer") == 0 ? 1 : 0;
  couplet_message message;
  REQUIRE(couplet_universe_group(universe, &everybody) == COUPLET_OK); /* the steps stay until both have read all */
  REQUIRE(couplet_send(everybody, &other, 1, COUPLET_INT32, other, 1) == COUPLET_OK);
  REQUIRE(couplet_recv(everybody, &other, 1, COUPLET_INT32, other, 1, &message) == COUPLET_OK);
  REQUIRE(couplet_leave(universe) == COUPLET_OK);
  printf("c %s: %d steps\n", argv[1], steps);
  return 0;
}
