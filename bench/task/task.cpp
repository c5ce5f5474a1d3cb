// Couplet's side of bench/run task: `left` submits requests, `right` does them, `coupler` dispatches. A ping-pong is a
// submit and a wait. A stream is many submits, then a wait for all.   usage: task left|right|coupler PIPES
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "common/control.h"
#include "couplet/couplet.h"

namespace {

couplet_tasks* tasks = nullptr;
std::deque<couplet_task*> handles;  // left: tasks that were not waited for yet
bool working = false;               // right: true if a task is in hand

void check(couplet_status status, const char* what) {
  if (status == COUPLET_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, couplet_error_text());
  std::exit(1);
}

void submit(const void* data, std::size_t bytes) {
  couplet_task* task = nullptr;
  check(couplet_tasks_submit(tasks, COUPLET_TASKS_ANY_WORKER, nullptr, 0, data, bytes, COUPLET_BYTE, -1, &task),
        "submit");
  handles.push_back(task);
}
void wait_for_all(void* /*data*/, std::size_t /*bytes*/) {
  for (; !handles.empty(); handles.pop_front()) {
    check(couplet_task_wait(&handles.front(), -1), "wait");
  }
}

void complete(const void* /*data*/, std::size_t /*bytes*/) {
  check(couplet_tasks_complete(tasks, 0, COUPLET_OK, nullptr), "complete");
  working = false;
}
void take(void* data, std::size_t bytes) {
  if (working) complete(data, bytes);
  couplet_task_info info{};
  info.struct_bytes = sizeof info;
  check(couplet_tasks_next(tasks, nullptr, -1, &info), "next");
  if (info.payload_count != bytes) {
    std::fprintf(stderr, "next: %llu bytes\n", static_cast<unsigned long long>(info.payload_count));
    std::exit(1);
  }
  working = true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: task left|right|coupler PIPES\n");
    return 2;
  }
  const char* program = arguments[1];
  couplet_universe* universe = nullptr;
  check(couplet_join(program, nullptr, &universe), "join");
  couplet_tasks_options options;
  couplet_tasks_options_init(&options);
  const bool left = std::strcmp(program, "left") == 0;
  const bool coupler = std::strcmp(program, "coupler") == 0;
  options.role = coupler ? COUPLET_TASKS_COUPLER : left ? COUPLET_TASKS_REQUESTER : COUPLET_TASKS_WORKER;
  options.workers = coupler ? "right" : nullptr;
  check(couplet_tasks_open(universe, "bench", &options, &tasks), "open");
  if (coupler) {
    check(couplet_tasks_run(tasks, -1), "run");
  } else {
    const bench_transport requester = {submit, wait_for_all};
    const bench_transport worker = {complete, take};
    bench_serve(arguments[2], left ? 0 : 1, left ? &requester : &worker);
  }
  check(couplet_tasks_close(tasks), "close");
  check(couplet_leave(universe), "leave");
  return 0;
}
