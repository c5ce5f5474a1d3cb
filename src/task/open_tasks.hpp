// The tasks of a coupler that have not ended. Each is in one place: in the inbox, in the hands of the user's coupler
// program, in the queue of a worker id, or with a worker group.
// Tests: tests/unit/task/open_tasks_test.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "engine/engine.hpp"
#include "task/work.hpp"

namespace couplet::task {

struct OpenTask {
  channel::PeerId requester = 0;
  std::uint64_t number = 0;  // the requester's number
  wire::TaskMessage message;
};

class OpenTasks {
 public:
  using Queue = std::deque<std::uint64_t>;

  // Puts a request into the inbox. Ids grow.
  void add(std::uint64_t id, OpenTask task);
  // Puts a task of the inbox, or one in hand, at the end of the queue of that worker id.
  void queue(std::uint64_t id, std::int32_t worker);
  // Puts a task of a worker group back to the front of the queue that it was in.
  void queue_again(std::uint64_t id);
  // Takes the task out of the place that it is in. It has ended.
  void remove(std::uint64_t id) noexcept;

  // Gives the oldest task of the inbox into the hands of the user's program, and returns its id.
  std::uint64_t take();
  // Gives a task of a queue to a worker group.
  OpenTask& give(std::uint64_t id);

  // Returns the task, or nullptr if it has ended.
  [[nodiscard]] OpenTask* find(std::uint64_t id);
  // Returns the task if the user's program has it in hand, else nullptr.
  [[nodiscard]] OpenTask* held(std::uint64_t id);
  // Returns a task of that requester which neither the user's program nor a worker group has begun.
  [[nodiscard]] std::optional<std::uint64_t> not_begun(channel::PeerId requester, std::uint64_t number) const;
  // Returns the oldest task of the inbox, whether or not it may be given out.
  [[nodiscard]] std::optional<std::uint64_t> first_of_inbox() const;
  // Returns the oldest task that a group of that worker id may do now.
  [[nodiscard]] std::optional<std::uint64_t> next_for(std::int32_t worker) const;
  // Returns the ids of the tasks that wait for workers, by worker id.
  [[nodiscard]] const std::map<std::int32_t, Queue>& queues() const noexcept { return queues_; }

  // A request may have waited while this process made no call, and a `withdraw` of the same requester may follow it. So
  // a request is given to nobody until the mailbox has been polled once more after the request was accepted.
  // looked(): the mailbox has been polled.
  void looked() noexcept;
  // For a call whose time is over: what has come before it may be given out, too.
  void settle(engine::Engine& engine);
  // May a task of the inbox be given out?
  [[nodiscard]] bool has_next() const noexcept { return has_first(inbox_); }

  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }
  [[nodiscard]] std::uint64_t count() const noexcept { return tasks_.size(); }
  // Returns the number of tasks that wait in the inbox and in the queues.
  [[nodiscard]] std::uint64_t waiting() const noexcept;
  // Has the user's program all of them in hand?
  [[nodiscard]] bool all_held() const noexcept;
  // Returns the id of the oldest task. There must be one.
  [[nodiscard]] std::uint64_t oldest() const { return tasks_.begin()->first; }

 private:
  enum class Place : std::uint8_t { inbox, hand, queue, group };
  struct Placed {
    OpenTask task;
    Place place = Place::inbox;
  };
  [[nodiscard]] bool has_first(const Queue& queue) const noexcept {
    return !queue.empty() && queue.front() < settled_.below;
  }
  void leave(std::uint64_t id, const Placed& placed) noexcept;

  std::map<std::uint64_t, Placed> tasks_;
  Queue inbox_;
  std::map<std::int32_t, Queue> queues_;  // by worker id
  struct {
    std::uint64_t end = 0;    // the ids of all requests are below it
    std::uint64_t seen = 0;   // `end` at the last poll of the mailbox
    std::uint64_t below = 0;  // requests with ids below it may be given out
  } settled_;
};

}  // namespace couplet::task
