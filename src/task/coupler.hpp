// The side that dispatches. It takes requests into an inbox, for the user's coupler program or for run(), and gives
// dispatched tasks to idle worker groups in the order in which they came. It knows what every group does: if one is
// lost, its task is given to another group, or handed back with an error.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "task/requester_ranks.hpp"
#include "task/work.hpp"

namespace couplet::task {

enum class OnLost : std::uint8_t { fail, retry };
// How a worker is chosen for tasks that any worker may do.
enum class Policy : std::uint8_t { first_idle, round_robin };

struct CouplerOptions {
  OnLost on_lost = OnLost::fail;
  Policy policy = Policy::first_idle;
  std::uint64_t queue_limit = 0;  // largest number of waiting tasks; 0: as many as memory holds
  [[nodiscard]] bool is_full(std::uint64_t waiting) const noexcept { return queue_limit > 0 && waiting >= queue_limit; }
  std::vector<std::string> requesters;
  std::vector<std::string> workers;
};

class Coupler final : public Listener {
 public:
  // Opens the tasks. Returns not_found; argument if neither requesters nor workers are named; or exists.
  static Result<std::unique_ptr<Coupler>> open(Mailbox& mailbox, const std::string& name, const std::string& couplers,
                                               CouplerOptions options);
  ~Coupler() override;

  // Takes the next request, which the caller then dispatches or completes by its id. Until then its memory belongs to
  // the library. Returns not_yet if there is none within the deadline; end if all requesters have closed or left, and
  // everything is done; peer_lost, until it has returned, if the last ones were lost; and state if only tasks are left
  // that were taken and neither dispatched nor completed.
  Status next(std::uint64_t deadline_ns, Incoming& incoming);
  // Puts the task into the queue of the workers with that id, with this content. Returns not_found if no workers have
  // that id (the requester is not told, since the caller may dispatch the task otherwise), and argument if the caller
  // has no task of that id.
  Status dispatch(std::uint64_t id, std::int32_t worker, const Content& content);
  // Dispatches the task unchanged.
  Status dispatch(std::uint64_t id, std::int32_t worker);
  // Ends the task without a worker.
  Status complete(std::uint64_t id, const Status& outcome);
  // Runs the built-in coupler, which dispatches every request as its requester asked. Returns ok at the end, not_yet
  // at the deadline, and peer_lost and state as next() does.
  Status run(std::uint64_t deadline_ns);
  // Returns the number of tasks that wait for a worker.
  [[nodiscard]] std::uint64_t waiting() const noexcept;
  // Tells the workers that nothing further comes, and the requesters whose tasks are not done that they will not be.
  Status close();

  void message(channel::PeerId source, wire::TaskMessage message) override;
  void lost(channel::PeerId peer, const Status& why) override;
  void returned(channel::PeerId peer) override {
    requesters_.returned(peer);
    pump();
  }
  void looked() override;

 private:
  enum class Stage : std::uint8_t { inbox, held, waiting, running };
  struct Entry {
    Stage stage = Stage::inbox;
    channel::PeerId requester = 0;
    std::uint64_t number = 0;  // the requester's number
    wire::TaskMessage message;
  };
  struct WorkerGroup {
    std::int32_t worker = 0;
    std::int32_t mark = 0;  // mark_of its hello
    channel::PeerId leader = 0;
    std::map<channel::PeerId, std::uint64_t> ranks;  // all ranks, each with its incarnation as the leader knows it
    // Its leader is lost, or has said goodbye. The loss of another rank does not end the group: what is known of
    // that rank may be older than the hello. If the hello is the older one, the leader closes, and greets again.
    bool gone = false;
    bool broken = false;  // it has reported that a rank of it is lost, and does no task before its next hello
    bool ended = false;   // it was told that no task comes, and has got none since
    std::optional<std::uint64_t> task;
    std::uint64_t idle_since = 0;  // the order in which groups became idle

