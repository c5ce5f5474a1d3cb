#include "engine/turn.hpp"

#include <algorithm>
#include <chrono>
#include <new>

#include "os/clock.hpp"

namespace couplet::engine {
namespace {

std::chrono::nanoseconds time_left(std::uint64_t until_ns) noexcept {
  constexpr std::uint64_t longest_ns = 3'600'000'000'000;  // the caller reads the clock itself, and calls again
  const std::uint64_t now_ns = os::now_ns();
  return std::chrono::nanoseconds(until_ns > now_ns ? std::min(until_ns - now_ns, longest_ns) : 0);
}

}  // namespace

// Waits until it is the turn of this thread, which makes `call`. Threads get it in the order in which they come.
void Turn::take(std::unique_lock<std::mutex>& lock, Call* call) noexcept {
  const std::uint64_t ticket = next_ticket_++;
  if (ticket != served_ticket_) {
    queued_.fetch_add(1, std::memory_order_relaxed);
    turn_given_.wait(lock, [&] { return served_ticket_ == ticket; });
    queued_.fetch_sub(1, std::memory_order_relaxed);
  }
  calls_.current = call;
}

void Turn::release(std::unique_lock<std::mutex>& /*lock*/) noexcept {
  ++served_ticket_;
  if (served_ticket_ != next_ticket_) turn_given_.notify_all();
}

// A call is inside its handles from here on, although it has to wait for its turn: they must not be freed meanwhile.
Status Turn::take_as_caller(Call* call) noexcept {
  std::unique_lock lock(mutex_);
  if (closing_.load(std::memory_order_relaxed)) return error_of(Ending::left);
  if (call != nullptr) COUPLET_TRY(calls_.add(*call));
  ++inside_;
  take(lock, call);
  if (ending() == Ending::none) return {};
  Status status = error_of(ending());
  lock.unlock();
  end_serialised();
  return status;
}

void Turn::end_serialised() noexcept {
  look_at_sleepers();
  std::unique_lock lock(mutex_);
  const bool awaited = ending() != Ending::none;
  if (calls_.current != nullptr) calls_.remove(*calls_.current);
  calls_.current = nullptr;
  --inside_;
  release(lock);
  if (awaited) call_ended_.notify_all();
}

void Turn::pass() noexcept {
  look_at_sleepers();
  Call* const call = calls_.current;
  std::unique_lock lock(mutex_);
  release(lock);
  take(lock, call);
}

bool Turn::lead() noexcept {
  if (leader_ == std::thread::id()) leader_ = std::this_thread::get_id();
  return leads();
}

void Turn::resign() noexcept {
  if (!serialised_ || leader_ != std::this_thread::get_id()) return;
  leader_ = std::thread::id();
  if (sleepers_ == nullptr) return;
  const std::unique_lock lock(mutex_);
  wake(*sleepers_);
}

void Turn::add(Sleeper& sleeper) noexcept {
  sleeper.woken = false;
  Sleeper** last = &sleepers_;
  while (*last != nullptr) last = &(*last)->next;
  sleeper.next = nullptr;
  *last = &sleeper;
}

void Turn::remove(const Sleeper& sleeper) noexcept {
  Sleeper** place = &sleepers_;
  while (*place != nullptr && *place != &sleeper) place = &(*place)->next;
  if (*place != nullptr) *place = sleeper.next;
}

void Turn::wake(Sleeper& sleeper) noexcept {
  if (sleeper.woken) return;
  sleeper.woken = true;
  if (sleeper.in_doorbell) {
    wake_();
  } else {
    sleeper.changed.notify_one();
  }
}

// Evaluates the conditions of all sleepers. This thread has the turn, as the sleepers have when they do it themselves.
void Turn::wake_those_done() noexcept {
  looking_ = true;
  for (Sleeper* sleeper = sleepers_; sleeper != nullptr; sleeper = sleeper->next) {
    bool over = true;
    try {
      over = sleeper->woken || sleeper->done();
    } catch (const std::bad_alloc&) {
      over = true;  // the sleeper's own thread will meet the same exception
    }
    if (!over) continue;
    const std::unique_lock lock(mutex_);
    wake(*sleeper);
  }
  looking_ = false;
}

void Turn::give(Sleeper* sleeper) noexcept {
  look_at_sleepers();
  std::unique_lock lock(mutex_);
  if (sleeper != nullptr) {
    sleeper->in_doorbell = true;
    add(*sleeper);
  }
  release(lock);
}

void Turn::take_back(Sleeper* sleeper, Call* call) noexcept {
  std::unique_lock lock(mutex_);
  take(lock, call);
  if (sleeper != nullptr) remove(*sleeper);
}

void Turn::park(Sleeper& sleeper, std::uint64_t until_ns) noexcept {
  look_at_sleepers();
  Call* const call = calls_.current;
  std::unique_lock lock(mutex_);
  sleeper.in_doorbell = false;
  add(sleeper);
  release(lock);
  if (until_ns == os::never) {
    sleeper.changed.wait(lock, [&] { return sleeper.woken; });
  } else {
    sleeper.changed.wait_for(lock, time_left(until_ns), [&] { return sleeper.woken; });
  }
  take(lock, call);
  remove(sleeper);
}

bool Turn::close(std::uint64_t until_ns) noexcept {
  if (!serialised_) return true;
  std::unique_lock lock(mutex_);
  closing_.store(true, std::memory_order_relaxed);
  for (Sleeper* sleeper = sleepers_; sleeper != nullptr; sleeper = sleeper->next) wake(*sleeper);
  release(lock);
  const bool alone = call_ended_.wait_for(lock, time_left(until_ns), [&] { return inside_ == 1; });
  take(lock, nullptr);
  return alone;
}

Status Turn::end_others(std::uint64_t until_ns) noexcept {
  Call* const call = calls_.current;
  if (!serialised_ || call == nullptr) return {};
  std::unique_lock lock(mutex_);
  if (!calls_.end_others(*call)) return {};
  for (Sleeper* sleeper = sleepers_; sleeper != nullptr; sleeper = sleeper->next) wake(*sleeper);
  release(lock);
  const bool alone = call_ended_.wait_for(lock, time_left(until_ns), [&] { return !calls_.any_other(*call); });
  take(lock, call);
  return alone ? Status() : fail(Code::state, "another thread of this process is in a call on it that does not end");
}

}  // namespace couplet::engine
