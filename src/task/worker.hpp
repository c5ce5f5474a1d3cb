// The end that works: a group of ranks of one program that takes one task after the other, all ranks the same.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "message/team.hpp"
#include "task/work.hpp"

namespace couplet::task {

struct WorkerOptions {
  std::int32_t id = any_worker;  // under which requests find it; -1: the number of the own program
  std::int32_t group_size = 0;   // consecutive ranks that work on one task together; 0: all of the program
};

class Worker final : public Listener {
 public:
  // Every rank of the program makes the same call. not_found, argument, exists.
  static Result<std::unique_ptr<Worker>> open(Post& post, const std::string& name, const std::string& couplers,
                                              const WorkerOptions& options);
  ~Worker() override;

  // Collective over the group: the next task, the same on every rank, until complete(). not_yet at the deadline (of the
  // first rank of the group); end: the couplers have nothing more. A task that is not as expected is an error here, and is
  // handed back with that error; the next call goes on with the next one. peer_lost: a rank of the group is.
  Status next(const Expectation& expected, std::uint64_t deadline_ns, Incoming& incoming);
  // Collective: the task is done when all ranks say so. The first error of a rank is its requester's.
  Status complete(const Status& outcome);
  // Hands back what was not begun. Local.
  Status close();
  // Rank in the group and its size.
  [[nodiscard]] int rank() const noexcept { return team_->rank(); }
  [[nodiscard]] int size() const noexcept { return team_->size(); }

  void letter(channel::PeerId source, wire::Letter letter) override;
  void lost(channel::PeerId peer, const Status& why) override;

 private:
  struct Order {
    channel::PeerId coupler;
    wire::Letter letter;
  };
  Worker(Post& post, std::string name, std::vector<channel::PeerId> couplers);
  Status join_group(const WorkerOptions& options);
  void greet(const WorkerOptions& options);
  Status take(const Expectation& expected, std::uint64_t deadline_ns);
  Status share(const Status& found);
  void report(const Status& outcome);

  Post& post_;
  std::string name_;
  std::uint64_t space_;
  std::vector<channel::PeerId> couplers_;
  std::set<channel::PeerId> open_couplers_;  // that have not said that it is over
  std::vector<std::int32_t> ranks_;          // of the group, in the universe
  std::unique_ptr<message::Team> team_;
  std::deque<Order> orders_;
  Order current_{};
  bool working_ = false;
  bool closed_ = true;
};

}  // namespace couplet::task