    // Sends the request to the leader as the task that the group has in hand. Returns memory if it cannot be copied.
    Status send_task(Mailbox& mailbox, std::uint64_t space, const wire::TaskMessage& request) const noexcept;
  };
  struct WorkerRanks {
    std::set<channel::PeerId> all;
    std::map<channel::PeerId, std::uint64_t> greeted;  // the life after the newest one that was in a group

    // Notes a life that is in a group, or was in one.
    void note(const Life& life);
    // Is there a rank that lives, and that has been in no group in this life?
    [[nodiscard]] bool any_awaited(Mailbox& mailbox) const;
    // Is there a rank that was lost, is in none of the groups, and may be started again?
    [[nodiscard]] bool any_lost(const Environment& environment, const std::vector<WorkerGroup>& groups) const;
  };
  // The tasks that have not ended, by id.
  struct Entries : std::map<std::uint64_t, Entry> {
    // Returns the task if the user's coupler has it in hand, else nullptr.
    [[nodiscard]] Entry* held(std::uint64_t id);
    [[nodiscard]] std::size_t count_held() const noexcept;
  };
  // A request may have waited while this process made no call, and a `withdraw` of the same requester may follow it. So
  // a request is given to nobody until the mailbox has been polled once more after the request was accepted.
  struct Settling {
    std::uint64_t end = 0;      // the ids of all requests are below it
    std::uint64_t seen = 0;     // `end` at the last poll of the mailbox
    std::uint64_t settled = 0;  // requests with ids below it may be given out

    // May the oldest request of the queue be given out?
    [[nodiscard]] bool has_first(const std::deque<std::uint64_t>& queue) const noexcept {
      return !queue.empty() && queue.front() < settled;
    }
    // For a call whose time is over: what has come before it may be given out, too.
    void settle(engine::Engine& engine) const {
      for (int looks = 0; looks < 2 && settled < end; ++looks) {
        engine.look_at_all();
      }
    }
  };
  // The ids of the tasks that wait for workers, by worker id.
  struct Queues : std::map<std::int32_t, std::deque<std::uint64_t>> {
    std::deque<std::uint64_t> inbox;  // those that wait for the user's coupler
    // Takes the task out of the queue that it is in.
    void forget(std::uint64_t id) noexcept;
    // Returns the queue whose oldest task a group of that worker id should do now, or nullptr if there is none.
    [[nodiscard]] std::deque<std::uint64_t>* next_for(std::int32_t worker, const Settling& settling);
  };
  // Says which idle group is next.
  struct Turns {
    std::uint64_t idle_clock = 0;
    std::int32_t last_worker = any_worker;  // for round robin
  };

  Coupler(Mailbox& mailbox, std::string name, CouplerOptions options);
  Status find_members(const std::string& couplers);

  void submitted(channel::PeerId source, wire::TaskMessage message);
  void accept(channel::PeerId source, wire::TaskMessage message);
  void answer(channel::PeerId requester, wire::TaskMessageKind kind, std::uint64_t number, const Status& status);
  void withdrawn(channel::PeerId source, std::uint64_t number);
  void greeted(channel::PeerId source, const wire::TaskMessage& message);
  void finished_work(channel::PeerId source, const wire::TaskMessage& message);
  void left(channel::PeerId source);
  void give_back(WorkerGroup& group, const Status& why, bool may_retry);

  Status find_workers(std::int32_t worker);
  Status enqueue(Entries::iterator entry, std::int32_t worker);
  void finish(std::uint64_t id, const Status& status);
  void pump();
  WorkerGroup* choose_group();
  void reject_hopeless();
  void say_end();
  [[nodiscard]] bool nothing_comes() const noexcept;
  Status conclude();

  Mailbox& mailbox_;
  std::string name_;
  std::uint64_t space_;
  CouplerOptions options_;
  RequesterRanks requesters_;
  WorkerRanks worker_ranks_;
  Entries entries_;
  Queues queues_;
  std::deque<std::pair<channel::PeerId, wire::TaskMessage>> parked_;
  std::vector<WorkerGroup> groups_;
  Turns turns_;
  Settling settling_;
  bool automatic_ = false;
  bool closed_ = false;
};

}  // namespace couplet::task
