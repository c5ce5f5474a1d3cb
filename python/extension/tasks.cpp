#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "handles.hpp"

namespace couplet_python {
namespace {

/// Owns the arguments of a call that may go on without its caller.
struct Submission {
  std::vector<int64_t> parameters;
  std::vector<char> payload;
  uint64_t count = 0;
  couplet_type type = COUPLET_BYTE;
  couplet_task* task = nullptr;
};

std::shared_ptr<Submission> copy_of(const std::vector<int64_t>& parameters, nb::handle payload, const char* verb) {
  auto copy = std::make_shared<Submission>();
  copy->parameters = parameters;
  if (!payload.is_none()) {
    const Memory memory = read_only_memory(payload, verb);
    const auto* bytes = static_cast<const char*>(memory.data);
    copy->payload.assign(bytes, bytes + memory.bytes);
    copy->count = memory.count;
    copy->type = memory.type;
  }
  return copy;
}

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

/// A copy of a task that has come.
struct Received {
  uint64_t id = 0;
  int32_t source = -1;
  int32_t worker = -1;
  std::vector<int64_t> parameters;
  std::unique_ptr<char[]> payload;  ///< nullptr: there is none
  uint64_t count = 0;
  couplet_type type = COUPLET_BYTE;

  void take(const couplet_task_info& info) {
    id = info.id;
    source = info.source;
    worker = info.worker;
    parameters.assign(info.parameters, info.parameters + info.parameter_count);
    if (info.payload != nullptr) {
      count = info.payload_count;
      type = info.type;
      const std::size_t bytes = count * couplet_type_bytes(type);
      payload = std::make_unique<char[]>(bytes);
      std::memcpy(payload.get(), info.payload, bytes);
    }
  }
  /// Returns the payload as an array that owns it, or None.
  nb::object array() {
    if (!payload) {
      return nb::none();
    }
    char* const data = payload.release();
    nb::capsule owner(data, [](void* bytes) noexcept { delete[] static_cast<char*>(bytes); });
    const std::size_t extent = count;
    return nb::cast(nb::ndarray<nb::numpy>(data, 1, &extent, owner, nullptr, element_type(type)));
  }
};

}  // namespace

// ---- one task ----

void Task::check_open(const char* verb) const {
  if (*are_closed) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": the tasks with which it was submitted are closed");
  }
}

void Task::note(const Outcome& outcome) {
  if (handle == nullptr) {
    ended = outcome;
  }
}

void Task::tell(const char* verb) {
  is_told = true;
  couplet_python::check(*ended, verb);
}

void Task::wait(double timeout_s) {
  if (ended) {
    return tell("wait");
  }
  if (handle == nullptr) {
    return;
  }
  const Use use(state, "wait");
  check_open("wait");
  const Completes completes(is_completed_now, "wait");
  const auto note_end = [&](const Outcome& now) { note(now); };
  const Outcome outcome = blocking([&] { return couplet_task_wait(&handle, timeout_s); }, note_end);
  note_end(outcome);
  if (ended) {
    return tell("wait");
  }
  couplet_python::check_open(outcome, *state, !*are_closed, "wait", "handle of the tasks");
}

bool Task::test() {
  if (ended) {
    tell("test");
    return true;
  }
  if (handle == nullptr) {
    return true;
  }
  const Use use(state, "test");
  check_open("test");
  const Completes completes(is_completed_now, "test");
  int32_t done = 0;
  const Outcome outcome = unlocked([&] { return couplet_task_test(&handle, &done); });
  note(outcome);
  is_told = handle == nullptr;
  couplet_python::check_open(outcome, *state, !*are_closed, "test", "handle of the tasks");
  return done != 0;
}

namespace {

/// Waits for one task and returns its index, or -1 if none is pending. The task's error is returned as (status, text),
/// and not raised.
nb::tuple wait_any(const std::vector<Task*>& tasks, double timeout_s) {
  const auto in_words = [](const Outcome& outcome) {
    return outcome.status < 0 ? in_words_of("waitany_task", outcome.text) : std::string();
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i]->ended && !tasks[i]->is_told) {
      tasks[i]->is_told = true;
      return nb::make_tuple(static_cast<int32_t>(i), tasks[i]->ended->status, in_words(*tasks[i]->ended));
    }
  }
  std::shared_ptr<UniverseState> state;
  std::vector<couplet_task*> handles;
  for (const Task* task : tasks) {
    handles.push_back(task->handle);
    if (task->handle != nullptr) {
      state = task->state;
    }
  }
  int32_t index = -1;
  if (!state) {
    return nb::make_tuple(index, couplet_status{COUPLET_OK}, std::string());
  }
  const Use use(state, "waitany_task");
  std::vector<std::unique_ptr<Completes>> completes;
  for (Task* task : tasks) {
    if (task->handle != nullptr) {
      task->check_open("waitany_task");
      completes.push_back(std::make_unique<Completes>(task->is_completed_now, "waitany_task"));
    }
  }
  const auto wait = [&] {
    return couplet_task_waitany(static_cast<int32_t>(handles.size()), handles.data(), timeout_s, &index);
  };
  bool done = false;
  const auto note_end = [&](const Outcome& now) {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (std::exchange(tasks[i]->handle, handles[i]) != handles[i]) {
        tasks[i]->note(now);
        index = static_cast<int32_t>(i);
        done = true;
      }
    }
  };
  const Outcome outcome = blocking(wait, note_end);
  note_end(outcome);
  const bool closed = std::any_of(tasks.begin(), tasks.end(), [](const Task* task) { return *task->are_closed; });
  if (!done) {
    check_open(outcome, *state, !closed, "waitany_task", "handle of the tasks");
  } else {
    tasks[static_cast<std::size_t>(index)]->is_told = true;
  }
  return nb::make_tuple(index, outcome.status, in_words(outcome));
}

}  // namespace

