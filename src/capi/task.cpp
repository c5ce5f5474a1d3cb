#include <algorithm>
#include <span>

#include "capi/call.hpp"
#include "capi/options.hpp"
#include "os/clock.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Result;
using couplet::Status;
using couplet::task::Task;
namespace capi = couplet::capi;
namespace task = couplet::task;

Task** inner(couplet_task** one) {
  return reinterpret_cast<Task**>(one);
}

couplet::Result<task::Content> content_of(const int64_t* parameters, int32_t parameter_count, const void* payload,
                                          uint64_t payload_count, couplet_type type, const char* function) {
  if (parameter_count < 0 || (parameter_count > 0 && parameters == nullptr)) {
    return fail(Code::argument, "{}: parameter_count is {} and parameters is {}", function, parameter_count,
                parameters == nullptr ? "NULL" : "given");
  }
  return task::Content{{parameters, static_cast<std::size_t>(parameter_count)}, payload, payload_count, type};
}

Status other_role(const char* function, const char* role) {
  return fail(Code::state, "{}: only a {} may call it; these tasks were opened in another role", function, role);
}

Status open_role(couplet_tasks& made, task::Mailbox& mailbox, const char* name, const couplet_tasks_options& options) {
  const std::string couplers = options.couplers == nullptr ? "coupler" : options.couplers;
  if (options.role == COUPLET_TASKS_REQUESTER) {
    COUPLET_TRY_VALUE(made.requester, task::Requester::open(mailbox, name, couplers));
    made.requester->owner = &made;
    return {};
  }
  if (options.role == COUPLET_TASKS_WORKER) {
    COUPLET_TRY_VALUE(made.worker,
                      task::Worker::open(mailbox, name, couplers, {options.worker_id, options.group_size}));
    return {};
  }
  if (options.role != COUPLET_TASKS_COUPLER || options.on_lost < COUPLET_TASKS_FAIL ||
      options.on_lost > COUPLET_TASKS_RETRY || options.policy < COUPLET_TASKS_FIRST_IDLE ||
      options.policy > COUPLET_TASKS_ROUND_ROBIN) {
    return fail(Code::argument, "couplet_tasks_open: role {}, on_lost {} or policy {} does not exist", options.role,
                options.on_lost, options.policy);
  }
  task::CouplerOptions wanted;
  wanted.on_lost = options.on_lost == COUPLET_TASKS_RETRY ? task::OnLost::retry : task::OnLost::fail;
  wanted.policy = options.policy == COUPLET_TASKS_ROUND_ROBIN ? task::Policy::round_robin : task::Policy::first_idle;
  wanted.queue_limit = options.queue_limit;
  wanted.requesters = capi::split_names(options.requesters == nullptr ? "" : options.requesters);
  wanted.workers = capi::split_names(options.workers == nullptr ? "" : options.workers);
  COUPLET_TRY_VALUE(made.coupler, task::Coupler::open(mailbox, name, couplers, std::move(wanted)));
  return {};
}

// The subject of a call that completes tasks: the tasks, and the handle with which they were submitted.
struct CompletedTasks {
  couplet_tasks* owner;
  couplet_task** tasks;
  int32_t count;
  [[nodiscard]] capi::Handles handles() const {
    capi::Handles handles(owner, capi::Use::uses);
    handles.add_completed(count, tasks);
    return handles;
  }
  [[nodiscard]] Status check(const char* function) const { return capi::usable(owner, function); }
};

// Makes one call on the tasks of a requester that has the given handles.
template <typename Body>
couplet_status on_tasks(int32_t count, couplet_task** tasks, const char* function, Body&& body) {
  if (count < 0 || (count > 0 && tasks == nullptr)) {
    return capi::finish(
        fail(Code::argument, "{}: count is {} and tasks is {}", function, count, tasks == nullptr ? "NULL" : "given"));
  }
  couplet_tasks* owner = nullptr;
  for (int32_t index = 0; index < count; ++index) {
    if (tasks[index] == nullptr) {
      continue;
    }
    auto* const its = static_cast<couplet_tasks*>((*inner(tasks + index))->owner->owner);
    if (owner != nullptr && owner != its) {
      return capi::finish(
          fail(Code::argument, "{}: task {} was submitted with another handle than the first one", function, index));
    }
    owner = its;
  }
  if (owner == nullptr) {
    return capi::guarded([&] { return body(nullptr); });
  }
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::usable(owner, function));
    return capi::within_turn(*owner->owner, CompletedTasks{owner, tasks, count}, function, [&]() -> Status {
      COUPLET_TRY(capi::end_others(*owner->owner, function));
      return body(owner->requester.get());
    });
  });
}

