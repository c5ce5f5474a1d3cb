// Tasks.
#include <chrono>
#include <thread>

#include "actor.hpp"

namespace chaos {
namespace {

// Returns the facts for the history about a task in hand, and whether its words are right.
std::string check_task(const couplet_task_info& info, std::uint64_t seed) {
  const auto* const words = static_cast<const std::uint64_t*>(info.payload);
  MessageLabel label;
  std::uint64_t wrong = 0;
  if (words == nullptr || info.payload_count == 0 || !label.decode(words[0])) {
    wrong = 1;
  }
  for (std::uint64_t place = 1; wrong == 0 && place < info.payload_count; ++place) {
    wrong = words[place] != MessageLabel::follows(seed, words[0], place) ? 1 : 0;
  }
  if (info.parameter_count != 1 || info.parameters[0] != static_cast<std::int64_t>(label.sequence)) {
    wrong = 1;
  }
  return piece(",\"wrong\":%llu,\"id\":%llu,\"sender\":%llu,\"life\":%llu,\"seq\":%llu",
               static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(info.id),
               static_cast<unsigned long long>(label.sender), static_cast<unsigned long long>(label.life),
               static_cast<unsigned long long>(label.sequence));
}

}  // namespace

void Actor::open_tasks(const Action& action) {
  const std::string name = action.text("tasks", "jobs");
  const std::string role = action.text("role");
  const std::string couplers = action.text("couplers", "coupler");
  const std::string requesters = action.text("requesters");
  couplet_tasks_options options;
  couplet_tasks_options_init(&options);
  options.role = role == "worker"    ? COUPLET_TASKS_WORKER
                 : role == "coupler" ? COUPLET_TASKS_COUPLER
                                     : COUPLET_TASKS_REQUESTER;
  options.couplers = couplers.c_str();
  options.requesters = requesters.empty() ? nullptr : requesters.c_str();
  options.on_lost = action.whole("retry", 0) != 0 ? COUPLET_TASKS_RETRY : COUPLET_TASKS_FAIL;
  options.group_size = static_cast<std::int32_t>(action.whole("group", 0));
  options.worker_id = role == "worker" ? static_cast<std::int32_t>(action.whole("worker", -1)) : -1;
  options.queue_limit = action.count("queue", 0);
  history_.begin("open_tasks", piece(",\"k\":\"%s\",\"role\":\"%s\"", name.c_str(), role.c_str()));
  couplet_tasks* tasks = nullptr;
  if (history_.end(couplet_tasks_open(universe_, name.c_str(), &options, &tasks)) == COUPLET_OK) {
    tasks_.insert_or_assign(name, Tasks{tasks, action});
  }
}

void Actor::submit(const Action& action) {
  const auto found = tasks_.find(action.text("tasks", "jobs"));
  if (found == tasks_.end()) {
    return;
  }
  const double timeout_s = action.real("timeout", 5);
  std::vector<std::uint64_t> payload(action.count("words", 16));
  for (std::uint64_t index = 0; index < action.count("count", 1); ++index) {
    const std::uint64_t number = submitted_++;
    payload[0] = MessageLabel{self_.number, self_.life, number, false}.word();
    for (std::uint64_t place = 1; place < payload.size(); ++place) {
      payload[place] = MessageLabel::follows(self_.seed, payload[0], place);
    }
    const auto parameter = static_cast<std::int64_t>(number);
    couplet_task* task = nullptr;
    history_.begin("submit", piece(",\"timeout\":%.3f,\"seq\":%lld", timeout_s, static_cast<long long>(parameter)));
    if (history_.end(couplet_tasks_submit(found->second.handle, COUPLET_TASKS_ANY_WORKER, &parameter, 1, payload.data(),
                                          payload.size(), COUPLET_UINT64, timeout_s, &task)) != COUPLET_OK) {
      continue;
    }
    for (int slice = 0; task != nullptr && slice < action.whole("slices", 6); ++slice) {
      history_.begin("task_wait", piece(",\"timeout\":2.0,\"seq\":%lld", static_cast<long long>(parameter)));
      history_.end(couplet_task_wait(&task, 2));
    }
  }
}

// A worker does tasks, a coupler dispatches them, until the end, an error, or its patience has passed. With again=1 it
// opens the tasks once more after a rank was lost.
void Actor::work(const Action& action) {
  const std::string name = action.text("tasks", "jobs");
  const bool coupler = action.text("role") == "coupler";
  const std::uint64_t begun = nanoseconds(CLOCK_MONOTONIC);
  while (static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - begun) / 1e9 < action.real("seconds", 10)) {
    const auto found = tasks_.find(name);
    if (found == tasks_.end()) {
      return;
    }
    couplet_tasks* const tasks = found->second.handle;
    couplet_task_info info{};
    info.struct_bytes = sizeof info;
    history_.begin(coupler ? "task_run" : "task_next", ",\"timeout\":1.0");
    const couplet_status status = coupler ? couplet_tasks_run(tasks, 1) : couplet_tasks_next(tasks, nullptr, 1, &info);
    if (coupler || status != COUPLET_OK) {
      history_.end(status);
    } else {
      history_.end(status, check_task(info, self_.seed));
      std::this_thread::sleep_for(std::chrono::microseconds(action.whole("pause_us", 0)));
      history_.begin("task_complete", piece(",\"id\":%llu", static_cast<unsigned long long>(info.id)));
      history_.end(couplet_tasks_complete(tasks, info.id, COUPLET_OK, nullptr));
    }
    if (status == COUPLET_ERROR_PEER_LOST && !coupler && action.whole("again", 0) != 0) {
      const Action opened = found->second.opened;
      close_tasks(opened);
      open_tasks(opened);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    if (status == COUPLET_END || (coupler && status == COUPLET_OK) || status < 0) {
      return;
    }
  }
}

void Actor::close_tasks(const Action& action) {
  const auto found = tasks_.find(action.text("tasks", "jobs"));
  if (found != tasks_.end()) {
    history_.begin("close_tasks", "");
    history_.end(couplet_tasks_close(found->second.handle));
    tasks_.erase(found);
  }
}

}  // namespace chaos
