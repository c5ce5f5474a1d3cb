// The side that works: a group of ranks of one program. It does one task after the other, and all its ranks do the same
// task.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "message/team.hpp"
#include "task/work.hpp"

namespace couplet::task {

struct WorkerOptions {
  std::int32_t id = any_worker;  // the id by which requests find it; -1: the id of its program
  std::int32_t group_size = 0;   // number of consecutive ranks that do one task together; 0: all of the program
};

class Worker final : public Listener {
 public:
  // Opens the tasks. Every rank of the program makes the same call. Returns not_found, argument or exists.
  static Result<std::unique_ptr<Worker>> open(Mailbox& mailbox, const std::string& name, const std::string& couplers,
                                              const WorkerOptions& options);
  ~Worker() override;

  // Takes the next task, which is the same on every rank of the group until complete(). Collective over the group.
  // Returns not_yet at the deadline of the group's first rank, end if the couplers have nothing further, and peer_lost
  // if a rank of the group is lost, or if no task is left and a coupler was lost before it said that none comes. If a
  // task is not as expected, returns an error, with which the requester gets the
  // task back; the next call takes the next task.
  Status next(const Expectation& expected, std::uint64_t deadline_ns, Incoming& incoming);
  // Takes the place of a next() that cannot be made, because the caller of this rank has made a mistake. The next() of
  // the other ranks fails with `why`, an error, and a task that has come meanwhile is left to the next call. Returns
  // `why`. Collective.
  Status refuse(const Status& why);
  // Completes the task when all ranks have said so. Collective. The requester gets the first error of a rank.
  Status complete(const Status& outcome);
  // Hands back the tasks that were not begun. Does not wait. Returns an error if a coupler was not told.
  Status close();
  // Returns the rank in the group, and below it the size of the group.
  [[nodiscard]] int rank() const noexcept { return team_->rank(); }
  [[nodiscard]] int size() const noexcept { return team_->size(); }

  void message(channel::PeerId source, wire::TaskMessage message) override;
  void lost(channel::PeerId peer, const Status& why) override;
  void returned(channel::PeerId peer) override;

 private:
  struct Order {
    channel::PeerId coupler;
    wire::TaskMessage message;
  };
  struct Couplers {
    std::vector<channel::PeerId> all;
    std::set<channel::PeerId> open{};                   // those that have not ended
    std::map<channel::PeerId, std::int32_t> greeted{};  // those that know this group, with the mark of its hello
    std::set<channel::PeerId> untold{};                 // those to which the group has to say hello (again)
    // Those that never said that no task comes, and why they count as lost, until the group has greeted them again.
    std::map<channel::PeerId, Status> lost{};
  };
  Worker(Mailbox& mailbox, std::string name, std::vector<channel::PeerId> couplers);
  Status join_group(const WorkerOptions& options);
  [[nodiscard]] wire::TaskMessage greeting();
  void note_meeting();
  Status say_goodbye(const std::map<channel::PeerId, std::int32_t>& greeted);
  void greet(channel::PeerId coupler);
  void greet_again();
  Status take(const Expectation& expected, std::uint64_t deadline_ns);
  Status share(const Status& found);
  [[nodiscard]] Status group_failure() const;
  [[nodiscard]] Status find_refusal(const std::vector<std::string>& images);
  enum class Group : std::uint8_t { whole, broken, broken_before_the_task };
  void report(const Order& order, const Status& outcome, Group group = Group::whole);
  void hand_back(const Status& why);
  void give_up(const Status& why);
  template <typename Body>
  Status told_to_all(const Body& body);
  Status complete_together(const Status& outcome);

  Mailbox& mailbox_;
  std::string name_;
  std::uint64_t space_;
  Couplers couplers_;
  std::int32_t id_ = any_worker;     // as the user has given it
  std::vector<std::int32_t> ranks_;  // universe ranks of the group
  std::unique_ptr<message::Team> team_;
  bool has_met_ = false;      // all ranks have made a call together
  std::vector<Life> named_;   // the ranks, as the last hello has named them
  std::vector<Life> met_;     // the ranks, when all had made a call together
  bool owes_opened_ = false;  // a coupler may wait for a life that will have opened when all ranks have met
  std::deque<Order> orders_;
  Order current_{};
  bool working_ = false;
  bool closed_ = true;
};

}  // namespace couplet::task
