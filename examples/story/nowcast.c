#include <couplet/couplet.h>
#include <stdio.h>

int main(void) {
  const int64_t start[] = {50, 100}, stop[] = {150, 200};
  couplet_series_open_options box;
  couplet_series_open_options_init(&box);
  box.start = start, box.stop = stop, box.dimensions = 2;
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  couplet_universe* universe;
  couplet_series* eta;
  double highest = -1e300;
  uint64_t steps = 0, n;
  couplet_status status = couplet_join("nowcast", NULL, &universe);
  if (status == COUPLET_OK)
    status = couplet_series_open(universe, "eta", &box, &eta); /* holds: the writer waits for it */
  while (status == COUPLET_OK && (status = couplet_series_read(eta, 1, 64, -1, NULL, 0, &batch)) == COUPLET_OK)
    for (n = 0, steps += batch.count; n < batch.count * 100 * 100; n++)
      if (((const double*)batch.data)[n] > highest) highest = ((const double*)batch.data)[n];
  if (status != COUPLET_END) return fprintf(stderr, "%s\n", couplet_error_text()), 1;
  printf("%d steps, highest %.3f\n", (int)steps, highest);
  return couplet_leave(universe) != COUPLET_OK;
}
