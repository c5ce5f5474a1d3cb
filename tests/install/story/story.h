/* The story that every program of this folder tells: 20 steps of a 4 x 6 array, eta[j,i] = 100 step + 10 j + i. */
#include <couplet/couplet.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 20, ROWS = 4, COLUMNS = 6 };

static inline void must(couplet_status status) {
  if (status != COUPLET_OK) {
    fprintf(stderr, "%s: %s\n", couplet_status_name(status), couplet_error_text());
    exit(1);
  }
}

static inline double expected(int64_t step, int row, int column) {
  return (double)(100 * step + 10 * row + column);
}
