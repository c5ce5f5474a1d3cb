#include "tasks.hpp"

#include "chaos/actor/contents.hpp"

namespace world {
namespace {

using chaos::MessageLabel;

constexpr double answer_s = 10;  // a request that does not wait for room waits so long for an answer
constexpr double slice_s = 1;

double seconds_since(Nanoseconds begin_ns) {
  return static_cast<double>(kernel->now() - begin_ns) / 1e9;
}

}  // namespace

void TaskPart::carry_out(couplet_universe* universe, const Action& action) {
  if (action.verb == "open_tasks") {
    open(universe, action);
  } else if (tasks_ == nullptr) {
    return;
  } else if (action.verb == "submit") {
    submit(action);
  } else if (action.verb == "work") {
    work(universe, action);
  } else if (action.verb == "close_tasks") {
    close();
  }
}

void TaskPart::open(couplet_universe* universe, const Action& action) {
  couplet_tasks_options options;
  couplet_tasks_options_init(&options);
  const std::string requesters = action.text("requesters");
  const std::string workers = action.text("workers");
  options.role = action.object == "worker"    ? COUPLET_TASKS_WORKER
                 : action.object == "coupler" ? COUPLET_TASKS_COUPLER
                                              : COUPLET_TASKS_REQUESTER;
  options.worker_id = action.object == "worker" ? 0 : -1;
  options.group_size = static_cast<std::int32_t>(action.whole("group", 0));
  options.on_lost = action.whole("retry", 0) != 0 ? COUPLET_TASKS_RETRY : COUPLET_TASKS_FAIL;
  options.queue_limit = static_cast<std::uint64_t>(action.whole("queue", 0));
  options.requesters = requesters.empty() ? nullptr : requesters.c_str();
  options.workers = workers.empty() ? nullptr : workers.c_str();
  opened_ = action;
  Call& call = begin_call(life_, "open_tasks", action.object, -1);
  if (end_call(life_, call, couplet_tasks_open(universe, "jobs", &options, &tasks_)) != COUPLET_OK) {
    tasks_ = nullptr;
  }
}

void TaskPart::submit(const Action& action) {
  const double timeout_s = action.real("timeout", 5);
  std::vector<std::uint64_t> payload(static_cast<std::size_t>(action.whole("words", 4)));
  const auto role = static_cast<std::uint64_t>(life_.role - plan_.roles.data());
  for (std::int64_t index = 0; index < action.whole("count", 1); ++index) {
    const auto number = static_cast<std::int64_t>(submitted_++);
    payload[0] = MessageLabel{role, life_.number, static_cast<std::uint64_t>(number), false}.word();
    for (std::uint64_t place = 1; place < payload.size(); ++place) {
      payload[place] = MessageLabel::follows(plan_.seed, payload[0], place);
    }
    couplet_task* task = nullptr;
    Call& call = begin_call(life_, "submit", "jobs", timeout_s == 0 ? answer_s : timeout_s);
    call.number = number;
    if (end_call(life_, call,
                 couplet_tasks_submit(tasks_, COUPLET_TASKS_ANY_WORKER, &number, 1, payload.data(), payload.size(),
                                      COUPLET_UINT64, timeout_s, &task)) == COUPLET_OK) {
      wait(task, action, static_cast<std::uint64_t>(number));
    }
    if (const double pause_s = action.real("pause", 0); pause_s > 0) {
      sleep_s(pause_s);
    }
  }
}

void TaskPart::wait(couplet_task* task, const Action& action, std::uint64_t number) {
  for (std::int64_t slice = 0; task != nullptr && slice < action.whole("slices", 60); ++slice) {
    Call& call = begin_call(life_, "task_wait", "jobs", slice_s);
    call.number = static_cast<std::int64_t>(number);
    end_call(life_, call, couplet_task_wait(&task, slice_s));
  }
}

void TaskPart::note_task(Call& call, const couplet_task_info& info) const {
  const auto* const words = static_cast<const std::uint64_t*>(info.payload);
  MessageLabel label;
  call.intact = words != nullptr && info.payload_count != 0 && label.decode(words[0]) && info.parameter_count == 1 &&
                info.parameters[0] == static_cast<std::int64_t>(label.sequence);
  for (std::uint64_t place = 1; call.intact && place < info.payload_count; ++place) {
    call.intact = words[place] == MessageLabel::follows(plan_.seed, words[0], place);
  }
  call.number = static_cast<std::int64_t>(label.sequence);
  call.life = label.life;
  call.sender = label.sender;
}

// A coupler dispatches, or a worker does a task.
int TaskPart::work_once(const Action& action) {
  if (opened_.object == "coupler") {
    Call& call = begin_call(life_, "task_run", "jobs", slice_s);
    return end_call(life_, call, couplet_tasks_run(tasks_, slice_s));
  }
  couplet_task_info info{};
  info.struct_bytes = sizeof info;
  Call& call = begin_call(life_, "task_next", "jobs", slice_s);
  const couplet_status status = couplet_tasks_next(tasks_, nullptr, slice_s, &info);
  if (status == COUPLET_OK) {
    note_task(call, info);
  }
  end_call(life_, call, status);
  if (status == COUPLET_OK) {
    if (const double pause_s = action.real("pause", 0); pause_s > 0) {
      sleep_s(pause_s);
    }
    Call& completed = begin_call(life_, "task_complete", "jobs", -1);
    end_call(life_, completed, couplet_tasks_complete(tasks_, info.id, COUPLET_OK, nullptr));
  }
  return status;
}

// Works until the end, or until nothing has happened for some time. After a loss, a worker opens the tasks again, and a
// coupler goes on.
void TaskPart::work(couplet_universe* universe, const Action& action) {
  const bool coupler = opened_.object == "coupler";
  const double patience_s = action.real("patience", coupler ? 120 : 15);  // run() does not say whether a task was done
  Nanoseconds progress = kernel->now();
  while (tasks_ != nullptr && seconds_since(progress) < patience_s) {
    const int status = work_once(action);
    if (status == COUPLET_END || (coupler && status == COUPLET_OK) ||
        (status < 0 && status != COUPLET_ERROR_PEER_LOST)) {
      return;
    }
    if (status == COUPLET_OK) {
      progress = kernel->now();
    } else if (status == COUPLET_ERROR_PEER_LOST && !coupler) {
      close();
      sleep_s(0.1);
      open(universe, opened_);
    } else if (status == COUPLET_ERROR_PEER_LOST) {
      sleep_s(0.1);
    }
  }
}

void TaskPart::close() {
  Call& call = begin_call(life_, "close_tasks", "jobs", -1);
  end_call(life_, call, couplet_tasks_close(tasks_));
  tasks_ = nullptr;
}

}  // namespace world
