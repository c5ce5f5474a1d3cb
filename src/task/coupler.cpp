#include "task/coupler.hpp"

#include <algorithm>
#include <utility>

#include "base/counted.hpp"

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

namespace {

// Worker groups that have the tasks open, and that were told that no task comes, say hello again.
void call_back_workers(Mailbox& mailbox, std::uint64_t space) {
  for (const channel::PeerId leader : mailbox.take_ended_workers(space)) {
    TaskMessage hello;
    hello.kind = TaskMessageKind::hello;
    hello.space = space;
    hello.number = mailbox.next_number();
    static_cast<void>(mailbox.send(leader, hello));  // one that is gone says hello when it is started again
  }
}

struct Members {
  std::set<channel::PeerId> requesters;
  std::set<channel::PeerId> workers;
};

// Finds the requesters and the workers. If one of them is not named, it is all the other programs.
Result<Members> members_of(const Environment& environment, const std::string& name, const std::string& couplers,
                           const CouplerOptions& options) {
  if (options.requesters.empty() && options.workers.empty()) {
    return fail(Code::argument, "tasks '{}': the coupler has to name the requesters or the workers", name);
  }
  const auto add = [&](const std::vector<std::string>& names, std::set<channel::PeerId>& ranks) -> Status {
    for (const auto& program_name : names) {
      auto program = find_program(environment, program_name);
      if (!program) {
        return program.status().within(fmt::format("tasks '{}'", name));
      }
      const auto found = ranks_of(**program);
      ranks.insert(found.begin(), found.end());
    }
    return {};
  };
  Members members;
  COUPLET_TRY(add(options.requesters, members.requesters));
  COUPLET_TRY(add(options.workers, members.workers));
  std::set<channel::PeerId> own;
  COUPLET_TRY(add({couplers}, own));
  auto& rest = options.requesters.empty() ? members.requesters : members.workers;
  const auto& named = options.requesters.empty() ? members.workers : members.requesters;
  if (options.requesters.empty() || options.workers.empty()) {
    for (const auto& program : environment.programs()) {
      for (const channel::PeerId peer : ranks_of(program)) {
        if (!own.contains(peer) && !named.contains(peer)) {
          rest.insert(peer);
        }
      }
    }
  }
  return members;
}

Status not_in_hand(const std::string& name, std::uint64_t id) {
  return fail(Code::state,
              "tasks '{}': this coupler does not have task {} in hand: next has not given it, or it was dispatched or "
              "completed already",
              name, id);
}

}  // namespace

Coupler::Coupler(Mailbox& mailbox, std::string name, CouplerOptions options)
    : mailbox_(mailbox),
      name_(std::move(name)),
      space_(space_of("tasks", name_)),
      options_(std::move(options)),
      groups_(mailbox, name_, options_.policy) {}

Result<std::unique_ptr<Coupler>> Coupler::open(Mailbox& mailbox, const std::string& name, const std::string& couplers,
                                               CouplerOptions options) {
  auto members = members_of(mailbox.environment(), name, couplers, options);
  COUPLET_TRY(members.status());
  std::unique_ptr<Coupler> made(new Coupler(mailbox, name, std::move(options)));
  made->closed_ = true;
  made->requesters_.expect(mailbox, members->requesters);
  made->groups_.expect(std::move(members->workers));
  made->closed_ = false;  // before it takes what was kept for it
  if (!mailbox.listen(made->space_, *made).ok()) {
    made->closed_ = true;
    return fail(Code::exists, "tasks '{}': this process has opened them already", name);
  }
  call_back_workers(mailbox, made->space_);
  return made;
}

Coupler::~Coupler() {
  try {
    static_cast<void>(close());
  } catch (const std::bad_alloc&) {
    static_cast<void>(0);  // close() has told all that wait
  }
}

// ---- the calls of the user ----

