// Says when to try again, and for how long something has been tried. Pure: the caller passes the time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace couplet {

// Delays that double up to a limit. Each is shortened by a part that differs between processes, so that two processes
// that fail together do not keep trying at the same time.
class BackOff {
 public:
  constexpr BackOff(std::uint64_t min_delay_ns, std::uint64_t max_delay_ns, std::uint64_t seed) noexcept
      : min_delay_ns_(min_delay_ns), max_delay_ns_(max_delay_ns), delay_ns_(min_delay_ns), seed_(seed) {}

  // Returns the time to wait before the next attempt: three quarters to the whole of the present delay.
  constexpr std::uint64_t next_delay_ns() noexcept {
    seed_ = seed_ * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t delay_ns = delay_ns_;
    delay_ns_ = std::min(max_delay_ns_, 2 * delay_ns_);
    return delay_ns - delay_ns / 4 * (seed_ >> 56U) / 256;
  }
  constexpr void reset() noexcept { delay_ns_ = min_delay_ns_; }

 private:
  std::uint64_t min_delay_ns_;
  std::uint64_t max_delay_ns_;
  std::uint64_t delay_ns_;
  std::uint64_t seed_;
};

// Counts the time during which a process has checked. If the process computes between two checks, it is late itself, so
// a long gap counts as a short one.
class LookedTime {
 public:
  static constexpr std::uint64_t max_gap_ns = 200'000'000;  // for a process that checks at each tick

  constexpr void look(std::uint64_t now_ns) noexcept {
    if (last_ns_ != 0 && now_ns > last_ns_) {
      total_ns_ += std::min(now_ns - last_ns_, max_gap_ns);
    }
    last_ns_ = now_ns;
  }
  [[nodiscard]] constexpr std::uint64_t total_ns() const noexcept { return total_ns_; }

 private:
  std::uint64_t last_ns_ = 0;
  std::uint64_t total_ns_ = 0;
};

// A clock that stands still while its process does not run: a long gap between two looks counts as a short one. So a
// process that was stopped does not take the time for which it was stopped for the silence of others.
class RunningClock {
 public:
  static constexpr std::uint64_t max_gap_ns = 1'000'000'000;

  constexpr std::uint64_t now_ns(std::uint64_t system_ns) noexcept {
    if (last_ns_ != 0 && system_ns > last_ns_ + max_gap_ns) {
      stopped_ns_ += system_ns - last_ns_ - max_gap_ns;
    }
    last_ns_ = system_ns;
    return system_ns - stopped_ns_;
  }

 private:
  std::uint64_t last_ns_ = 0;
  std::uint64_t stopped_ns_ = 0;
};

}  // namespace couplet
