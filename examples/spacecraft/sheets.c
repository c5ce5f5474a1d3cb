/* A worker: finds the strongest electric current around the spacecraft in the past steps, and when the current at the
 * spacecraft itself was strongest. */
#include <couplet/couplet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKER = 2, REACH = 6, WIDTH = 2 * REACH + 1 };
static const double spacing = 0.2;

static void require(couplet_status status) {
  if (status == COUPLET_OK) return;
  fprintf(stderr, "sheets: %s: %s\n", couplet_status_name(status), couplet_error_text());
  exit(1);
}

/* The current is four times the potential minus its four neighbours, over the square of the spacing. */
static double current_at(const double* a, int row, int column) {
  const double* here = a + row * WIDTH + column;
  return -(here[-1] + here[1] + here[-WIDTH] + here[WIDTH] - 4 * here[0]) / (spacing * spacing);
}

/* answer: the largest current at the spacecraft, its step, and the largest current in the box. */
static void look_back(const couplet_series_batch* batch, double answer[3]) {
  answer[0] = answer[2] = 0;
  for (uint64_t step = 0; step < batch->count; step++) {
    const double* a = (const double*)batch->data + step * WIDTH * WIDTH;
    const double here = fabs(current_at(a, REACH, REACH));
    if (here > answer[0]) answer[0] = here, answer[1] = (double)batch->steps[step];
    for (int row = 1; row < WIDTH - 1; row++)
      for (int column = 1; column < WIDTH - 1; column++) answer[2] = fmax(answer[2], fabs(current_at(a, row, column)));
  }
}

/* parameters: kind, event, first step, number of steps, and column and row of the spacecraft. */
static void read_past(couplet_universe* universe, const int64_t* parameters, double answer[3]) {
  const uint64_t count = (uint64_t)parameters[3];
  const int64_t start[] = {parameters[5] - REACH, parameters[4] - REACH};
  const int64_t stop[] = {parameters[5] + REACH + 1, parameters[4] + REACH + 1};
  couplet_series* potential;
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = start, options.stop = stop, options.dimensions = 2;
  options.from = COUPLET_SERIES_FROM_STEP, options.from_step = parameters[2];
  options.type = COUPLET_DOUBLE;
  require(couplet_series_open(universe, "potential", &options, &potential));
  require(couplet_series_read(potential, count, count, 60, NULL, 0, &batch));
  if (batch.count != count || batch.steps[0] != parameters[2] || batch.lost != 0) {
    fprintf(stderr, "sheets: step %lld is gone\n", (long long)parameters[2]);
    exit(1);
  }
  look_back(&batch, answer);
  require(couplet_series_close(potential));
}

int main(void) {
  couplet_universe* universe;
  couplet_tasks* tasks;
  couplet_tasks_options options;
  couplet_task_info task = {.struct_bytes = sizeof task};
  couplet_status status;
  couplet_tasks_options_init(&options);
  options.role = COUPLET_TASKS_WORKER, options.worker_id = WORKER;
  require(couplet_join("sheets", NULL, &universe));
  require(couplet_tasks_open(universe, "spacecraft", &options, &tasks));
  while ((status = couplet_tasks_next(tasks, NULL, -1, &task)) == COUPLET_OK) {
    double answer[3];
    couplet_area* sheets;
    read_past(universe, task.parameters, answer);
    require(couplet_area_open(universe, "sheets", task.source, 60, &sheets));
    require(couplet_area_write(sheets, 3 * (uint64_t)task.parameters[1], 3, answer, 60, NULL));
    require(couplet_area_close(sheets));
    require(couplet_tasks_complete(tasks, task.id, COUPLET_OK, NULL));
  }
  if (status != COUPLET_END) require(status);
  require(couplet_tasks_close(tasks));
  require(couplet_leave(universe));
  return 0;
}
