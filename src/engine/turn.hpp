// Turn: says which thread may use a universe now. With one thread (the default) it only notices a second one. With
// several (threads = 1 at join) they take turns in the order in which they come. A call that waits lets the others in
// between two rounds, and while it sleeps. Of several calls that wait at the same time one, the leader, polls and
// sleeps in the doorbell for all of them; the others are parked, and are woken when their conditions hold. Above: capi
// (begin, end, close). Used by: engine (the rest). Below: os (clock). Tests: tests/unit/engine/turn_test.cpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/status.hpp"
#include "engine/calls.hpp"

namespace couplet::engine {

class Turn {
 public:
  // A waiting call that sleeps: in the doorbell (the leader), or parked.
  struct Sleeper {
    const std::function<bool()>& done;
    bool in_doorbell = false;
    bool woken = false;
    Sleeper* next = nullptr;
    std::condition_variable changed{};
  };

  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // From now on several threads take turns. REQUIRES: no call has begun.
  void serialise() noexcept { serialised_ = true; }
  [[nodiscard]] bool serialised() const noexcept { return serialised_; }

  // A call begins. It has the turn if this returns ok. call: its handles, until end(); nullptr: it has none. Errors:
  // thread, if this is a second thread and threads do not take turns; state, if another thread leaves the universe or
  // closes one of the handles.
  Status begin(Call* call = nullptr) noexcept {
    if (serialised_) return take_as_caller(call);
    if (busy_.load(std::memory_order_relaxed)) return second_thread();
    busy_.store(true, std::memory_order_relaxed);
    return {};
  }
  void end() noexcept {
    if (serialised_) return end_serialised();
    busy_.store(false, std::memory_order_relaxed);
  }

  // ---- for calls that wait; the caller has the turn ----
  // Does another thread want the turn?
  [[nodiscard]] bool wanted() const noexcept {
    return serialised_ && queued_.load(std::memory_order_relaxed) != 0 && !looking_;
  }
  // Gives the turn to the threads that have asked for it before, and returns when it is this thread's turn again.
  void pass() noexcept;
  // Wakes the sleepers whose conditions hold. To be called when something has moved.
  void look_at_sleepers() noexcept {
    if (serialised_ && sleepers_ != nullptr && !looking_) [[unlikely]]
      wake_those_done();
  }
  // May this thread poll and sleep for all? If so, it is the leader until resign(); otherwise it has to park.
  [[nodiscard]] bool lead() noexcept;
  [[nodiscard]] bool leads() const noexcept { return !serialised_ || leader_ == std::this_thread::get_id(); }
  // Gives up the lead; the next parked call leads from now on.
  void resign() noexcept;
  // Sleeps without the turn until it is woken, or until until_ns (os::now_ns scale).
  void park(Sleeper& sleeper, std::uint64_t until_ns) noexcept;
  // Calls `sleep` without the turn. sleeper: that of the leader, whose sleep in the doorbell `wake` ends. nullptr:
  // `sleep` ends by itself.
  template <typename Sleep>
  void sleep_without(Sleeper* sleeper, const Sleep& sleep) noexcept(noexcept(sleep())) {
    if (!serialised_) {
      sleep();
      return;
    }
    Call* const call = calls_.current;
    give(sleeper);
    sleep();
    take_back(sleeper, call);
  }
  // Sets the function that ends the leader's sleep in the doorbell. It is called with or without the turn.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  // ---- for closing handles, and for leaving ----
  // Ends the calls of other threads that are inside a handle which this call completes or closes, and waits until they
  // have ended. Returns state if they have not at until_ns.
  Status end_others(std::uint64_t until_ns) noexcept;
  // From now on no call begins, and waiting calls that can be ended end with `state`. Returns true when all other calls
  // have ended, or false at until_ns.
  [[nodiscard]] bool close(std::uint64_t until_ns) noexcept;
  // Is the call that has the turn to end?
  [[nodiscard]] Ending ending() const noexcept {
    if (closing_.load(std::memory_order_relaxed)) return Ending::left;
    return calls_.current == nullptr ? Ending::none : calls_.current->ending;
  }

 private:
  Status take_as_caller(Call* call) noexcept;
  void end_serialised() noexcept;
  void take(std::unique_lock<std::mutex>& lock, Call* call) noexcept;
  void release(std::unique_lock<std::mutex>& lock) noexcept;
  void give(Sleeper* sleeper) noexcept;
  void take_back(Sleeper* sleeper, Call* call) noexcept;
  void add(Sleeper& sleeper) noexcept;
  void remove(const Sleeper& sleeper) noexcept;
  void wake(Sleeper& sleeper) noexcept;
  void wake_those_done() noexcept;

  bool serialised_ = false;
  std::atomic<bool> busy_{false};

  // Guards everything below. Nothing is called while it is held, except wake_.
  std::mutex mutex_;
  std::uint64_t next_ticket_ = 0;    // tickets are given in order of arrival
  std::uint64_t served_ticket_ = 0;  // the ticket that has the turn, or may take it
  std::atomic<std::uint32_t> queued_{0};
  std::uint32_t inside_ = 0;  // calls that have begun and not ended
  std::condition_variable turn_given_;
  std::condition_variable call_ended_;
  Calls calls_;
  Sleeper* sleepers_ = nullptr;  // changed with both the turn and the mutex; read with either
  std::thread::id leader_{};     // changed with the turn
  // This thread, which has the turn, evaluates the conditions of sleepers. They may call waits themselves, which then
  // take no time.
  bool looking_ = false;
  std::atomic<bool> closing_{false};
  std::function<void()> wake_;
};

}  // namespace couplet::engine
