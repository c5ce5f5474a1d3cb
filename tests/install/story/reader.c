/* Program "reader_c": built by pkg-config, without MPI; reads rows 1 and 2 of every step. */
#include "story.h"

static int check(const couplet_series_batch* batch, const int64_t start[2], const int64_t stop[2]) {
  const double* value = batch->data;
  for (uint64_t index = 0; index < batch->count; ++index) {
    for (int64_t row = start[0]; row < stop[0]; ++row) {
      for (int64_t column = start[1]; column < stop[1]; ++column, ++value) {
        if (*value != expected(batch->steps[index], (int)row, (int)column)) return 0;
      }
    }
  }
  return 1;
}

int main(void) {
  couplet_universe* universe = NULL;
  must(couplet_join("reader_c", NULL, &universe));

  const int64_t start[2] = {1, 0}, stop[2] = {3, COLUMNS};
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = start;
  options.stop = stop;
  options.dimensions = 2;
  couplet_series* eta = NULL;
  must(couplet_series_open(universe, "eta", &options, &eta));

  uint64_t steps = 0;
  for (;;) {
    couplet_series_batch batch = {.struct_bytes = sizeof(batch)};
    couplet_status status = couplet_series_read(eta, 1, 8, 30.0, NULL, 0, &batch);
    if (status == COUPLET_END) break;
    must(status);
    if (!check(&batch, start, stop)) {
      fprintf(stderr, "reader_c: wrong content near step %lld\n", (long long)batch.steps[0]);
      return 1;
    }
    steps += batch.count;
  }
  must(couplet_series_close(eta));
  must(couplet_leave(universe));
  printf("reader_c: %d steps\n", (int)steps);
  return steps == STEPS ? 0 : 1;
}