// ---- a process's part in tasks ----

couplet_tasks* Tasks::open_handle(const char* verb) const {
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": tasks '" + name + "' are closed");
  }
  return handle;
}

couplet_status Tasks::check(const Outcome& outcome, const char* verb) const {
  return check_open(outcome, *state, handle != nullptr, verb, "handle of the tasks");
}

nb::object Tasks::submit(int32_t worker, const std::vector<int64_t>& parameters, nb::handle payload,
                         double timeout_s) const {
  const std::shared_ptr<Submission> copy = copy_of(parameters, payload, "submit");
  couplet_tasks* const tasks = open_handle("submit");
  Use use(state, "submit");
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  const auto call = [tasks, copy, worker, timeout_s] {
    return couplet_tasks_submit(tasks, worker, copy->parameters.data(), static_cast<int32_t>(copy->parameters.size()),
                                copy->payload.data(), copy->count, copy->type, timeout_s, &copy->task);
  };
  const auto give_back = [lent](couplet_status) { lent->in_use = false; };
  const Outcome outcome = interruptible(call, give_back);
  give_back(outcome.status);
  if (check(outcome, "submit") != COUPLET_OK) {
    return nb::none();
  }
  return nb::cast(std::make_unique<Task>(Task{state, copy->task, are_closed}));
}

nb::tuple Tasks::next(int64_t parameters, int64_t count, couplet_type type, double timeout_s) {
  couplet_tasks* const tasks = open_handle("next");
  if (untold) {
    const Untold taken_before = *std::exchange(untold, std::nullopt);
    check(taken_before.outcome, "next");
    return nb::cast<nb::tuple>(taken_before.answer);
  }
  const Use use(state, "next");
  couplet_task_expectation expected;
  couplet_task_expectation_init(&expected);
  expected.parameter_count = parameters;
  expected.payload_count = count;
  expected.type = type;
  couplet_task_info info{};
  info.struct_bytes = sizeof info;
  Received received;
  const auto take = [&] { received.take(info); };
  // In slices: after each of them the ranks of a worker group meet, and hear that one of them has refused the call.
  const Outcome outcome = sliced(
      timeout_s,
      [&](double slice) { return taken([&] { return couplet_tasks_next(tasks, &expected, slice, &info); }, take); },
      [](const Outcome& now) { return now.status == COUPLET_NOT_YET; });
  nb::list numbers;
  for (const int64_t number : received.parameters) {
    numbers.append(number);
  }
  nb::tuple answer = nb::make_tuple(outcome.status, received.id, received.source, received.worker, nb::tuple(numbers),
                                    received.array(), received.type == COUPLET_BYTE);
  if (outcome.status != COUPLET_NOT_YET && PyErr_CheckSignals() != 0) {
    const nb::python_error error;
    untold = Untold{"next", outcome, answer};
    throw error;
  }
  check(outcome, "next");
  return answer;
}

void Tasks::refuse_next(couplet_status error, const std::string& text) const {
  couplet_tasks* const tasks = open_handle("next");
  if (untold) {
    return;  // the other ranks have made this call
  }
  Use use(state, "next");
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  const auto give_back = [lent](couplet_status) { lent->in_use = false; };
  // It waits for the other ranks, which may never come. The outcome is the error that the caller raises.
  static_cast<void>(interruptible([=] { return couplet_private_refuse_next(tasks, error, text.c_str()); }, give_back));
  give_back(COUPLET_OK);
}

void Tasks::complete(uint64_t id, couplet_status outcome, const std::string& text) const {
  couplet_tasks* const tasks = open_handle("complete");
  const Use use(state, "complete");
  check(unlocked([&] { return couplet_tasks_complete(tasks, id, outcome, text_or_null(text)); }), "complete");
}