Status give_info(couplet_task_info* info, const task::Incoming& incoming) {
  couplet_task_info result{};
  result.id = incoming.id;
  result.source = incoming.source;
  result.worker = incoming.worker;
  result.parameters = incoming.parameters.data();
  result.payload = incoming.payload;
  result.payload_count = incoming.count;
  result.parameter_count = static_cast<int32_t>(incoming.parameters.size());
  result.type = incoming.type;
  return capi::give(info, result, "couplet_tasks_next");
}

// A worker's mistake is told to the other ranks of its group. The struct is checked before a task is taken.
Result<couplet_task_expectation> check_next(const couplet_task_expectation* expected, double timeout_s,
                                            couplet_task_info* info) {
  constexpr auto function = "couplet_tasks_next";
  COUPLET_TRY(capi::given(info, function, "info"));
  COUPLET_TRY(capi::check_timeout(timeout_s, function));
  COUPLET_TRY(give_info(info, {}));
  return capi::complete(expected, couplet_task_expectation_init, function);
}

}  // namespace

couplet::Status couplet_tasks::close() {
  if (requester) {
    return requester->close();
  }
  return worker ? worker->close() : coupler->close();
}

extern "C" {

void couplet_tasks_options_init(couplet_tasks_options* options) {
  *options = couplet_tasks_options{};
  options->struct_bytes = sizeof *options;
  options->worker_id = -1;
  options->couplers = "coupler";
}

void couplet_task_expectation_init(couplet_task_expectation* expectation) {
  *expectation = couplet_task_expectation{sizeof(couplet_task_expectation), -1, -1, -1, 0};
}

couplet_status couplet_tasks_open(couplet_universe* universe, const char* name, const couplet_tasks_options* options,
                                  couplet_tasks** tasks) {
  return capi::call(universe, "couplet_tasks_open", [&]() -> Status {
    COUPLET_TRY(capi::named(name, "couplet_tasks_open", "name"));
    COUPLET_TRY(capi::given(tasks, "couplet_tasks_open", "tasks"));
    COUPLET_TRY_VALUE(const auto wanted, capi::complete(options, couplet_tasks_options_init, "couplet_tasks_open"));
    auto made = std::make_unique<couplet_tasks>();
    made->owner = universe;
    COUPLET_TRY(open_role(*made, universe->universe->mailbox(), name, wanted));
    *tasks = made.get();
    universe->tasks.push_back(std::move(made));
    return {};
  });
}

couplet_status couplet_tasks_close(couplet_tasks* tasks) {
  return capi::close(tasks, &couplet_universe::tasks, "couplet_tasks_close", [&] { return tasks->close(); });
}

couplet_status couplet_tasks_submit(couplet_tasks* tasks, int32_t worker, const int64_t* parameters,
                                    int32_t parameter_count, const void* payload, uint64_t payload_count,
                                    couplet_type type, double timeout_s, couplet_task** one) {
  constexpr auto function = "couplet_tasks_submit";
  return capi::call(tasks, function, [&]() -> Status {
    if (!tasks->requester) {
      return other_role(function, "requester");
    }
    COUPLET_TRY(capi::check_timeout(timeout_s, function));
    COUPLET_TRY_VALUE(const auto content,
                      content_of(parameters, parameter_count, payload, payload_count, type, function));
    return tasks->requester->submit(worker, content, couplet::os::deadline_after(timeout_s),
                                    one == nullptr ? nullptr : inner(one));
  });
}

couplet_status couplet_task_wait(couplet_task** one, double timeout_s) {
  return on_tasks(one == nullptr ? -1 : 1, one, "couplet_task_wait", [&](task::Requester* requester) -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_task_wait"));
    return requester == nullptr ? Status() : requester->wait(inner(one), couplet::os::deadline_after(timeout_s));
  });
}

