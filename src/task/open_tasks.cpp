#include "task/open_tasks.hpp"

#include <algorithm>
#include <utility>

namespace couplet::task {
namespace {

void erase(std::deque<std::uint64_t>& queue, std::uint64_t id) noexcept {
  if (!queue.empty() && queue.front() == id) {  // as it is nearly always
    queue.pop_front();
  } else {
    std::erase(queue, id);
  }
}

}  // namespace

void OpenTasks::add(std::uint64_t id, OpenTask task) {
  inbox_.push_back(id);
  try {
    tasks_.emplace(id, Placed{std::move(task), Place::inbox});
  } catch (const std::bad_alloc&) {
    inbox_.pop_back();
    throw;
  }
  settled_.end = id + 1;
}

void OpenTasks::queue(std::uint64_t id, std::int32_t worker) {
  Placed& placed = tasks_.at(id);
  queues_[worker].push_back(id);
  leave(id, placed);
  placed.task.message.worker = worker;
  placed.place = Place::queue;
}

void OpenTasks::queue_again(std::uint64_t id) {
  Placed& placed = tasks_.at(id);
  queues_.at(placed.task.message.worker).push_front(id);
  placed.place = Place::queue;
}

void OpenTasks::remove(std::uint64_t id) noexcept {
  const auto found = tasks_.find(id);
  if (found != tasks_.end()) {
    leave(id, found->second);
    tasks_.erase(found);
  }
}

// Takes the task out of the list that it is in.
void OpenTasks::leave(std::uint64_t id, const Placed& placed) noexcept {
  if (placed.place == Place::inbox) {
    erase(inbox_, id);
  } else if (placed.place == Place::queue) {
    erase(queues_.find(placed.task.message.worker)->second, id);
  }
}

std::uint64_t OpenTasks::take() {
  const std::uint64_t id = inbox_.front();
  inbox_.pop_front();
  tasks_.at(id).place = Place::hand;
  return id;
}

OpenTask& OpenTasks::give(std::uint64_t id) {
  Placed& placed = tasks_.at(id);
  leave(id, placed);
  placed.place = Place::group;
  return placed.task;
}

OpenTask* OpenTasks::find(std::uint64_t id) {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : &found->second.task;
}

OpenTask* OpenTasks::held(std::uint64_t id) {
  const auto found = tasks_.find(id);
  return found == tasks_.end() || found->second.place != Place::hand ? nullptr : &found->second.task;
}

std::optional<std::uint64_t> OpenTasks::not_begun(channel::PeerId requester, std::uint64_t number) const {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& one) {
    const Placed& placed = one.second;
    return placed.task.requester == requester && placed.task.number == number &&
           (placed.place == Place::inbox || placed.place == Place::queue);
  });
  return found == tasks_.end() ? std::nullopt : std::optional(found->first);
}

std::optional<std::uint64_t> OpenTasks::first_of_inbox() const {
  return inbox_.empty() ? std::nullopt : std::optional(inbox_.front());
}

std::optional<std::uint64_t> OpenTasks::next_for(std::int32_t worker) const {
  std::optional<std::uint64_t> oldest;
  for (const std::int32_t meant : {worker, any_worker}) {
    const auto queue = queues_.find(meant);
    if (queue != queues_.end() && has_first(queue->second) && (!oldest || queue->second.front() < *oldest)) {
      oldest = queue->second.front();
    }
  }
  return oldest;
}

void OpenTasks::looked() noexcept {
  settled_.below = std::exchange(settled_.seen, settled_.end);
}

void OpenTasks::settle(engine::Engine& engine) {
  for (int looks = 0; looks < 2 && settled_.below < settled_.end; ++looks) {
    engine.look_at_all();
  }
}

std::uint64_t OpenTasks::waiting() const noexcept {
  std::uint64_t count = inbox_.size();
  for (const auto& [worker, queue] : queues_) {
    count += queue.size();
  }
  return count;
}

bool OpenTasks::all_held() const noexcept {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& one) { return one.second.place == Place::hand; });
}

}  // namespace couplet::task
