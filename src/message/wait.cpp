// Waiting for requests: polls the one channel that matters a few times, then calls Engine::wait.
#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "message/absence.hpp"
#include "message/message.hpp"
#include "message/probe.hpp"

namespace couplet::message {
namespace {

constexpr int frames_per_test = 16;

void lack_memory(channel::Channel& channel) {
  channel.fail(fail(Code::memory, "no memory to take what {} sends", channel.peer_name()));
}

// Returns argument if a caller's list has the same request twice. It would be given back twice, and then be handed out
// as two requests.
Status check_distinct(std::span<Request* const> requests, const char* function) {
  std::size_t again = requests.size();
  for (std::size_t index = 0; index < requests.size(); ++index) {
    if (requests[index] == nullptr) continue;
    if (requests[index]->listed && again == requests.size()) again = index;
    requests[index]->listed = true;
  }
  for (Request* const request : requests) {
    if (request != nullptr) request->listed = false;
  }
  if (again == requests.size()) return {};
  return fail(Code::argument, "{}: entry {} of {} is the same request as an earlier entry", function, again,
              requests.size());
}

}  // namespace

// Returns for how many rounds spin() polls. The number is larger while the peer reads a large message: going to sleep
// and being woken would then cost more than the rest of the copy.
int Messenger::rounds_for(const Request& request) const noexcept {
  if (!may_spin()) return 0;
  const bool being_read = request.sending && request.stage == Stage::offered && request.flow->rounds_per_poll > 64;
  if (!being_read) return options_.spin_rounds;
  constexpr std::uint64_t bytes_per_round = 16;
  constexpr std::uint64_t most_rounds = 250'000;  // a few milliseconds
  return options_.spin_rounds + static_cast<int>(std::min(request.bytes / bytes_per_round, most_rounds));
}

// Does what Channel::poll does. If there is no memory, the channel fails, with a text that names the peer.
int Messenger::poll_channel(channel::Channel& channel, int budget) noexcept {
  try {
    return channel.poll(budget);
  } catch (const std::bad_alloc&) {
    lack_memory(channel);
    return 1;
  }
}

// Polls without reading the clock and without a system call of its own. Returns true if the request is done.
bool Messenger::spin(const Request& request) noexcept {
  channel::Channel* channel = request.flow != nullptr ? request.flow->channel : nullptr;
  if (channel == nullptr) {
    engine_->poll();
    return request.done;
  }
  const int rounds = rounds_for(request);
  if (was_absent(*request.flow)) engine_->poll();
  if (request.done || request.flow->channel != channel) return request.done;
  try {
    for (int round = 0; round < rounds; ++round) {
      if (++rounds_ >= request.flow->rounds_per_poll) {
        rounds_ = 0;
        engine_->poll_others();
        if (request.done) return true;
        if (engine_->wanted()) return false;  // another thread wants the turn, which Engine::wait gives it
      }
      const int moved = channel->poll(1);
      if (request.done) return true;
      if (request.flow->channel != channel) return request.done;
      if (moved == 0 && round > 64) os::pause();
    }
  } catch (const std::bad_alloc&) {
    lack_memory(*channel);
  }
  return request.done;
}

// Does what finish_wait does, after spin() has not been enough.
Status Messenger::block(Request& request, std::uint64_t deadline_ns) noexcept {
  // A blocking send cannot be ended half way. An agreement can only if its team is being closed: it then fails, and the
  // other members are told.
  const bool agrees = !request.sending && request.text != nullptr;
  const bool may_stop = request.sending ? request.pooled : !agrees;
  // Two pointers, for which std::function needs no memory: there may be none.
  const auto over = [this, &request] {
    watch_source(request, channels_);
    const bool stops = !request.sending && request.text != nullptr && request.stage == Stage::posted;
    return request.done || (stops && engine_->ending() == engine::Ending::closed);
  };
  const Status status = wait_until(
      over, deadline_ns, [this, &request] { return describe(request); }, may_stop);
  return status.ok() && !request.done ? engine::error_of(engine::Ending::closed) : status;
}

// Reads the clock from here on. A message that arrives while spin() polls costs no reading of the clock.
Status Messenger::wait_until(const std::function<bool()>& done, std::uint64_t deadline_ns,
                             const std::function<std::string()>& what, bool interruptible) noexcept {
  if (engine_ == nullptr) return fail(Code::state, "a call that waits needs an engine");
  const std::uint64_t start_ns = os::now_ns();
  Status status = Code::memory;
  try {
    status = engine_->wait(done, deadline_ns, what, nullptr, interruptible);
  } catch (const std::bad_alloc&) {
    status = Code::memory;  // the caller's request is still in its list, so the caller decides
  } catch (const std::exception& error) {
    status = fail(Code::internal, "unexpected exception in a wait: {}", error.what());
  }
  counters_.add(Counter::message_wait_ns, os::now_ns() - start_ns);
  return status;
}

void Messenger::move_until(std::uint64_t until_ns) noexcept {
  static_cast<void>(wait_until([] { return false; }, until_ns, [] { return std::string(); }, false));
}

// Returns ok if the request is done; timeout; interrupted; memory; or state, if this process has no engine to wait
// with.
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
  if (engine_ != nullptr && (*request)->flow != nullptr && was_absent(*(*request)->flow)) engine_->poll();
  // Polls the request's own channel at once, even if that takes a system call, and the others when their time has come.
  channel::Channel* channel = (*request)->flow != nullptr ? (*request)->flow->channel : nullptr;
  if (!(*request)->done && engine_ != nullptr && channel != nullptr) poll_channel(*channel, frames_per_test);
  if (!(*request)->done && engine_ != nullptr) channel != nullptr ? engine_->poll_others() : engine_->poll();
  watch_source(**request, channels_);
  if (!(*request)->done) return Code::not_yet;
  return collect(request, message);
}

Status Messenger::waitall(std::span<Request*> requests, std::uint64_t deadline_ns, couplet_status* statuses,
                          couplet_message* messages) {
  COUPLET_TRY(check_distinct(requests, "waitall"));
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
  COUPLET_TRY(check_distinct(requests, "waitany"));
  const auto one_done = [this, &requests, &found] {
    for (found = 0; found < requests.size(); ++found) {
      if (requests[found] == nullptr) continue;
      if (requests[found]->done) return true;
      watch_source(*requests[found], channels_);
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

// A peer that computes does not acknowledge. So in the end it is enough if the system has everything, since the system
// delivers it even if this process has ended.
Status Messenger::flush(engine::PeerPatience& patience) {
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
  Status status = patience.wait(*engine_, flushed, [] { return std::string("what was sent to go"); });
  return status.code() == Code::timeout && none(&channel::Channel::queued) ? Status() : status;
}

}  // namespace couplet::message
