// Checks what must hold for tasks in every world. tools/chaos/check_tasks.py does the same for real processes.
#include <couplet/couplet.h>

#include <algorithm>
#include <tuple>

#include "history.hpp"

namespace world {
namespace {

using Label = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;  // role and life of the requester, and the number

constexpr Nanoseconds giving_up_ns = second / 2;  // a coupler that makes a call so soon may still take a request

constexpr std::size_t max_waits = 60;  // each lasts a second; all tasks of a world take less

struct Given {
  const Life* life = nullptr;
  const Call* call = nullptr;
  const Call* complete = nullptr;
};

struct Task {
  const Life* requester = nullptr;
  const Call* submit = nullptr;
  std::vector<const Call*> waits;
  std::vector<Given> given;
};

class TaskChecker {
 public:
  TaskChecker(const Plan& plan, const History& history) : plan_(plan), history_(history) {}
  std::vector<Finding> check();

 private:
  void report(const std::string& rule, const Life& life, const Call& call, const std::string& text);
  void note_submitted();
  void note_given(const Life& life);
  void check_once(const Task& task);
  void check_given_up(const Task& task);
  void check_outcome(const Task& task);
  void check_end(const Task& task);
  [[nodiscard]] bool is_done(const Given& given) const;
  [[nodiscard]] std::string group_of(const Life& life) const;
  [[nodiscard]] bool has_died(const std::string& program, Nanoseconds from_ns, Nanoseconds until_ns) const;
  [[nodiscard]] bool coupler_calls(Nanoseconds from_ns, Nanoseconds until_ns) const;

