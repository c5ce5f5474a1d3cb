#include "task/worker_groups.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

Status WorkerGroup::send_task(Mailbox& mailbox, std::uint64_t space, const TaskMessage& request) const noexcept {
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

void WorkerGroups::greet(channel::PeerId leader, const TaskMessage& hello) {
  WorkerGroup group;
  group.worker = hello.worker;
  group.mark = mark_of(hello);
  group.leader = leader;
  for (const std::int64_t number : hello.numbers) {
    const Life life = Life::of(number);
    group.ranks.emplace(life.rank, life.incarnation);
    if (!life.is_awaited) {  // it has not opened the tasks, and the group may close them before
      note(life);
    }
  }
  // The hello may have been kept until this coupler opened the tasks. Or it is newer than what is known of its sender.
  group.gone = mailbox_.is_gone(leader) && life_of(hello) <= mailbox_.environment().incarnation(leader);
  become_idle(group);
  // One that is gone is only kept for its worker id.
  const auto former = std::find_if(groups_.begin(), groups_.end(),
                                   [&](const WorkerGroup& one) { return one.gone && one.worker == group.worker; });
  if (former == groups_.end()) {
    groups_.push_back(std::move(group));
  } else {
    *former = std::move(group);
  }
}

void WorkerGroups::note(const Life& life) {
  std::uint64_t& after = greeted_[life.rank];
  after = std::max(after, life.incarnation + 1);
}

void WorkerGroups::begin_task(WorkerGroup& group, std::uint64_t id, const OpenTask& task) {
  if (task.message.worker == any_worker) {
    last_worker_ = group.worker;
  }
  group.task = id;
  group.ended = false;
}

void WorkerGroups::say_end(std::uint64_t space) {
  TaskMessage message;
  message.kind = TaskMessageKind::end;
  message.space = space;
  for (WorkerGroup& group : groups_) {
    if (!group.gone && !group.ended) {
      message.code = group.mark;
      group.ended = mailbox_.send(group.leader, message).ok();
    }
  }
}

Status WorkerGroups::find(std::int32_t worker) const {
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
  if (any_awaited()) {
    return {};
  }
  const std::string with_id = worker == any_worker ? std::string() : fmt::format(" with id {}", worker);
  if (was_there) {
    return fail(Code::peer_lost, "tasks '{}': no group of workers{} is left", tasks_, with_id);
  }
  if (any_lost()) {
    return fail(Code::peer_lost, "tasks '{}': no group of workers{} is there; ranks are lost that may have been in one",
                tasks_, with_id);
  }
  if (known.empty()) {
    return fail(Code::not_found, "tasks '{}': there are no workers, and none are awaited", tasks_);
  }
  return fail(Code::not_found, "tasks '{}': no workers have the id {}; the ids are: {}", tasks_, worker,
              fmt::join(known, ", "));
}

// Is there a rank that lives, and that has been in no group in this life?
bool WorkerGroups::any_awaited() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [this](channel::PeerId rank) {
    const auto named = greeted_.find(rank);
    return !mailbox_.is_gone(rank) && !mailbox_.is_cut_off(rank) &&
           (named == greeted_.end() || mailbox_.environment().incarnation(rank) >= named->second);
  });
}

// Is there a rank that was lost, is in none of the groups, and may be started again?
bool WorkerGroups::any_lost() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [this](channel::PeerId rank) {
    return mailbox_.environment().is_lost(rank) &&
           std::none_of(groups_.begin(), groups_.end(),
                        [rank](const WorkerGroup& group) { return !group.gone && group.ranks.contains(rank); });
  });
}

bool WorkerGroups::may_begin(const WorkerGroup& group) const {
  const auto is_missing = [&](const auto& rank) {  // also if it is back: it is in the group after the next hello
    const Environment& environment = mailbox_.environment();
    const bool has_left = rank.first != group.leader && environment.has_left(rank.first);
    return has_left || environment.is_lost(rank.first) || environment.incarnation(rank.first) > rank.second;
  };
  return !group.gone && !group.broken && !group.task &&
         std::none_of(group.ranks.begin(), group.ranks.end(), is_missing);
}

WorkerGroup* WorkerGroups::choose(const OpenTasks& tasks) {
  WorkerGroup* best = nullptr;
  const auto turn = [this](const WorkerGroup& group) {
    const bool in_turns = policy_ == Policy::round_robin;
    const bool behind = group.worker <= last_worker_;
    return std::tuple(in_turns && behind, in_turns ? group.worker : 0, group.idle_since);
  };
  for (WorkerGroup& group : groups_) {
    if (may_begin(group) && tasks.next_for(group.worker) && (best == nullptr || turn(group) < turn(*best))) {
      best = &group;
    }
  }
  return best;
}

WorkerGroup* WorkerGroups::with_task(channel::PeerId leader, std::uint64_t id) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const WorkerGroup& group) {
    return group.leader == leader && !group.gone && group.task == id;
  });
  return found == groups_.end() ? nullptr : &*found;
}

bool WorkerGroups::has_lost(const WorkerGroup& group, channel::PeerId rank) const {
  const auto life = group.ranks.find(rank);
  if (group.gone || life == group.ranks.end()) {
    return false;
  }
  Environment& environment = mailbox_.environment();
  const bool is_cut_off = rank == group.leader && mailbox_.is_cut_off(rank);  // the others say nothing to a coupler
  const bool lives = !is_cut_off && environment.alive(rank, static_cast<std::uint16_t>(life->second)).ok();
  return !lives && life->second <= environment.incarnation(rank);
}

std::set<channel::PeerId> WorkerGroups::leaders() const {
  std::set<channel::PeerId> leaders;
  for (const WorkerGroup& group : groups_) {
    if (!group.gone) {
      leaders.insert(group.leader);
    }
  }
  return leaders;
}

}  // namespace couplet::task
