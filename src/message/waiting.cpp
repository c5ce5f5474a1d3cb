#include "message/waiting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "message/absence.hpp"
#include "message/probe.hpp"

namespace couplet::message {
namespace {

void lack_memory(channel::Channel& channel) {
  channel.fail(fail(Code::memory, "no memory to take what {} sends", channel.peer_name()));
}

}  // namespace

// Returns for how many rounds spin() polls. The number is larger while the peer reads a large message: going to sleep
// and being woken would then cost more than the rest of the copy.
int Waiting::rounds_for(const Request& request) const noexcept {
  if (!may_spin()) return 0;
  const bool being_read = request.sending && request.stage == Stage::offered && request.flow->rounds_per_poll > 64;
  if (!being_read) return spin_rounds_;
  constexpr std::uint64_t bytes_per_round = 16;
  constexpr std::uint64_t most_rounds = 250'000;  // a few milliseconds
  return spin_rounds_ + static_cast<int>(std::min(request.bytes / bytes_per_round, most_rounds));
}

int Waiting::poll(channel::Channel& channel, int budget) noexcept {
  try {
    return channel.poll(budget);
  } catch (const std::bad_alloc&) {
    lack_memory(channel);
    return 1;
  }
}

bool Waiting::spin(const Request& request) noexcept {
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

Status Waiting::finish(Request& request, std::uint64_t deadline_ns) noexcept {
  if (request.done) return {};
  if (engine_ != nullptr && spin(request)) return {};
  return block(request, deadline_ns);
}

Status Waiting::block(Request& request, std::uint64_t deadline_ns) noexcept {
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
  const Status status = until(
      over, deadline_ns, [this, &request] { return describe(request); }, may_stop);
  return status.ok() && !request.done ? engine::error_of(engine::Ending::closed) : status;
}

Status Waiting::until(const std::function<bool()>& done, std::uint64_t deadline_ns,
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
  counters_.add(counters::Counter::message_wait_ns, os::now_ns() - start_ns);
  return status;
}

std::string Waiting::describe(const Request& request) const {
  if (request.what != nullptr) return *request.what;
  const std::string tag = request.tag == COUPLET_ANY_TAG ? "any tag" : fmt::format("tag {}", request.tag);
  if (request.flow == nullptr) {
    return fmt::format("a message with {} from any rank of group '{}'", tag, request.group->name());
  }
  const std::string peer = channels_.peer_name(request.flow->peer);
  return fmt::format("{} {} with {} in group '{}'", request.sending ? "the delivery of a message to" : "a message from",
                     peer, tag, request.group->name());
}

}  // namespace couplet::message
