#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>

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

std::shared_ptr<Submission> copy_of(const std::vector<int64_t>& parameters, nb::handle payload) {
  auto copy = std::make_shared<Submission>();
  copy->parameters = parameters;
  if (!payload.is_none()) {
    const Memory memory = read_only_memory(payload, "submit");
    const auto* bytes = static_cast<const char*>(memory.data);
    copy->payload.assign(bytes, bytes + memory.bytes);
    copy->count = memory.count;
    copy->type = memory.type;
  }
  return copy;
}

bool nothing_yet(const Outcome& outcome) {
  return outcome.status == COUPLET_NOT_YET;
}

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

/// Returns a new array with a copy of the payload, or None if there is none.
nb::object copy_payload(const couplet_task_info& info) {
  if (info.payload == nullptr) {
    return nb::none();
  }
  const std::size_t bytes = info.payload_count * couplet_type_bytes(info.type);
  char* copy = new char[bytes];
  std::memcpy(copy, info.payload, bytes);
  nb::capsule owner(copy, [](void* data) noexcept { delete[] static_cast<char*>(data); });
  const std::size_t extent = info.payload_count;
  return nb::cast(nb::ndarray<nb::numpy>(copy, 1, &extent, owner, nullptr, element_type(info.type)));
}

}  // namespace

// ---- one task ----

void Task::wait(double timeout_s) {
  if (handle == nullptr) {
    return;
  }
  const Use use(state, "wait");
  check(sliced(
      timeout_s, [&](double slice) { return couplet_task_wait(&handle, slice); },
      [&](const Outcome& outcome) { return outcome.status == COUPLET_ERROR_TIMEOUT && handle != nullptr; }));
}

bool Task::test() {
  if (handle == nullptr) {
    return true;
  }
  const Use use(state, "test");
  int32_t done = 0;
  check(unlocked([&] { return couplet_task_test(&handle, &done); }));
  return done != 0;
}

namespace {

bool handles_unchanged(const std::vector<Task*>& tasks, const std::vector<couplet_task*>& handles) {
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (tasks[i]->handle != handles[i]) {
      return false;
    }
  }
  return true;
}

/// Waits for one task and returns its index, or -1 if none is pending. The task's error is returned as (status, text),
/// and not raised.
nb::tuple wait_any(const std::vector<Task*>& tasks, double timeout_s) {
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
  const Use use(state, "waitany");
  const Outcome outcome = sliced(
      timeout_s,
      [&](double slice) {
        return couplet_task_waitany(static_cast<int32_t>(handles.size()), handles.data(), slice, &index);
      },
      [&](const Outcome& now) { return now.status == COUPLET_ERROR_TIMEOUT && handles_unchanged(tasks, handles); });
  bool done = false;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (tasks[i]->handle != handles[i]) {
      index = static_cast<int32_t>(i);
      done = true;
    }
    tasks[i]->handle = handles[i];
  }
  if (!done) {
    check(outcome);
  }
  return nb::make_tuple(index, outcome.status, outcome.text);
}

}  // namespace

// ---- a process's part in tasks ----

void Tasks::check_open(const char* verb) const {
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": the tasks are closed");
  }
}

nb::object Tasks::submit(int32_t worker, const std::vector<int64_t>& parameters, nb::handle payload,
                         double timeout_s) const {
  check_open("submit");
  const std::shared_ptr<Submission> copy = copy_of(parameters, payload);
  Use use(state, "submit");
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  const auto call = [tasks = handle, copy, worker, timeout_s] {
    return couplet_task_submit(tasks, worker, copy->parameters.data(), static_cast<int32_t>(copy->parameters.size()),
                               copy->payload.data(), copy->count, copy->type, timeout_s, &copy->task);
  };
  const auto give_back = [lent](couplet_status) { lent->in_use = false; };
  const Outcome outcome = interruptible(call, give_back);
  give_back(outcome.status);
  if (check(outcome) != COUPLET_OK) {
    return nb::none();
  }
  return nb::cast(std::make_unique<Task>(Task{state, copy->task}));
}

