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

Status not_in_hand(const std::string& name, std::uint64_t id) {
  return fail(Code::state,
              "tasks '{}': task {} is not in hand; a task that next has given is dispatched or completed once", name,
              id);
}

}  // namespace

Coupler::Coupler(Mailbox& mailbox, std::string name, CouplerOptions options)
    : mailbox_(mailbox), name_(std::move(name)), space_(space_of("tasks", name_)), options_(std::move(options)) {}

Result<std::unique_ptr<Coupler>> Coupler::open(Mailbox& mailbox, const std::string& name, const std::string& couplers,
                                               CouplerOptions options) {
  std::unique_ptr<Coupler> made(new Coupler(mailbox, name, std::move(options)));
  made->closed_ = true;
  COUPLET_TRY(made->find_members(couplers));
  made->closed_ = false;  // before it takes what was kept for it
  if (!mailbox.listen(made->space_, *made).ok()) {
    made->closed_ = true;
    return fail(Code::exists, "tasks '{}': this process has opened them already", name);
  }
  call_back_workers(mailbox, made->space_);
  return made;
}

// Finds the requesters and the workers. If one of them is not named, it is all the other programs.
Status Coupler::find_members(const std::string& couplers) {
  if (options_.requesters.empty() && options_.workers.empty()) {
    return fail(Code::argument, "tasks '{}': the coupler has to name the requesters or the workers", name_);
  }
  const auto add = [&](const std::vector<std::string>& names, std::set<channel::PeerId>& ranks) -> Status {
    for (const auto& program_name : names) {
      auto program = find_program(mailbox_.environment(), program_name);
      if (!program) {
        return program.status().within(fmt::format("tasks '{}'", name_));
      }
      const auto found = ranks_of(**program);
      ranks.insert(found.begin(), found.end());
    }
    return {};
  };
  std::set<channel::PeerId> requesters;
  COUPLET_TRY(add(options_.requesters, requesters));
  COUPLET_TRY(add(options_.workers, worker_ranks_.all));
  std::set<channel::PeerId> own;
  COUPLET_TRY(add({couplers}, own));
  auto& rest = options_.requesters.empty() ? requesters : worker_ranks_.all;
  const auto& named = options_.requesters.empty() ? worker_ranks_.all : requesters;
  if (options_.requesters.empty() || options_.workers.empty()) {
    for (const auto& program : mailbox_.environment().programs()) {
      for (const channel::PeerId peer : ranks_of(program)) {
        if (!own.contains(peer) && !named.contains(peer)) {
          rest.insert(peer);
        }
      }
    }
  }
  Environment& environment = mailbox_.environment();
  for (const channel::PeerId rank : requesters) {
    const bool is_gone = mailbox_.is_gone(rank);
    if (!is_gone || environment.is_lost(rank)) {
      requesters_.add(rank);
    }
    if (is_gone || mailbox_.is_cut_off(rank)) {
      requesters_.lost(rank, fail(Code::peer_lost, "{} is lost", environment.peer_name(rank)));
    }
  }
  return {};
}

Coupler::~Coupler() {
  static_cast<void>(close());
}

// ---- the calls of the user ----

Coupler::Entry* Coupler::Entries::held(std::uint64_t id) {
  const auto found = find(id);
  return found == end() || found->second.stage != Stage::held ? nullptr : &found->second;
}

std::size_t Coupler::Entries::count_held() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(begin(), end(), [](const auto& entry) { return entry.second.stage == Stage::held; }));
}

Status Coupler::next(std::uint64_t deadline_ns, Incoming& incoming) {
  if (closed_) {
    return fail(Code::state, "tasks '{}' are closed", name_);
  }
  requesters_.look_for_returned(mailbox_);
  const auto something = [this] { return settling_.has_first(queues_.inbox) || nothing_comes(); };
  if (!something()) {
    const Status waited = mailbox_.environment().engine().wait(
        something, deadline_ns, [] { return std::string("a request"); }, nullptr, true);
    if (waited.code() == Code::timeout) {
      settling_.settle(mailbox_.environment().engine());
    }
    if (!waited.ok() && !settling_.has_first(queues_.inbox)) {
      return waited.code() == Code::timeout ? Status(Code::not_yet) : waited;
    }
  }
  if (!settling_.has_first(queues_.inbox)) {
    COUPLET_TRY(conclude());
    return Code::end;
  }
  const std::uint64_t id = queues_.inbox.front();
  queues_.inbox.pop_front();
  entries_.at(id).stage = Stage::held;
  pump();  // there is room for another request
  Entry& entry = entries_.at(id);
  own_byte_order(entry.message);
  incoming = view_of(entry.message, id);
  return {};
}