couplet_status couplet_task_test(couplet_task** one, int32_t* done) {
  return on_tasks(one == nullptr ? -1 : 1, one, "couplet_task_test", [&](task::Requester* requester) -> Status {
    COUPLET_TRY(capi::given(done, "couplet_task_test", "done"));
    const Status status = requester == nullptr ? Status() : requester->test(inner(one));
    *done = status.code() == Code::not_yet ? 0 : 1;
    return status.code() == Code::not_yet ? Status() : status;
  });
}

couplet_status couplet_task_waitany(int32_t count, couplet_task** tasks, double timeout_s, int32_t* index) {
  return on_tasks(count, tasks, "couplet_task_waitany", [&](task::Requester* requester) -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_task_waitany"));
    COUPLET_TRY(capi::given(index, "couplet_task_waitany", "index"));
    if (requester == nullptr) {
      *index = -1;
      return {};
    }
    return requester->waitany({inner(tasks), static_cast<std::size_t>(count)}, couplet::os::deadline_after(timeout_s),
                              index);
  });
}

couplet_status couplet_tasks_next(couplet_tasks* tasks, const couplet_task_expectation* expected, double timeout_s,
                                  couplet_task_info* info) {
  constexpr auto function = "couplet_tasks_next";
  return capi::call(tasks, function, [&]() -> Status {
    const auto checked = check_next(expected, timeout_s, info);
    if (!checked.ok()) {
      return tasks->worker ? tasks->worker->refuse(checked.status()) : checked.status();
    }
    const couplet_task_expectation& wanted = *checked;
    task::Incoming incoming;
    const std::uint64_t deadline_ns = couplet::os::deadline_after(timeout_s);
    if (tasks->worker) {
      COUPLET_TRY(
          tasks->worker->next({wanted.parameter_count, wanted.payload_count, wanted.type}, deadline_ns, incoming));
    } else if (tasks->coupler) {
      COUPLET_TRY(tasks->coupler->next(deadline_ns, incoming));
    } else {
      return other_role(function, "worker or coupler");
    }
    return give_info(info, incoming);
  });
}

couplet_status couplet_tasks_complete(couplet_tasks* tasks, uint64_t id, couplet_status outcome, const char* text) {
  constexpr auto function = "couplet_tasks_complete";
  return capi::call(tasks, function, [&]() -> Status {
    if (outcome > 0 || std::string_view(couplet_status_name(outcome)) == "unknown") {
      return fail(Code::argument, "{}: {} is neither COUPLET_OK nor an error", function, outcome);
    }
    const Status how = outcome == COUPLET_OK ? Status()
                       : text == nullptr     ? Status(static_cast<Code>(outcome))
                                             : Status(static_cast<Code>(outcome), text);
    if (tasks->worker) {
      return tasks->worker->complete(how);
    }
    return tasks->coupler ? tasks->coupler->complete(id, how) : other_role(function, "worker or coupler");
  });
}

couplet_status couplet_tasks_dispatch(couplet_tasks* tasks, uint64_t id, int32_t worker, const int64_t* parameters,
                                      int32_t parameter_count, const void* payload, uint64_t payload_count,
                                      couplet_type type) {
  constexpr auto function = "couplet_tasks_dispatch";
  return capi::call(tasks, function, [&]() -> Status {
    if (!tasks->coupler) {
      return other_role(function, "coupler");
    }
    COUPLET_TRY_VALUE(const auto content,
                      content_of(parameters, parameter_count, payload, payload_count, type, function));
    return tasks->coupler->dispatch(id, worker, content);
  });
}

couplet_status couplet_tasks_run(couplet_tasks* tasks, double timeout_s) {
  return capi::call(tasks, "couplet_tasks_run", [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_tasks_run"));
    return tasks->coupler ? tasks->coupler->run(couplet::os::deadline_after(timeout_s))
                          : other_role("couplet_tasks_run", "coupler");
  });
}

}  // extern "C"
