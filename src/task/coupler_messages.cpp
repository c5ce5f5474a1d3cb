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

}  // namespace

// ---- requests ----

void Coupler::answer(channel::PeerId requester, TaskMessageKind kind, std::uint64_t number, const Status& status) {
  TaskMessage message;
  message.kind = kind;
  message.space = space_;
  message.number = number;
  message.code = static_cast<std::int32_t>(status.code());
  message.text = status.error() ? status.text() : std::string();
  static_cast<void>(mailbox_.send(requester, message));  // a requester that is gone need not know
}

void Coupler::submitted(channel::PeerId source, TaskMessage message) {
  if (!mailbox_.is_gone(source)) {
    requesters_.add(source);
  }
  if (options_.is_full(waiting())) {
    answer(source, TaskMessageKind::taken, message.number, Code::full);
    if (message.code != 0) {  // the request waits for room
      parked_.emplace_back(source, std::move(message));
    }
    return;
  }
  accept(source, std::move(message));
  pump();
}

void Coupler::looked() {
  settling_.settled = std::exchange(settling_.seen, settling_.end);
  pump();
}

void Coupler::accept(channel::PeerId source, TaskMessage message) {
  const std::uint64_t id = mailbox_.next_number();
  settling_.end = id + 1;
  mailbox_.look_again();
  const std::uint64_t number = message.number;
  const std::int32_t worker = message.worker;
  const auto entry = entries_.emplace(id, Entry{Stage::inbox, source, number, std::move(message)}).first;
  Status status;
  try {
    if (automatic_) {
      status = enqueue(entry, worker);
    } else {
      queues_.inbox.push_back(id);
    }
    answer(source, TaskMessageKind::taken, number, status);
  } catch (const std::bad_alloc&) {
    queues_.forget(id);
    entries_.erase(entry);
    throw;
  }
  if (!status.ok()) {
    entries_.erase(entry);
  }
}

// Only a request that waits can be withdrawn. What a worker or the user's coupler has in hand goes on.
void Coupler::withdrawn(channel::PeerId source, std::uint64_t number) {
  answer(source, TaskMessageKind::heard, number, {});
  std::erase_if(parked_, [&](const auto& one) { return one.first == source && one.second.number == number; });
  for (const auto& [id, entry] : entries_) {
    if (entry.requester == source && entry.number == number &&
        (entry.stage == Stage::inbox || entry.stage == Stage::waiting)) {
      std::erase(entry.stage == Stage::inbox ? queues_.inbox : queues_[entry.message.worker], id);
      entries_.erase(id);
      pump();
      return;
    }
  }
}

// Returns ok if workers with that id are there, or may still come.
Status Coupler::find_workers(std::int32_t worker) {
  std::set<std::int32_t> known;
  bool was_there = false;
  for (const WorkerGroup& group : groups_) {
    const bool meant = worker == any_worker || group.worker == worker;
    if (meant && !group.gone) {
      return {};
    }
    was_there = was_there || meant;
    known.insert(group.worker);
  }
  if (worker_ranks_.any_awaited(mailbox_)) {
    return {};
  }
  const std::string with_id = worker == any_worker ? std::string() : fmt::format(" with id {}", worker);
  if (was_there) {
    return fail(Code::peer_lost, "tasks '{}': no group of workers{} is left", name_, with_id);
  }
  if (worker_ranks_.any_lost(mailbox_.environment(), groups_)) {
    return fail(Code::peer_lost, "tasks '{}': no group of workers{} is there; ranks are lost that may have been in one",
                name_, with_id);
  }
  if (known.empty()) {
    return fail(Code::not_found, "tasks '{}': there are no workers, and none are awaited", name_);
  }
  return fail(Code::not_found, "tasks '{}': no workers have the id {}; the ids are: {}", name_, worker,
              fmt::join(known, ", "));
}

Status Coupler::enqueue(Entries::iterator entry, std::int32_t worker) {
  if (worker < any_worker) {
    return check_worker(worker, fmt::format("tasks '{}'", name_));
  }
  COUPLET_TRY(find_workers(worker));
  entry->second.message.worker = worker;
  entry->second.stage = Stage::waiting;
  queues_[worker].push_back(entry->first);
  return {};
}

void Coupler::finish(std::uint64_t id, const Status& status) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) {
    return;
  }
  try {
    answer(entry->second.requester, TaskMessageKind::finished, entry->second.number, status);
  } catch (const std::bad_alloc&) {
    give_up(mailbox_.environment(), entry->second.requester, Code::memory);
  }
  if (entry->second.stage == Stage::inbox || entry->second.stage == Stage::waiting) {
    queues_.forget(id);
  }
  entries_.erase(entry);
}

// ---- workers ----

void Coupler::Queues::forget(std::uint64_t id) noexcept {
  std::erase(inbox, id);
  for (auto& [worker, queue] : *this) {
    std::erase(queue, id);
  }
}

std::deque<std::uint64_t>* Coupler::Queues::next_for(std::int32_t worker, const Settling& settling) {
  std::deque<std::uint64_t>* best = nullptr;
  for (const std::int32_t meant : {worker, any_worker}) {
    const auto queue = find(meant);
    if (queue != end() && settling.has_first(queue->second) &&
        (best == nullptr || queue->second.front() < best->front())) {
      best = &queue->second;
    }
  }
  return best;
}

