/* A requester submits a task with 7 bytes for each line of its input and says how it ended; a worker takes nothing but
 * bytes. Usage: task_of_bytes requester|worker */
#include <couplet/couplet.h>
#include <stdio.h>
#include <string.h>

static void say(const char* text) {
  printf("%s\n", text);
  fflush(stdout);
}

static void submit(couplet_tasks* tasks) {
  char line[16];
  while (fgets(line, sizeof line, stdin) != NULL) {
    couplet_task* task = NULL;
    couplet_status status =
        couplet_tasks_submit(tasks, COUPLET_TASKS_ANY_WORKER, NULL, 0, "abcdefg", 7, COUPLET_BYTE, 60, &task);
    if (status == COUPLET_OK) status = couplet_task_wait(&task, 60);
    say(status == COUPLET_OK ? "done" : couplet_error_text());
  }
}

static void work(couplet_tasks* tasks) {
  couplet_task_expectation expected;
  couplet_task_expectation_init(&expected);
  expected.type = COUPLET_BYTE;
  couplet_task_info info;
  info.struct_bytes = sizeof info;
  couplet_status status = COUPLET_OK;
  while ((status = couplet_tasks_next(tasks, &expected, -1, &info)) != COUPLET_END) {
    if (status != COUPLET_OK) {
      say(couplet_error_text());
      continue;
    }
    if (info.type != COUPLET_BYTE || info.payload_count != 7) say("other elements");
    couplet_tasks_complete(tasks, info.id, COUPLET_OK, NULL);
  }
}

int main(int argc, char** argv) {
  couplet_universe* universe = NULL;
  couplet_tasks* tasks = NULL;
  couplet_tasks_options options;
  const int works = argc > 1 && strcmp(argv[1], "worker") == 0;
  couplet_tasks_options_init(&options);
  options.role = works ? COUPLET_TASKS_WORKER : COUPLET_TASKS_REQUESTER;
  if (couplet_join(works ? "worker" : "requester", NULL, &universe) != COUPLET_OK ||
      couplet_tasks_open(universe, "t", &options, &tasks) != COUPLET_OK) {
    say(couplet_error_text());
    return 1;
  }
  if (works) {
    work(tasks);
  } else {
    submit(tasks);
  }
  couplet_tasks_close(tasks);
  couplet_leave(universe);
  return 0;
}
