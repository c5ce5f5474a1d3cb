// Waiting for requests: a few looks at the one channel that matters, then Engine::wait.
#include <algorithm>
#include <exception>
#include <new>

#include "base/assert.hpp"
#include "message/message.hpp"

namespace couplet::message {
namespace {

constexpr int frames_per_test = 16;

}  // namespace

// The peer reads a large message while we look: going to sleep and being woken would cost more than the rest of the
// copy.
int Messenger::rounds_for(const Request& request) const noexcept {
  if (!may_spin()) return 0;
  const bool being_read = request.sending && request.stage == Stage::offered && request.flow->rounds_per_poll > 64;
  if (!being_read) return options_.spin_rounds;
  constexpr std::uint64_t bytes_per_round = 16;
  constexpr std::uint64_t most_rounds = 250'000;  // some milliseconds
  return options_.spin_rounds + static_cast<int>(std::min(request.bytes / bytes_per_round, most_rounds));
}

// As Channel::poll; a channel that has no memory to go on fails by name.
int Messenger::poll_channel(channel::Channel& channel, int budget) noexcept {
  try {
    return channel.poll(budget);
  } catch (const std::bad_alloc&) {
    channel.fail(fail(Code::memory, "no memory to take what {} sends", channel.peer_name()));
    return 1;
  }
}

// No clock, no system call of ours; true: done.
bool Messenger::spin(const Request& request) noexcept {
  channel::Channel* channel = request.flow != nullptr ? request.flow->channel : nullptr;
  if (channel == nullptr) {
    engine_->poll();
    return request.done;
  }
  const int rounds = rounds_for(request);
  for (int round = 0; round < rounds; ++round) {
    if (++rounds_ >= request.flow->rounds_per_poll) {
      rounds_ = 0;
      engine_->poll();
      if (request.done) return true;
      if (engine_->wanted()) return false;  // another thread: Engine::wait lets it in
    }
    const int moved = poll_channel(*channel, 1);
    if (request.done) return true;
    if (request.flow->channel != channel) return request.done;
    if (moved == 0 && round > 64) os::pause();
  }
  return false;
}

// As finish_wait, after spin() has not helped.
Status Messenger::block(Request& request, std::uint64_t deadline_ns) noexcept {
  // Neither an agreement nor a blocking send can be left half way.
  const bool may_stop = request.sending ? request.pooled : request.text == nullptr;
  return wait_until([&request] { return request.done; }, deadline_ns, [this, &request] { return describe(request); },
                    may_stop);
}

// By the clock only from here on: a message that comes while we look costs no look at it.
Status Messenger::wait_until(const std::function<bool()>& done, std::uint64_t deadline_ns,
                             const std::function<std::string()>& what, bool interruptible) noexcept {
  if (engine_ == nullptr) return fail(Code::state, "a call that waits needs an engine");
  const std::uint64_t start_ns = os::now_ns();
  Status status = Code::memory;
  try {
    status = engine_->wait(done, deadline_ns, what, nullptr, interruptible);
  } catch (const std::bad_alloc&) {
    status = Code::memory;  // the caller's request is still in its list: it decides
  } catch (const std::exception& error) {
    status = fail(Code::internal, "unexpected exception in a wait: {}", error.what());
  }
  counters_.add(Counter::message_wait_ns, os::now_ns() - start_ns);
  return status;
}

void Messenger::move_until(std::uint64_t until_ns) noexcept {
  static_cast<void>(wait_until([] { return false; }, until_ns, [] { return std::string(); }, false));
}

// ok: done; timeout; interrupted; memory. Or state: nobody can wait here.
Status Messenger::finish_wait(Request& request, std::uint64_t deadline_ns) noexcept {
  if (request.done) return {};
  if (engine_ != nullptr && spin(request)) return {};
  return block(request, deadline_ns);
}

Status Messenger::collect(Request** request, couplet_message* message) {
  Request* done = *request;
  *request = nullptr;
  Status status = std::move(done->status);
  if (status.ok() && message != nullptr) *message = done->result;
  give_request(done);
  return status;
}

Status Messenger::wait(Request** request, std::uint64_t deadline_ns, couplet_message* message) {
  if (*request == nullptr) return {};
  if (!(*request)->done) COUPLET_TRY(finish_wait(**request, deadline_ns));
  return collect(request, message);
}

void Messenger::withdraw(Request** request) {
  Request* given = *request;
  if (given == nullptr || given->done || given->sending || given->stage != Stage::posted) return;
  unpost(*given);
  *request = nullptr;
  give_request(given);
}

Status Messenger::test(Request** request, couplet_message* message) {
  if (*request == nullptr) return {};
  // Its own channel at once, also where that takes a system call; the others when it is their time.
  channel::Channel* channel = (*request)->flow != nullptr ? (*request)->flow->channel : nullptr;
  if (!(*request)->done && engine_ != nullptr && channel != nullptr) poll_channel(*channel, frames_per_test);
  if (!(*request)->done && engine_ != nullptr) engine_->poll();
  if (!(*request)->done) return Code::not_yet;
  return collect(request, message);
}

Status Messenger::waitall(std::span<Request*> requests, std::uint64_t deadline_ns, couplet_status* statuses,
                          couplet_message* messages) {
  Status first;
  for (std::size_t index = 0; index < requests.size(); ++index) {
    Status status = wait(&requests[index], deadline_ns, messages != nullptr ? messages + index : nullptr);
    if (status.code() == Code::interrupted) return status;
    if (statuses != nullptr) statuses[index] = static_cast<couplet_status>(status.code());
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  return first;
}

Status Messenger::waitany(std::span<Request*> requests, std::uint64_t deadline_ns, std::int32_t* index,
                          couplet_message* message) {
  std::size_t found = requests.size();
  bool any = false;
  for (const Request* request : requests) any = any || request != nullptr;
  *index = -1;
  if (!any) return {};
  const auto one_done = [&requests, &found] {
    for (found = 0; found < requests.size(); ++found) {
      if (requests[found] != nullptr && requests[found]->done) return true;
    }
    return false;
  };
  if (!one_done()) {
    COUPLET_TRY(wait_until(
        one_done, deadline_ns, [&requests] { return fmt::format("any of {} requests", requests.size()); }, true));
  }
  *index = static_cast<std::int32_t>(found);
  return collect(&requests[found], message);
}

// A peer that computes acknowledges nothing: after the deadline it is enough that the system has all, which delivers it
// also when this process has ended.
Status Messenger::flush(std::uint64_t deadline_ns) {
  const auto none = [this](bool (channel::Channel::*still)() const noexcept) {
    bool found = false;
    for (const auto& flow : flows_) {
      if (flow == nullptr || flow->channel == nullptr || !(flow->channel->*still)()) continue;
      flow->channel->ask_acknowledgement();
      found = true;
    }
    return !found;
  };
  const auto flushed = [&none] { return none(&channel::Channel::sending); };
  if (flushed()) return {};
  Status status = wait_until(
      flushed, deadline_ns, [] { return std::string("what was sent to go"); }, false);
  return status.code() == Code::timeout && none(&channel::Channel::queued) ? Status() : status;
}

}  // namespace couplet::message