// Returns the group that has been idle longest among those that have something to do. With round robin, and if any
// worker may do the task, it is a group of the worker id that is next in turn.
Coupler::WorkerGroup* Coupler::choose_group() {
  WorkerGroup* best = nullptr;
  const auto turn = [&](const WorkerGroup& group) {
    const bool behind = group.worker <= turns_.last_worker;
    return std::tuple(options_.policy == Policy::round_robin ? std::int64_t{behind} : 0,
                      options_.policy == Policy::round_robin ? std::int64_t{group.worker} : 0, group.idle_since);
  };
  const auto is_lost = [this](const auto& rank) {  // also if it is back: it is not in the group before the next hello
    const Environment& environment = mailbox_.environment();
    return environment.is_lost(rank.first) || environment.incarnation(rank.first) > rank.second;
  };
  for (WorkerGroup& group : groups_) {
    const bool idle =
        !group.gone && !group.broken && !group.task && std::none_of(group.ranks.begin(), group.ranks.end(), is_lost);
    if (idle && queues_.next_for(group.worker, settling_) != nullptr &&
        (best == nullptr || turn(group) < turn(*best))) {
      best = &group;
    }
  }
  return best;
}

Status Coupler::WorkerGroup::send_task(Mailbox& mailbox, std::uint64_t space,
                                       const TaskMessage& request) const noexcept {
  try {
    TaskMessage work = request;
    work.kind = TaskMessageKind::work;
    work.space = space;
    work.number = *task;
    work.code = mark;
    work.text.clear();
    return mailbox.send(leader, work);
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
}

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
    WorkerGroup* const group = choose_group();
    if (group == nullptr) {
      return;
    }
    auto& queue = *queues_.next_for(group->worker, settling_);
    const std::uint64_t id = queue.front();
    queue.pop_front();
    Entry& entry = entries_.at(id);
    if (entry.message.worker == any_worker) {
      turns_.last_worker = group->worker;
    }
    entry.stage = Stage::running;
    group->task = id;
    group->ended = false;
    const Status sent = group->send_task(mailbox_, space_, entry.message);
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
  WorkerGroup group;
  group.worker = message.worker;
  group.mark = mark_of(message);
  group.leader = source;
  for (const std::int64_t number : message.numbers) {
    const Life life = Life::of(number);
    group.ranks.emplace(life.rank, life.incarnation);
    if (!life.is_awaited) {  // it has not opened the tasks, and the group may close them before
      worker_ranks_.note(life);
    }
  }
  // The hello may have been kept until this coupler opened the tasks. Or it is newer than what is known of its sender.
  group.gone = mailbox_.is_gone(source) && life_of(message) <= mailbox_.environment().incarnation(source);
  group.idle_since = ++turns_.idle_clock;
  // One that is gone is only kept for its worker id.
  const auto former = std::find_if(groups_.begin(), groups_.end(),
                                   [&](const WorkerGroup& one) { return one.gone && one.worker == group.worker; });
  if (former == groups_.end()) {
    groups_.push_back(std::move(group));
  } else {
    *former = std::move(group);
  }
  if (closed_ || (requesters_.all_closed() && entries_.empty() && parked_.empty())) {
    say_end();
  }
  reject_hopeless();
  pump();
}

void Coupler::finished_work(channel::PeerId source, const TaskMessage& message) {
  const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const WorkerGroup& one) {
    return one.leader == source && !one.gone && one.task == message.number;
  });
  if (group == groups_.end()) {
    return;
  }
  if (message.numbers.empty()) {
    finish(message.number, message.status());
    group->task.reset();
    group->idle_since = ++turns_.idle_clock;
  } else {  // a rank of it is lost, perhaps before this process hears of it
    group->broken = true;
    give_back(*group, message.status(), options_.on_lost == OnLost::retry);
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
  const auto entry = entries_.find(id);
  if (entry != entries_.end() && may_retry) {
    queues_[entry->second.message.worker].push_front(id);
    entry->second.stage = Stage::waiting;
  } else {
    finish(id, fail(Code::peer_lost, "tasks '{}': the worker group that had the task in hand is gone: {}", name_,
                    why.text()));
  }
  group.task.reset();
}

void Coupler::WorkerRanks::note(const Life& life) {
  std::uint64_t& after = greeted[life.rank];
  after = std::max(after, life.incarnation + 1);
}

bool Coupler::WorkerRanks::any_awaited(Mailbox& mailbox) const {
  return std::any_of(all.begin(), all.end(), [&](channel::PeerId rank) {
    const auto named = greeted.find(rank);
    return !mailbox.is_gone(rank) && !mailbox.is_cut_off(rank) &&
           (named == greeted.end() || mailbox.environment().incarnation(rank) >= named->second);
  });
}

bool Coupler::WorkerRanks::any_lost(const Environment& environment, const std::vector<WorkerGroup>& groups) const {
  return std::any_of(all.begin(), all.end(), [&](channel::PeerId rank) {
    return environment.is_lost(rank) && std::none_of(groups.begin(), groups.end(), [rank](const WorkerGroup& group) {
             return !group.gone && group.ranks.contains(rank);
           });
  });
}

// Rejects the tasks that wait for workers which will never come.
void Coupler::reject_hopeless() {
  for (auto& [worker, queue] : queues_) {
    const Status status = find_workers(worker);
    if (!status.ok()) {
      while (!queue.empty()) {
        const std::uint64_t id = queue.front();
        finish(id, status);
        std::erase(queue, id);
      }
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
        worker_ranks_.note(Life::of(number));
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
    const auto rank = group.ranks.find(peer);
    if (group.gone || rank == group.ranks.end()) {
      continue;
    }
    // The news may be of its life before the hello, also if it is known that it was started again.
    const bool lives =
        !mailbox_.is_cut_off(peer) && mailbox_.environment().alive(peer, static_cast<std::uint16_t>(rank->second)).ok();
    if (lives || rank->second > mailbox_.environment().incarnation(peer)) {
      continue;
    }
    give_back(group, why, options_.on_lost == OnLost::retry);
    group.gone = group.leader == peer;
  }
  reject_hopeless();
  pump();
}

}  // namespace couplet::task
