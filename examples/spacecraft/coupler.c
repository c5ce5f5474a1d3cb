/* The coupler: requests about a field that has turned over go to the workers "turns", and those about a field that
 * piles up to "sheets". */
#include <couplet/couplet.h>
#include <stdio.h>

enum { TURNED = 1, TURNS_WORKER = 1, SHEETS_WORKER = 2 };

static couplet_status dispatch_all(couplet_tasks* tasks) {
  couplet_task_info task = {.struct_bytes = sizeof task};
  couplet_status status;
  while ((status = couplet_tasks_next(tasks, NULL, -1, &task)) == COUPLET_OK) {
    const int32_t worker = task.parameters[0] == TURNED ? TURNS_WORKER : SHEETS_WORKER;
    status =
        couplet_tasks_dispatch(tasks, task.id, worker, task.parameters, task.parameter_count, NULL, 0, COUPLET_BYTE);
    if (status != COUPLET_OK) break;
  }
  return status == COUPLET_END ? COUPLET_OK : status;
}

int main(void) {
  couplet_universe* universe;
  couplet_tasks* tasks;
  couplet_tasks_options options;
  couplet_tasks_options_init(&options);
  options.role = COUPLET_TASKS_COUPLER;
  options.workers = "turns,sheets";
  if (couplet_join("coupler", NULL, &universe) != COUPLET_OK ||
      couplet_tasks_open(universe, "spacecraft", &options, &tasks) != COUPLET_OK || dispatch_all(tasks) != COUPLET_OK ||
      couplet_tasks_close(tasks) != COUPLET_OK || couplet_leave(universe) != COUPLET_OK) {
    fprintf(stderr, "coupler: %s\n", couplet_error_text());
    return 1;
  }
  return 0;
}
