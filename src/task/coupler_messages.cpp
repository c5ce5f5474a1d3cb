// Handles the messages that arrive at a coupler, and decides which group does which task next.
#include <algorithm>
#include <utility>

#include "task/coupler.hpp"

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

namespace {

// Returns an error that names this coupler, or without text if there is no memory for that either.
Status no_memory(Mailbox& mailbox, const std::string& tasks) noexcept {
  try {
    return fail(Code::memory, "tasks '{}': {}, the coupler, has no memory to give the task to a worker", tasks,
                mailbox.environment().peer_name(mailbox.environment().self()));
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
}

void answer(Mailbox& mailbox, std::uint64_t space, channel::PeerId requester, TaskMessageKind kind,
            std::uint64_t number, const Status& status) {
  TaskMessage message;
  message.kind = kind;
  message.space = space;
  message.number = number;
  message.code = static_cast<std::int32_t>(status.code());
  message.text = status.error() ? status.text() : std::string();
  static_cast<void>(mailbox.send(requester, message));  // a requester that is gone need not know
}

}  // namespace

// ---- requests ----

// Answers a requester that waits. Without memory for it, the requester is told that this process is lost for it.
void Coupler::tell(channel::PeerId requester, TaskMessageKind kind, std::uint64_t number,
                   const Status& status) noexcept {
  try {
    answer(mailbox_, space_, requester, kind, number, status);
  } catch (const std::bad_alloc&) {
    give_up(mailbox_.environment(), requester, Code::memory);
  }
}

void Coupler::submitted(channel::PeerId source, TaskMessage message) {
  if (!mailbox_.is_gone(source)) {
    requesters_.add(source);
  }
  if (options_.is_full(waiting())) {
    answer(mailbox_, space_, source, TaskMessageKind::taken, message.number, Code::full);
    if (message.code != 0) {  // the request waits for room
      parked_.emplace_back(source, std::move(message));
    }
    return;
  }
  accept(source, std::move(message));
  pump();
}

void Coupler::looked() {
  tasks_.looked();
  pump();
}

void Coupler::accept(channel::PeerId source, TaskMessage message) {
  const std::uint64_t id = mailbox_.next_number();
  const std::uint64_t number = message.number;
  const std::int32_t worker = message.worker;
  tasks_.add(id, OpenTask{source, number, std::move(message)});
  mailbox_.look_again();
  try {
    const Status status = automatic_ ? queue(id, worker) : Status();
    answer(mailbox_, space_, source, TaskMessageKind::taken, number, status);
    if (!status.ok()) {
      tasks_.remove(id);
    }
  } catch (const std::bad_alloc&) {
    tasks_.remove(id);
    throw;
  }
}

// Only a request that waits can be withdrawn. What a worker or the user's coupler has in hand goes on.
void Coupler::withdrawn(channel::PeerId source, std::uint64_t number) {
  answer(mailbox_, space_, source, TaskMessageKind::heard, number, {});
  std::erase_if(parked_, [&](const auto& one) { return one.first == source && one.second.number == number; });
  if (const auto id = tasks_.not_begun(source, number)) {
    tasks_.remove(*id);
    pump();
  }
}

Status Coupler::queue(std::uint64_t id, std::int32_t worker) {
  if (worker < any_worker) {
    return check_worker(worker, fmt::format("tasks '{}'", name_));
  }
  COUPLET_TRY(groups_.find(worker));
  tasks_.queue(id, worker);
  return {};
}

void Coupler::finish(std::uint64_t id, const Status& status) {
  const OpenTask* const task = tasks_.find(id);
  if (task == nullptr) {
    return;
  }
  tell(task->requester, TaskMessageKind::finished, task->number, status);
  tasks_.remove(id);
}

// ---- workers ----

// Gives tasks to the groups that are idle, and accepts requests while there is room.
void Coupler::pump() {
  while (true) {
    while (!parked_.empty() && !options_.is_full(waiting())) {  // requests that wait for room
      auto [source, message] = std::move(parked_.front());
      parked_.pop_front();
      try {
        accept(source, std::move(message));
      } catch (const std::bad_alloc&) {
        give_up(mailbox_.environment(), source, Code::memory);
      }
    }
    WorkerGroup* const group = groups_.choose(tasks_);
    if (group == nullptr) {
      return;
    }
    const std::uint64_t id = *tasks_.next_for(group->worker);
    const OpenTask& task = tasks_.give(id);
    groups_.begin_task(*group, id, task);
    const Status sent = group->send_task(mailbox_, space_, task.message);
    if (!sent.ok() && mailbox_.is_gone(group->leader)) {
      give_back(*group, sent, true);
      group->gone = true;
      reject_hopeless();
    } else if (!sent.ok()) {  // it lives, and can be given another task
      finish(id, sent.code() == Code::memory ? no_memory(mailbox_, name_) : sent);
      group->task.reset();
    }
  }
}

void Coupler::greeted(channel::PeerId source, const TaskMessage& message) {
  left(source);  // the group may have been registered before
  groups_.greet(source, message);
  if (closed_ || (requesters_.all_closed() && tasks_.empty() && parked_.empty())) {
    groups_.say_end(space_);
  }
  reject_hopeless();
  pump();
}

void Coupler::finished_work(channel::PeerId source, const TaskMessage& message) {
  WorkerGroup* const group = groups_.with_task(source, message.number);
  if (group == nullptr) {
    return;
  }
  if (message.numbers.empty()) {
    finish(message.number, message.status());
    group->task.reset();
    groups_.become_idle(*group);
  } else {  // a rank of it is lost, perhaps before this process hears of it
    group->broken = true;
    const bool was_begun = message.numbers.size() < 2;
    give_back(*group, message.status(), !was_begun || options_.on_lost == OnLost::retry);
  }
  pump();
}

// Handles a group that leaves in good order: another group does what it has not begun.
void Coupler::left(channel::PeerId source) {
  for (WorkerGroup& group : groups_) {
    if (group.leader == source && !group.gone) {
      give_back(group, fail(Code::peer_lost, "{} has closed", mailbox_.environment().peer_name(source)), true);
      group.gone = true;
    }
  }
}

// If there is no memory, the group still has the task.
void Coupler::give_back(WorkerGroup& group, const Status& why, bool may_retry) {
  if (!group.task) {
    return;
  }
  const std::uint64_t id = *group.task;
  if (may_retry && tasks_.find(id) != nullptr) {
    tasks_.queue_again(id);
  } else {
    finish(id, fail(Code::peer_lost, "tasks '{}': the worker group that had the task in hand is gone: {}", name_,
                    why.text()));
  }
  group.task.reset();
}

// Rejects the tasks that wait for workers which will never come.
void Coupler::reject_hopeless() {
  for (const auto& [worker, queue] : tasks_.queues()) {
    const Status status = groups_.find(worker);
    while (!status.ok() && !queue.empty()) {
      finish(queue.front(), status);
    }
  }
}

// ---- messages ----

void Coupler::message(channel::PeerId source, TaskMessage message) {
  switch (message.kind) {
    case TaskMessageKind::submit:
      message.source = static_cast<std::int32_t>(source);
      submitted(source, std::move(message));
      break;
    case TaskMessageKind::withdraw:
      withdrawn(source, message.number);
      break;
    case TaskMessageKind::closed:
      requesters_.closed(source);
      break;
    case TaskMessageKind::hello:
      greeted(source, message);
      break;
    case TaskMessageKind::done:
      finished_work(source, message);
      break;
    case TaskMessageKind::opened:
      for (const std::int64_t number : message.numbers) {
        groups_.note(Life::of(number));
      }
      reject_hopeless();
      pump();
      break;
    case TaskMessageKind::goodbye:
      left(source);
      reject_hopeless();
      pump();
      break;
    default:
      break;  // the other messages do not concern a coupler
  }
}

void Coupler::lost(channel::PeerId peer, const Status& why) {
  if (mailbox_.is_gone(peer) && !mailbox_.environment().is_lost(peer)) {
    requesters_.closed(peer);  // it has left
  } else {
    requesters_.lost(peer, why);
  }
  std::erase_if(parked_, [&](const auto& one) { return one.first == peer; });
  for (WorkerGroup& group : groups_) {
    if (!groups_.has_lost(group, peer)) {
      continue;
    }
    give_back(group, why, options_.on_lost == OnLost::retry);
    group.gone = group.leader == peer;
  }
  reject_hopeless();
  pump();
}

}  // namespace couplet::task
