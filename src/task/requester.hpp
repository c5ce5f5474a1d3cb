// The side that submits requests. Each goes to a coupler, which answers that it has taken it, and later that it is
// done.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "task/work.hpp"

namespace couplet::task {

class Requester;

// A request that was sent: the caller's handle.
struct Task {
  Requester* owner = nullptr;
  std::uint64_t number = 0;
  channel::PeerId coupler = 0;
  bool sent = false;
  std::uint16_t coupler_life = 0;  // the incarnation of the coupler that was asked
  bool taken = false;              // the coupler has taken it
  bool parked = false;             // the coupler's queue is full; it will take the request later
  bool done = false;
  bool kept = false;  // the caller has a handle
  Status status;
};

class Requester final : public Listener {
 public:
  // Opens the tasks. `couplers` is the program whose ranks dispatch. Returns not_found, or exists if they are open
  // under this name already.
  static Result<std::unique_ptr<Requester>> open(Mailbox& mailbox, const std::string& name,
                                                 const std::string& couplers);
  ~Requester() override;

  // Submits a request. Blocks until a coupler has taken it; the content may then be changed. `task` may be nullptr:
  // close() then returns the error. Returns full if the coupler's queue stays full until the deadline; timeout, which
  // names the coupler, if it does not answer; peer_lost if no coupler is left, or if the connection to a coupler failed
  // while it had the request, which may then be done or not; or the coupler's refusal.
  Status submit(std::int32_t worker, const Content& content, std::uint64_t deadline_ns, Task** task);
  // Waits and returns how the task ended. *task becomes nullptr unless the answer is timeout, or not_yet after an
  // interrupt.
  Status wait(Task** task, std::uint64_t deadline_ns);
  // Returns not_yet if the task is not done; *task then stays.
  Status test(Task** task);
  // Waits for one of the tasks, which all belong to this requester. `index` gets -1 if all are nullptr.
  Status waitany(std::span<Task*> tasks, std::uint64_t deadline_ns, std::int32_t* index);
  // Says that nothing further comes; tasks that are under way go on. Returns the first error of a task without a
  // handle.
  Status close();

  void* owner = nullptr;  // for the layer above: the owner of its handle

  void message(channel::PeerId source, wire::TaskMessage message) override;
  void lost(channel::PeerId peer, const Status& why) override;

 private:
  Requester(Mailbox& mailbox, std::string name, std::vector<channel::PeerId> couplers);
  Result<channel::PeerId> choose_coupler();
  Status wait_for_coupler(Task& task, std::uint64_t deadline_ns);
  Status offer_or_forget(Task& task, const wire::TaskMessage& message, std::uint64_t deadline_ns);
  Status offer(Task& task, const wire::TaskMessage& message, std::uint64_t deadline_ns);
  void conclude(Task& task, Status status);
  Status collect(Task** task);
  Status wait_until(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what);

  Mailbox& mailbox_;
  std::string name_;
  std::uint64_t space_;
  std::vector<channel::PeerId> couplers_;
  std::size_t turn_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Task>> tasks_;
  Status unheard_;  // the first error of a task without a handle
  bool closed_ = false;
};

}  // namespace couplet::task
