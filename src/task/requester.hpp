// The end that sends requests: each goes to a coupler, which says that it has taken it, and later that it is done.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "task/work.hpp"

namespace couplet::task {

class Requester;

// A request that was sent; the caller's handle.
struct Task {
  Requester* owner = nullptr;
  std::uint64_t number = 0;
  channel::PeerId coupler = 0;
  bool taken = false;   // by the coupler
  bool parked = false;  // its queue is full, it will take it later
  bool done = false;
  bool kept = false;  // the caller has a handle
  Status status;
};

class Requester final : public Listener {
 public:
  // couplers: the program whose ranks dispatch. not_found; exists: open under this name already.
  static Result<std::unique_ptr<Requester>> open(Post& post, const std::string& name, const std::string& couplers);
  ~Requester() override;

  // Returns when a coupler has taken the request: the content may be changed again. full: its queue is, and stays so until
  // the deadline; timeout naming the coupler: it does not answer; peer_lost: no coupler is left; or what the coupler objects
  // to. task may be nullptr: then close() tells what went wrong.
  Status submit(std::int32_t worker, const Content& content, std::uint64_t deadline_ns, Task** task);
  // How the task ended. *task becomes nullptr unless the answer is timeout (or not_yet: interrupted).
  Status wait(Task** task, std::uint64_t deadline_ns);
  // not_yet: not done, *task stays.
  Status test(Task** task);
  // index: -1 where all are nullptr. All of this requester.
  Status waitany(std::span<Task*> tasks, std::uint64_t deadline_ns, std::int32_t* index);
  // Nothing more will come from here; tasks that are under way go on. The first error of a task without a handle.
  Status close();

  void* owner = nullptr;  // for the layer above: what its handle belongs to

  void letter(channel::PeerId source, wire::Letter letter) override;
  void lost(channel::PeerId peer, const Status& why) override;

 private:
  Requester(Post& post, std::string name, std::vector<channel::PeerId> couplers);
  Result<channel::PeerId> choose_coupler();
  Status offer(Task& task, const wire::Letter& letter, std::uint64_t deadline_ns);
  void conclude(Task& task, Status status);
  Status collect(Task** task);
  Status wait_until(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what);

  Post& post_;
  std::string name_;
  std::uint64_t space_;
  std::vector<channel::PeerId> couplers_;
  std::size_t turn_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Task>> tasks_;
  Status unheard_;  // first error of a task whose handle nobody wanted
  bool closed_ = false;
};

}  // namespace couplet::task
