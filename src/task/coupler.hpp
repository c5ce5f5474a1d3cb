// The side that dispatches. It takes requests into an inbox, for the user's coupler program or for run(), and gives
// dispatched tasks to idle worker groups in the order in which they came. It knows what every group does: if one is
// lost, its task is given to another group, or handed back with an error.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "task/requester_ranks.hpp"
#include "task/worker_groups.hpp"

namespace couplet::task {

enum class OnLost : std::uint8_t { fail, retry };

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
  [[nodiscard]] std::uint64_t waiting() const noexcept { return tasks_.waiting(); }
  // Tells the workers that nothing further comes, and the requesters whose tasks are not done that they will not be.
  // Throws bad_alloc if there is no memory for that; those that wait then count this process as lost.
  Status close();

  void message(channel::PeerId source, wire::TaskMessage message) override;
  void lost(channel::PeerId peer, const Status& why) override;
  void returned(channel::PeerId peer) override {
    requesters_.returned(peer);
    pump();
  }
  void looked() override;

 private:
  Coupler(Mailbox& mailbox, std::string name, CouplerOptions options);

  void submitted(channel::PeerId source, wire::TaskMessage message);
  void accept(channel::PeerId source, wire::TaskMessage message);
  void tell(channel::PeerId requester, wire::TaskMessageKind kind, std::uint64_t number, const Status& status) noexcept;
  void withdrawn(channel::PeerId source, std::uint64_t number);
  void greeted(channel::PeerId source, const wire::TaskMessage& message);
  void finished_work(channel::PeerId source, const wire::TaskMessage& message);
  void left(channel::PeerId source);
  void give_back(WorkerGroup& group, const Status& why, bool may_retry);

  Status queue(std::uint64_t id, std::int32_t worker);
  void finish(std::uint64_t id, const Status& status);
  void pump();
  void reject_hopeless();
  [[nodiscard]] bool nothing_comes() const noexcept;
  Status conclude();

  Mailbox& mailbox_;
  std::string name_;
  std::uint64_t space_;
  CouplerOptions options_;
  RequesterRanks requesters_;
  WorkerGroups groups_;
  OpenTasks tasks_;
  std::deque<std::pair<channel::PeerId, wire::TaskMessage>> parked_;  // requests that wait for room
  bool automatic_ = false;
  bool closed_ = false;
};

}  // namespace couplet::task