nb::tuple Tasks::next(int64_t parameters, int64_t count, couplet_type type, double timeout_s) const {
  check_open("next");
  const Use use(state, "next");
  couplet_task_expectation expected;
  couplet_task_expectation_init(&expected);
  expected.parameter_count = parameters;
  expected.payload_count = count;
  expected.type = type;
  couplet_task_info info{};
  info.struct_bytes = sizeof info;
  const couplet_status status = check(sliced(
      timeout_s, [&](double slice) { return couplet_task_next(handle, &expected, slice, &info); }, nothing_yet));
  if (status != COUPLET_OK) {
    return nb::make_tuple(status, 0, -1, -1, nb::tuple(), nb::none());
  }
  nb::list numbers;
  for (int32_t i = 0; i < info.parameter_count; ++i) {
    numbers.append(info.parameters[i]);
  }
  return nb::make_tuple(status, info.id, info.source, info.worker, nb::tuple(numbers), copy_payload(info));
}

void Tasks::complete(uint64_t id, couplet_status outcome, const std::string& text) const {
  check_open("complete");
  const Use use(state, "complete");
  check(unlocked([&] { return couplet_task_complete(handle, id, outcome, text_or_null(text)); }));
}

void Tasks::dispatch(uint64_t id, int32_t worker, const std::vector<int64_t>& parameters, nb::handle payload) const {
  check_open("dispatch");
  const std::shared_ptr<Submission> copy = copy_of(parameters, payload);
  const Use use(state, "dispatch");
  check(unlocked([&] {
    return couplet_task_dispatch(handle, id, worker, parameters.data(), static_cast<int32_t>(parameters.size()),
                                 copy->payload.data(), copy->count, copy->type);
  }));
}

bool Tasks::run(double timeout_s) const {
  check_open("run");
  const Use use(state, "run");
  return check(sliced(
             timeout_s, [&](double slice) { return couplet_task_run(handle, slice); }, nothing_yet)) == COUPLET_OK;
}

void Tasks::close() {
  if (handle == nullptr || state->handle == nullptr) {
    return;
  }
  const Use use(state, "close");
  couplet_tasks* tasks = std::exchange(handle, nullptr);
  check(unlocked([&] { return couplet_task_close(tasks); }));
}

std::unique_ptr<Tasks> open_tasks(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                  const TaskOptions& options) {
  const Use use(state, "open_tasks");
  couplet_task_options c;
  couplet_task_options_init(&c);
  c.role = options.role;
  c.worker_id = options.worker_id;
  c.group_size = options.group_size;
  c.on_lost = options.on_lost;
  c.policy = options.policy;
  c.queue_limit = options.queue_limit;
  c.couplers = options.couplers.c_str();
  c.requesters = text_or_null(options.requesters);
  c.workers = text_or_null(options.workers);
  auto tasks = std::make_unique<Tasks>(Tasks{state, nullptr});
  check(unlocked([&] { return couplet_task_open(state->handle, name.c_str(), &c, &tasks->handle); }));
  return tasks;
}

void bind_tasks(nb::module_& module) {
  nb::class_<Task>(module, "Task")
      .def_prop_ro("pending", [](const Task& task) { return task.handle != nullptr; })
      .def("wait", &Task::wait, nb::arg("timeout"))
      .def("test", &Task::test);
  nb::class_<Tasks>(module, "Tasks")
      .def_prop_ro("closed", [](const Tasks& tasks) { return tasks.handle == nullptr; })
      .def("submit", &Tasks::submit, nb::arg("worker"), nb::arg("parameters"), nb::arg("payload").none(),
           nb::arg("timeout"))
      .def("next", &Tasks::next, nb::arg("parameters"), nb::arg("count"), nb::arg("type"), nb::arg("timeout"))
      .def("complete", &Tasks::complete, nb::arg("id"), nb::arg("outcome"), nb::arg("text"))
      .def("dispatch", &Tasks::dispatch, nb::arg("id"), nb::arg("worker"), nb::arg("parameters"),
           nb::arg("payload").none())
      .def("run", &Tasks::run, nb::arg("timeout"))
      .def("close", &Tasks::close);
  module.def("task_waitany", &wait_any, nb::arg("tasks"), nb::arg("timeout"));
}

}  // namespace couplet_python