Status Coupler::dispatch(std::uint64_t id, std::int32_t worker, const Content& content) {
  Entry* entry = entries_.held(id);
  if (entry == nullptr) {
    return not_in_hand(name_, id);
  }
  COUPLET_TRY(check_content(content, worker, fmt::format("tasks '{}', task {}", name_, id)));
  COUPLET_TRY(find_workers(worker));
  TaskMessage fresh;
  fresh.source = entry->message.source;
  // The content may be the entry's own.
  set_content(fresh, content);
  entry->message = std::move(fresh);
  return dispatch(id, worker);
}

Status Coupler::dispatch(std::uint64_t id, std::int32_t worker) {
  if (entries_.held(id) == nullptr) {
    return not_in_hand(name_, id);
  }
  COUPLET_TRY(enqueue(entries_.find(id), worker));
  pump();
  return {};
}

Status Coupler::complete(std::uint64_t id, const Status& outcome) {
  if (entries_.held(id) == nullptr) {
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
  while (!queues_.inbox.empty()) {
    const std::uint64_t id = queues_.inbox.front();
    queues_.inbox.pop_front();
    const auto entry = entries_.find(id);
    const Status status = enqueue(entry, entry->second.message.worker);
    if (!status.ok()) {
      finish(id, status);
    }
  }
  pump();
  requesters_.look_for_returned(mailbox_);
  const Status waited =
      mailbox_.environment().engine().wait([this] { return nothing_comes(); }, deadline_ns,
                                           [] { return std::string("the requesters to close"); }, nullptr, true);
  settling_.settle(mailbox_.environment().engine());
  automatic_ = false;
  if (!waited.ok()) {
    return waited.code() == Code::timeout ? Status(Code::not_yet) : waited;
  }
  return conclude();
}

// Is nothing left but what the caller has in hand?
bool Coupler::nothing_comes() const noexcept {
  return !requesters_.any() && parked_.empty() && entries_.count_held() == entries_.size();
}

// For a call that ends because nothing comes.
Status Coupler::conclude() {
  if (!entries_.empty()) {
    return fail(Code::state, "tasks '{}': {}, and neither dispatched nor completed; there is no other task to take",
                name_, counted(entries_.size(), "task was taken", "tasks were taken"));
  }
  COUPLET_TRY(requesters_.loss(name_));
  say_end();
  return {};
}

std::uint64_t Coupler::waiting() const noexcept {
  std::uint64_t count = queues_.inbox.size();
  for (const auto& [worker, queue] : queues_) {
    count += queue.size();
  }
  return count;
}

Status Coupler::close() {
  if (closed_) {
    return {};
  }
  const std::string self = mailbox_.environment().peer_name(mailbox_.environment().self());
  for (auto& [source, message] : parked_) {
    answer(source, TaskMessageKind::taken, message.number,
           fail(Code::peer_lost, "tasks '{}': {} no longer dispatches them", name_, self));
  }
  parked_.clear();
  while (!entries_.empty()) {
    finish(entries_.begin()->first,
           fail(Code::peer_lost, "tasks '{}': {}, the coupler, has closed before the task was done", name_, self));
  }
  say_end();
  std::set<channel::PeerId> workers;
  for (const WorkerGroup& group : groups_) {
    if (!group.gone) {
      workers.insert(group.leader);
    }
  }
  mailbox_.end(space_, workers);
  closed_ = true;
  return {};
}

void Coupler::say_end() {
  TaskMessage message;
  message.kind = TaskMessageKind::end;
  message.space = space_;
  for (WorkerGroup& group : groups_) {
    if (!group.gone && !group.ended) {
      message.code = group.mark;
      group.ended = mailbox_.send(group.leader, message).ok();
    }
  }
}

}  // namespace couplet::task
