/* Program "writer": built by find_package, without MPI. */
#include "story.h"

int main(void) {
  couplet_universe* universe = NULL;
  must(couplet_join("writer", NULL, &universe));

  const int64_t shape[2] = {ROWS, COLUMNS}, start[2] = {0, 0};
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = 8;
  options.required_readers = "reader_c,reader_fortran,reader_python";
  couplet_series* eta = NULL;
  must(couplet_series_create(universe, "eta", COUPLET_DOUBLE, 2, shape, start, shape, &options, &eta));

  for (int64_t step = 1; step <= STEPS; ++step) {
    double data[ROWS][COLUMNS];
    for (int row = 0; row < ROWS; ++row) {
      for (int column = 0; column < COLUMNS; ++column) data[row][column] = expected(step, row, column);
    }
    must(couplet_series_put(eta, data, step));
  }
  must(couplet_series_close(eta));
  must(couplet_leave(universe));
  printf("writer: %d steps\n", (int)STEPS);
  return 0;
}
