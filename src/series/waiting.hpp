// Waiting: one wait, in slices. After each slice, liveness, interrupts and messages are checked.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "os/clock.hpp"
#include "os/futex.hpp"
#include "series/series.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

// To be called by every reader that has slept on control.word, whatever has ended its sleep.
inline void pass_wake_on(wire::SeriesPublished& control) noexcept {
  if (take_pass_on(control)) {
    os::futex_wake(control.word);
  }
}

class Waiting {
 public:
  Waiting(Environment& environment, std::uint64_t deadline_ns)
      : environment_(environment), started_ns_(os::now_ns()), deadline_ns_(deadline_ns) {}

  [[nodiscard]] bool over() const noexcept { return interrupted_ || os::now_ns() >= deadline_ns_; }
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
  [[nodiscard]] std::uint64_t waited_ns() const noexcept { return os::now_ns() - started_ns_; }
  // Returns true, after a pause of the processor, as long as the caller should check memory again without sleeping.
  [[nodiscard]] bool spin() noexcept {
    if (spun_ || waited_ns() >= environment_.spin_ns()) {
      spun_ = true;
      return false;
    }
    os::pause();
    return true;
  }
  // Sleeps one slice on `word`, but not beyond not_after_ns if that is in the future. Then lets the environment work.
  // An error ends the wait.
  Status sleep(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t not_after_ns = os::never) {
    const std::uint64_t now = os::now_ns();
    const std::uint64_t end = not_after_ns > now ? std::min(deadline_ns_, not_after_ns) : deadline_ns_;
    if (end > now) {
      const std::uint64_t length_ns = std::min({slice_ns_, longest_slice_ns, end - now});
      environment_.sleep_elsewhere([&] { os::futex_wait(word, expected, length_ns); });
    }
    slice_ns_ *= 2;
    return end_slice();
  }
  // Sleeps one slice until steps are published: `expected` is what prepare_sleep() has returned for `control`. If the
  // writer has woken this reader, it wakes the other sleepers.
  Status sleep_for_steps(wire::SeriesPublished& control, std::uint32_t expected) {
    const std::uint64_t now = os::now_ns();
    if (deadline_ns_ > now) {
      const std::uint64_t length_ns = std::min({slice_ns_, longest_slice_ns, deadline_ns_ - now});
      environment_.sleep_elsewhere([&] { os::futex_wait(control.word, expected, length_ns); });
      pass_wake_on(control);
    }
    slice_ns_ *= 2;
    return end_slice();
  }
  // Sleeps for nap_ns, if nothing wakes this process. Then lets the environment work.
  Status nap(std::uint64_t nap_ns) {
    environment_.sleep_elsewhere([&] { std::this_thread::sleep_for(std::chrono::nanoseconds(nap_ns)); });
    return end_slice();
  }
  // Lets the environment work, without a sleep.
  Status look_around() { return end_slice(); }
  // Waits for something that comes by frames: until done() returns true, or for one slice.
  Status sleep(const std::function<bool()>& done) {
    const std::uint64_t now = os::now_ns();
    if (deadline_ns_ > now) {
      COUPLET_TRY(environment_.wait(done, now + std::min(longest_slice_ns, deadline_ns_ - now)));
    }
    return end_slice();
  }

 private:
  Status end_slice() {
    auto next = environment_.between_slices();
    if (next) {
      slice_ns_ = std::min({slice_ns_, *next, longest_slice_ns});
      return {};
    }
    if (next.code() == Code::interrupted) {
      interrupted_ = true;
      return {};
    }
    return next.status();
  }

  Environment& environment_;
  std::uint64_t started_ns_;
  std::uint64_t deadline_ns_;
  std::uint64_t slice_ns_ = 1'000'000;
  bool spun_ = false;
  bool interrupted_ = false;
};

}  // namespace couplet::series
