// What a coupler knows of its workers: the groups that have greeted it, the task of each, and the ranks that may still
// come. Only the leader of a group knows which ranks have opened the tasks, so what a hello or `opened` says counts,
// and not what the coupler hears of a rank meanwhile. Format: docs/formats/task.md.
// Tests: tests/unit/task/worker_groups_test.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "task/open_tasks.hpp"

namespace couplet::task {

// How a worker is chosen for tasks that any worker may do.
enum class Policy : std::uint8_t { first_idle, round_robin };

struct WorkerGroup {
  std::int32_t worker = 0;
  std::int32_t mark = 0;  // mark_of its hello
  channel::PeerId leader = 0;
  std::map<channel::PeerId, std::uint64_t> ranks;  // all ranks, each with its incarnation as the leader knows it
  // Its leader is lost, or has said goodbye. The loss of another rank does not end the group: what is known of that
  // rank may be older than the hello. If the hello is the older one, the leader closes, and greets again.
  bool gone = false;
  bool broken = false;  // it has reported that a rank of it is lost, and does no task before its next hello
  bool ended = false;   // it was told that no task comes, and has got none since
  std::optional<std::uint64_t> task;
  std::uint64_t idle_since = 0;  // the order in which groups became idle

  // Sends the request to the leader as the task that the group has in hand. Returns memory if it cannot be copied.
  Status send_task(Mailbox& mailbox, std::uint64_t space, const wire::TaskMessage& request) const noexcept;
};

class WorkerGroups {
 public:
  WorkerGroups(Mailbox& mailbox, std::string tasks, Policy policy)
      : mailbox_(mailbox), tasks_(std::move(tasks)), policy_(policy) {}

  // Names the ranks that may open the tasks.
  void expect(std::set<channel::PeerId> ranks) { ranks_ = std::move(ranks); }
  // Registers the group of a hello. What its leader has led before must be gone.
  void greet(channel::PeerId leader, const wire::TaskMessage& hello);
  // Notes a life that is in a group, or was in one. It is not awaited any longer.
  void note(const Life& life);
  // Notes that the group has nothing to do.
  void become_idle(WorkerGroup& group) { group.idle_since = ++idle_clock_; }
  // Notes that the group is to do a task.
  void begin_task(WorkerGroup& group, std::uint64_t id, const OpenTask& task);
  // Tells the groups that no task comes.
  void say_end(std::uint64_t space);

  // Returns ok if workers with that id are there, or may still come; else not_found or peer_lost.
  [[nodiscard]] Status find(std::int32_t worker) const;
  // Returns the group that has been idle longest among those that have something to do, or nullptr. With round robin,
  // and if any worker may do the task, it is a group of the worker id that is next in turn.
  [[nodiscard]] WorkerGroup* choose(const OpenTasks& tasks);
  // Returns the group of that leader that has the task in hand, or nullptr.
  [[nodiscard]] WorkerGroup* with_task(channel::PeerId leader, std::uint64_t id);
  // Has the group lost that rank? The news of a loss may be of a life before the hello, also if it is known that the
  // rank was started again.
  [[nodiscard]] bool has_lost(const WorkerGroup& group, channel::PeerId rank) const;
  // Returns the leaders of the groups that are there.
  [[nodiscard]] std::set<channel::PeerId> leaders() const;

  [[nodiscard]] std::vector<WorkerGroup>::iterator begin() noexcept { return groups_.begin(); }
  [[nodiscard]] std::vector<WorkerGroup>::iterator end() noexcept { return groups_.end(); }

 private:
  [[nodiscard]] bool may_begin(const WorkerGroup& group) const;
  [[nodiscard]] bool any_awaited() const;
  [[nodiscard]] bool any_lost() const;

  Mailbox& mailbox_;
  std::string tasks_;  // their name
  Policy policy_;
  std::set<channel::PeerId> ranks_;
  std::map<channel::PeerId, std::uint64_t> greeted_;  // the life after the newest one that was in a group
  std::vector<WorkerGroup> groups_;
  std::uint64_t idle_clock_ = 0;
  std::int32_t last_worker_ = any_worker;  // for round robin
};

}  // namespace couplet::task