void Tasks::dispatch(uint64_t id, int32_t worker, const std::vector<int64_t>& parameters, nb::handle payload,
                     bool as_bytes) const {
  const std::shared_ptr<Submission> copy = copy_of(parameters, payload, "dispatch");
  const couplet_type type = as_bytes && copy->type == COUPLET_UINT8 ? COUPLET_BYTE : copy->type;
  couplet_tasks* const tasks = open_handle("dispatch");
  const Use use(state, "dispatch");
  const Outcome outcome = unlocked([&] {
    return couplet_tasks_dispatch(tasks, id, worker, parameters.data(), static_cast<int32_t>(parameters.size()),
                                  copy->payload.data(), copy->count, type);
  });
  check(outcome, "dispatch");
}

/// Does with a task that an interrupted call of `next` has taken what its request asks for.
void Tasks::dispatch_untold() {
  const Untold taken_before = *std::exchange(untold, std::nullopt);
  const auto task = nb::cast<nb::tuple>(taken_before.answer);
  const auto id = nb::cast<uint64_t>(task[1]);
  if (taken_before.outcome.status != COUPLET_OK) {
    return;
  }
  try {
    dispatch(id, nb::cast<int32_t>(task[3]), nb::cast<std::vector<int64_t>>(task[4]), task[5], nb::cast<bool>(task[6]));
  } catch (const nb::python_error& error) {
    const Refusal why = refusal_of(error);
    if (why.error == COUPLET_ERROR_THREAD) {
      untold = taken_before;
      throw;
    }
    complete(id, why.error, why.text);
  }
}

bool Tasks::run(double timeout_s) {
  couplet_tasks* const tasks = open_handle("run");
  if (untold) {
    dispatch_untold();
  }
  const Use use(state, "run");
  const Outcome outcome = blocking([&] { return couplet_tasks_run(tasks, timeout_s); });
  return check(outcome, "run") == COUPLET_OK;
}

void Tasks::close() {
  if (handle == nullptr || state->handle == nullptr) {
    return;
  }
  const Use use(state, "close");
  untold.reset();
  couplet_tasks* const tasks = std::exchange(handle, nullptr);
  *are_closed = true;
  check_open(unlocked([&] { return couplet_tasks_close(tasks); }), *state, true, "close", "handle of the tasks");
}

std::unique_ptr<Tasks> open_tasks(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                  const TaskOptions& options) {
  const Use use(state, "open_tasks");
  couplet_tasks_options c;
  couplet_tasks_options_init(&c);
  c.role = options.role;
  c.worker_id = options.worker_id;
  c.group_size = options.group_size;
  c.on_lost = options.on_lost;
  c.policy = options.policy;
  c.queue_limit = options.queue_limit;
  c.couplers = options.couplers.c_str();
  c.requesters = text_or_null(options.requesters);
  c.workers = text_or_null(options.workers);
  auto tasks = std::make_unique<Tasks>(Tasks{state, nullptr, name});
  const Outcome outcome =
      unlocked([&] { return couplet_tasks_open(use.universe(), name.c_str(), &c, &tasks->handle); });
  check_open(outcome, *state, true, "open_tasks", "handle of the tasks");
  return tasks;
}

void bind_tasks(nb::module_& module) {
  nb::class_<Task>(module, "Task")
      .def_prop_ro("pending", [](const Task& task) { return !task.is_told; })
      .def_prop_ro("ended", [](const Task& task) { return task.handle == nullptr; })
      .def("wait", &Task::wait, nb::arg("timeout"), Stays())
      .def("test", &Task::test, Stays());
  nb::class_<Tasks>(module, "Tasks")
      .def_prop_ro("closed", [](const Tasks& tasks) { return tasks.handle == nullptr; })
      .def("submit", &Tasks::submit, nb::arg("worker"), nb::arg("parameters"), nb::arg("payload").none(),
           nb::arg("timeout"), Stays())
      .def("next", &Tasks::next, nb::arg("parameters"), nb::arg("count"), nb::arg("type"), nb::arg("timeout"), Stays())
      .def("refuse_next", &Tasks::refuse_next, nb::arg("error"), nb::arg("text"), Stays())
      .def("complete", &Tasks::complete, nb::arg("id"), nb::arg("outcome"), nb::arg("text"), Stays())
      .def("dispatch", &Tasks::dispatch, nb::arg("id"), nb::arg("worker"), nb::arg("parameters"),
           nb::arg("payload").none(), nb::arg("as_bytes"), Stays())
      .def("run", &Tasks::run, nb::arg("timeout"), Stays())
      .def("close", &Tasks::close, Stays());
  module.def("task_waitany", &wait_any, nb::arg("tasks"), nb::arg("timeout"), Stays());
}

}  // namespace couplet_python