Status Coupler::next(std::uint64_t deadline_ns, Incoming& incoming) {
  if (closed_) {
    return fail(Code::state, "tasks '{}' are closed", name_);
  }
  requesters_.look_for_returned(mailbox_);
  const auto something = [this] { return tasks_.has_next() || nothing_comes(); };
  if (!something()) {
    const Status waited = mailbox_.environment().engine().wait(
        something, deadline_ns, [] { return std::string("a request"); }, nullptr, true);
    if (waited.code() == Code::timeout) {
      tasks_.settle(mailbox_.environment().engine());
    }
    if (!waited.ok() && !tasks_.has_next()) {
      return waited.code() == Code::timeout ? Status(Code::not_yet) : waited;
    }
  }
  if (!tasks_.has_next()) {
    COUPLET_TRY(conclude());
    return Code::end;
  }
  const std::uint64_t id = tasks_.take();
  pump();  // there is room for another request
  wire::TaskMessage& message = tasks_.held(id)->message;
  own_byte_order(message);
  incoming = view_of(message, id);
  return {};
}

Status Coupler::dispatch(std::uint64_t id, std::int32_t worker, const Content& content) {
  OpenTask* task = tasks_.held(id);
  if (task == nullptr) {
    return not_in_hand(name_, id);
  }
  COUPLET_TRY(check_content(content, worker, fmt::format("tasks '{}', task {}", name_, id)));
  COUPLET_TRY(groups_.find(worker));
  TaskMessage fresh;
  fresh.source = task->message.source;
  // The content may be the task's own.
  set_content(fresh, content);
  task->message = std::move(fresh);
  return dispatch(id, worker);
}

Status Coupler::dispatch(std::uint64_t id, std::int32_t worker) {
  if (tasks_.held(id) == nullptr) {
    return not_in_hand(name_, id);
  }
  COUPLET_TRY(queue(id, worker));
  pump();
  return {};
}

Status Coupler::complete(std::uint64_t id, const Status& outcome) {
  if (tasks_.held(id) == nullptr) {
    return not_in_hand(name_, id);
  }
  finish(id, outcome);
  pump();
  return {};
}

Status Coupler::run(std::uint64_t deadline_ns) {
  if (closed_) {
    return fail(Code::state, "tasks '{}' are closed", name_);
  }
  automatic_ = true;
  while (const auto id = tasks_.first_of_inbox()) {
    const Status status = queue(*id, tasks_.find(*id)->message.worker);
    if (!status.ok()) {
      finish(*id, status);
    }
  }
  pump();
  requesters_.look_for_returned(mailbox_);
  const Status waited =
      mailbox_.environment().engine().wait([this] { return nothing_comes(); }, deadline_ns,
                                           [] { return std::string("the requesters to close"); }, nullptr, true);
  tasks_.settle(mailbox_.environment().engine());
  automatic_ = false;
  if (!waited.ok()) {
    return waited.code() == Code::timeout ? Status(Code::not_yet) : waited;
  }
  return conclude();
}

// Is nothing left but what the caller has in hand?
bool Coupler::nothing_comes() const noexcept {
  return !requesters_.any() && parked_.empty() && tasks_.all_held();
}

// For a call that ends because nothing comes.
Status Coupler::conclude() {
  if (!tasks_.empty()) {
    return fail(Code::state, "tasks '{}': {}, and neither dispatched nor completed; there is no other task to take",
                name_, counted(tasks_.count(), "task was taken", "tasks were taken"));
  }
  COUPLET_TRY(requesters_.loss(name_));
  groups_.say_end(space_);
  return {};
}

Status Coupler::close() {
  if (closed_) {
    return {};
  }
  const auto lost = [this](std::string_view format) noexcept {  // without text if there is no memory for it
    try {
      const std::string self = mailbox_.environment().peer_name(mailbox_.environment().self());
      return fail(Code::peer_lost, fmt::runtime(format), name_, self);
    } catch (const std::bad_alloc&) {
      return Status(Code::peer_lost);
    }
  };
  const Status refused = lost("tasks '{}': {} no longer dispatches them");
  for (const auto& [source, message] : parked_) {
    tell(source, TaskMessageKind::taken, message.number, refused);
  }
  parked_.clear();
  const Status ended = lost("tasks '{}': {}, the coupler, has closed before the task was done");
  while (!tasks_.empty()) {
    finish(tasks_.oldest(), ended);
  }
  closed_ = true;
  try {
    groups_.say_end(space_);
    mailbox_.end(space_, groups_.leaders());
  } catch (const std::bad_alloc&) {  // the groups would wait for tasks
    mailbox_.forget(space_);
    for (const WorkerGroup& group : groups_) {
      give_up(mailbox_.environment(), group.leader, Code::memory);
    }
    throw;
  }
  return {};
}

}  // namespace couplet::task
