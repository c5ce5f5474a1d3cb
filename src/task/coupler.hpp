// The end that dispatches: takes requests into an inbox, for the user's coupler program or for run(), and gives what is
// dispatched to worker groups that are idle, first come first served. What every group does is known: when one is lost its
// task is given to another group, or handed back with an error.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "task/work.hpp"

namespace couplet::task {

enum class OnLost : std::uint8_t { fail, retry };
// For tasks that any worker may do.
enum class Policy : std::uint8_t { first_idle, round_robin };

struct CouplerOptions {
  OnLost on_lost = OnLost::fail;
  Policy policy = Policy::first_idle;
  std::uint64_t queue_limit = 0;  // tasks that wait; 0: as many as memory holds
  std::vector<std::string> requesters;
  std::vector<std::string> workers;
};

class Coupler final : public Listener {
 public:
  // not_found; argument: neither requesters nor workers are named; exists.
  static Result<std::unique_ptr<Coupler>> open(Post& post, const std::string& name, const std::string& couplers,
                                               CouplerOptions options);
  ~Coupler() override;

  // The next request, which is then dispatched or completed by its id; until then its memory is the library's. not_yet: none
  // in time; end: all requesters have closed or are gone, and everything is done. state: only tasks are left that were taken
  // and neither dispatched nor completed.
  Status next(std::uint64_t deadline_ns, Incoming& incoming);
  // Puts it into the queue of the workers with that id, with this content. not_found: no workers have that id (the requester
  // is not told: the caller may dispatch it otherwise); argument: no task of that id in the caller's hands.
  Status dispatch(std::uint64_t id, std::int32_t worker, const Content& content);
  // With its own content.
  Status dispatch(std::uint64_t id, std::int32_t worker);
  // Ends it without a worker.
  Status complete(std::uint64_t id, const Status& outcome);
  // The built-in coupler: dispatches everything as its requester wished, until the end (ok); not_yet at the deadline.
  Status run(std::uint64_t deadline_ns);
  // Tasks that wait for a worker.
  [[nodiscard]] std::uint64_t waiting() const noexcept;
  // Tells the workers that nothing more comes, and requesters whose tasks are not done that they will not be.
  Status close();

  void letter(channel::PeerId source, wire::Letter letter) override;
  void lost(channel::PeerId peer, const Status& why) override;

 private:
  enum class Stage : std::uint8_t { inbox, held, waiting, running };
  struct Entry {
    Stage stage = Stage::inbox;
    channel::PeerId requester = 0;
    std::uint64_t number = 0;  // the requester's
    wire::Letter letter;
    std::size_t group = 0;  // running
  };
  struct WorkerGroup {
    std::int32_t worker = 0;
    channel::PeerId leader = 0;
    std::vector<channel::PeerId> ranks;
    bool gone = false;
    std::optional<std::uint64_t> task;
    std::uint64_t idle_since = 0;  // order in which groups became idle
  };
  using Entries = std::map<std::uint64_t, Entry>;

  Coupler(Post& post, std::string name, CouplerOptions options);
  Status find_members(const std::string& couplers);

  void submitted(channel::PeerId source, wire::Letter letter);
  void accept(channel::PeerId source, wire::Letter letter);
  void answer(channel::PeerId requester, wire::LetterKind kind, std::uint64_t number, const Status& status);
  void withdrawn(channel::PeerId source, std::uint64_t number);
  void greeted(channel::PeerId source, const wire::Letter& letter);
  void finished_work(channel::PeerId source, const wire::Letter& letter);
  void left(channel::PeerId source);
  void give_back(WorkerGroup& group, const Status& why, bool may_retry);

  [[nodiscard]] bool full() const noexcept;
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool all_registered() const;
  [[nodiscard]] Status find_workers(std::int32_t worker) const;
  Status enqueue(Entries::iterator entry, std::int32_t worker);
  void finish(std::uint64_t id, const Status& status);
  void pump();
  std::deque<std::uint64_t>* queue_for(const WorkerGroup& group);
  WorkerGroup* choose_group();
  void reject_hopeless();
  void say_end();
  Entry* held(std::uint64_t id);

  Post& post_;
  std::string name_;
  std::uint64_t space_;
  CouplerOptions options_;
  std::set<channel::PeerId> requester_ranks_;  // that have not closed
  std::set<channel::PeerId> worker_ranks_;     // that have not registered
  Entries entries_;
  std::uint64_t next_id_ = 0;
  std::deque<std::uint64_t> inbox_;
  std::map<std::int32_t, std::deque<std::uint64_t>> queues_;  // by worker id
  std::deque<std::pair<channel::PeerId, wire::Letter>> parked_;
  std::vector<WorkerGroup> groups_;
  std::uint64_t idle_clock_ = 0;
  std::int32_t last_worker_ = any_worker;  // for round robin
  bool automatic_ = false;
  bool closed_ = false;
};

}  // namespace couplet::task
