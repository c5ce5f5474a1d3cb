// Turn: who may use a universe now. With one thread (the default) it only notices a second one. With several (threads =
// 1 at join) they take turns in the order in which they come, and a call that waits lets the others in: between two
// looks, and while it sleeps. Of several calls that wait at the same time one, the leader, looks and sleeps for all of
// them in the doorbell; the others are parked, and are woken when what they wait for is there. Above: capi (begin, end,
// close). Used by: engine (the rest). Below: os (clock). Tests: tests/unit/engine/turn_test.cpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/status.hpp"

namespace couplet::engine {

class Turn {
 public:
  // A call that waits, while it sleeps: in the doorbell (the leader) or parked.
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

  // Several threads: before the first call.
  void serialise() noexcept { serialised_ = true; }
  [[nodiscard]] bool serialised() const noexcept { return serialised_; }

  // A call begins: it has the turn when this returns ok. thread: a second thread, and they do not take turns; state:
  // the universe is being left.
  Status begin() noexcept {
    if (serialised_) return take_as_caller();
    if (busy_.load(std::memory_order_relaxed)) return second_thread();
    busy_.store(true, std::memory_order_relaxed);
    return {};
  }
  void end() noexcept {
    if (serialised_) return end_serialised();
    busy_.store(false, std::memory_order_relaxed);
  }

  // ---- for calls that wait; the caller has the turn ----
  // Does anybody want in?
  [[nodiscard]] bool wanted() const noexcept {
    return serialised_ && queued_.load(std::memory_order_relaxed) != 0 && !looking_;
  }
  // Lets in those who have come.
  void pass() noexcept;
  // Wakes the sleepers whose condition holds. To be called after something has moved.
  void look_at_sleepers() noexcept {
    if (serialised_ && sleepers_ != nullptr && !looking_) [[unlikely]]
      wake_those_done();
  }
  // May this thread look and sleep for all? Otherwise it parks. Stays the leader until resign().
  [[nodiscard]] bool lead() noexcept;
  [[nodiscard]] bool leads() const noexcept { return !serialised_ || leader_ == std::this_thread::get_id(); }
  // The next one that is parked leads from now on.
  void resign() noexcept;
  // Without the turn until woken, or until_ns (os::now_ns scale) has passed.
  void park(Sleeper& sleeper, std::uint64_t until_ns) noexcept;
  // Calls `sleep` without the turn. sleeper: of the leader, whose sleep in the doorbell `wake` ends; nullptr: `sleep`
  // ends by itself.
  template <typename Sleep>
  void sleep_without(Sleeper* sleeper, const Sleep& sleep) noexcept(noexcept(sleep())) {
    if (!serialised_) {
      sleep();
      return;
    }
    give(sleeper);
    sleep();
    take_back(sleeper);
  }
  // Ends the leader's sleep in the doorbell; called with or without the turn.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  // ---- for leaving ----
  // No call begins any more, and those that wait and can be left end with `state`. Returns when every other call is
  // over, or until_ns has passed: false.
  [[nodiscard]] bool close(std::uint64_t until_ns) noexcept;
  [[nodiscard]] bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
  // What a wait answers then.
  [[nodiscard]] static Status left_by_another();

 private:
  [[nodiscard]] static Status second_thread() noexcept;
  Status take_as_caller() noexcept;
  void end_serialised() noexcept;
  void take(std::unique_lock<std::mutex>& lock) noexcept;
  void release(std::unique_lock<std::mutex>& lock) noexcept;
  void give(Sleeper* sleeper) noexcept;
  void take_back(Sleeper* sleeper) noexcept;
  void add(Sleeper& sleeper) noexcept;
  void remove(const Sleeper& sleeper) noexcept;
  void wake(Sleeper& sleeper) noexcept;
  void wake_those_done() noexcept;

  bool serialised_ = false;
  std::atomic<bool> busy_{false};

  std::mutex mutex_;                 // of everything below; never held while anything is called but wake_
  std::uint64_t next_ticket_ = 0;    // in order of arrival
  std::uint64_t served_ticket_ = 0;  // who has the turn, or may take it
  std::atomic<std::uint32_t> queued_{0};
  std::uint32_t inside_ = 0;  // calls that have begun and not ended
  std::condition_variable turn_given_;
  std::condition_variable call_ended_;
  Sleeper* sleepers_ = nullptr;  // changed with the turn and the mutex; read with either
  std::thread::id leader_{};     // changed with the turn
  bool looking_ = false;         // at the conditions of sleepers, with the turn: they may wait themselves, for no time
  std::atomic<bool> closing_{false};
  std::function<void()> wake_;
};

}  // namespace couplet::engine