  const Plan& plan_;
  const History& history_;
  std::map<Label, Task> tasks_;
  std::vector<Finding> findings_;
};

void TaskChecker::report(const std::string& rule, const Life& life, const Call& call, const std::string& text) {
  char at[32];
  std::snprintf(at, sizeof at, "%.3f s", static_cast<double>(call.begin_ns - start_of_time) / 1e9);
  findings_.push_back({rule, life.role->name() + " life " + std::to_string(life.number) + ", " + call.verb + " " +
                                 std::to_string(call.number) + " at " + at + ": " + text});
}

void TaskChecker::note_submitted() {
  for (const Life& life : history_.lives) {
    const auto role = static_cast<std::uint64_t>(life.role - plan_.roles.data());
    for (const Call& call : life.calls) {
      if (call.verb == "submit") {
        Task& task = tasks_[{role, life.number, call.number}];
        task.requester = &life;
        task.submit = &call;
      } else if (call.verb == "task_wait") {
        tasks_[{role, life.number, call.number}].waits.push_back(&call);
      }
    }
  }
}

void TaskChecker::note_given(const Life& life) {
  Given* last = nullptr;
  for (const Call& call : life.calls) {
    if (call.verb == "task_complete" && last != nullptr) {
      last->complete = &call;
      last = nullptr;
    }
    if (call.verb != "task_next" || !call.ended() || call.status != COUPLET_OK) {
      continue;
    }
    if (!call.intact) {
      report("task-damaged", life, call, "its words are not those of a task");
      continue;
    }
    const auto found = tasks_.find({call.sender, call.life, call.number});
    if (found == tasks_.end() || found->second.submit->begin_ns > call.end_ns) {
      report("task-invented", life, call, "nobody has submitted it");
      continue;
    }
    last = &found->second.given.emplace_back(Given{&life, &call, nullptr});
  }
}

std::string TaskChecker::group_of(const Life& life) const {
  for (const Action& action : life.role->script) {
    if (action.verb == "open_tasks" && action.whole("group", 0) == 1) {
      return life.role->name();
    }
  }
  return life.role->program;
}

bool TaskChecker::has_died(const std::string& program, Nanoseconds from_ns, Nanoseconds until_ns) const {
  return std::any_of(history_.lives.begin(), history_.lives.end(), [&](const Life& life) {
    return life.role->program == program && life.killed && life.end_ns > from_ns - second &&
           (life.end_ns < until_ns || life.end_ns - until_ns < second);
  });
}

bool TaskChecker::coupler_calls(Nanoseconds from_ns, Nanoseconds until_ns) const {
  return std::any_of(history_.lives.begin(), history_.lives.end(), [&](const Life& life) {
    return life.role->program == "coupler" && std::any_of(life.calls.begin(), life.calls.end(), [&](const Call& call) {
             return call.begin_ns < until_ns && call.end_ns > from_ns;
           });
  });
}

// Has the group told that it has done the task? What was said just before one of its ranks was killed may not have
// arrived, nor what was said while a cable was cut, or just before that.
bool TaskChecker::is_done(const Given& given) const {
  const Call* const complete = given.complete;
  if (complete == nullptr || !complete->ended() || complete->status != COUPLET_OK) {
    return false;
  }
  Nanoseconds arrives_ns = complete->end_ns + second;
  for (const Harm& harm : history_.harms) {
    const bool holds_up = harm.kind == "cut" && harm.begin_ns < arrives_ns && harm.end_ns > complete->begin_ns;
    if (holds_up) arrives_ns = harm.end_ns < never ? harm.end_ns + second : never;
  }
  return std::none_of(history_.lives.begin(), history_.lives.end(), [&](const Life& life) {
    return life.killed && group_of(life) == group_of(*given.life) && life.end_ns > given.call->begin_ns &&
           life.end_ns < arrives_ns;
  });
}

// A task is done once, unless a coupler died while it was offered, or a worker has not completed it.
void TaskChecker::check_once(const Task& task) {
  if (has_died("coupler", task.submit->begin_ns, task.submit->end_ns)) {
    return;
  }
  for (std::size_t other = 1; other < task.given.size(); ++other) {
    for (std::size_t one = 0; one < other; ++one) {
      const Given& before = task.given[one];
      const Given& after = task.given[other];
      const bool fellows = group_of(*before.life) == group_of(*after.life) && before.life->role != after.life->role;
      if (!fellows && is_done(before) && is_done(after)) {
        report("task-twice", *after.life, *after.call, "it was done by " + before.life->role->name() + ", too");
      }
    }
  }
}

// What was given up while no coupler made a call is not done.
void TaskChecker::check_given_up(const Task& task) {
  const Call& submit = *task.submit;
  if (submit.status != COUPLET_ERROR_TIMEOUT || task.given.empty() || task.requester->killed ||
      coupler_calls(submit.begin_ns, submit.end_ns + giving_up_ns)) {
    return;
  }
  const bool network_failed = std::any_of(plan_.faults.begin(), plan_.faults.end(), [](const Fault& fault) {
    return fault.what.verb == "cut" || fault.what.verb == "reset" || fault.what.verb == "wall";
  });
  if (!network_failed) {
    report("task-given-up", *task.given[0].life, *task.given[0].call, "its requester had given it up");
  }
}

// A task that has ended well was done before.
void TaskChecker::check_outcome(const Task& task) {
  for (const Call* const wait : task.waits) {
    const bool done = std::any_of(task.given.begin(), task.given.end(), [&](const Given& given) {
      return given.complete != nullptr && given.complete->begin_ns <= wait->end_ns;
    });
    if (wait->ended() && wait->status == COUPLET_OK && !done) {
      report("task-not-done", *task.requester, *wait, "it ended with OK, and no worker had completed it");
    }
  }
}

// Without faults, a task that a coupler has taken is done.
void TaskChecker::check_end(const Task& task) {
  if (plan_.faults.empty() && task.waits.size() >= max_waits && task.waits.back()->status == COUPLET_ERROR_TIMEOUT) {
    report("task-stuck", *task.requester, *task.waits.back(), "it was not done");
  }
}

std::vector<Finding> TaskChecker::check() {
  note_submitted();
  for (const Life& life : history_.lives) {
    note_given(life);
  }
  for (const auto& [label, task] : tasks_) {
    check_once(task);
    check_given_up(task);
    check_outcome(task);
    check_end(task);
  }
  return std::move(findings_);
}

}  // namespace

std::vector<Finding> check_tasks(const Plan& plan, const History& history) {
  return TaskChecker(plan, history).check();
}

}  // namespace world
