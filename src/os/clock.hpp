// Monotonic time, and the processor's pause instruction.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/seconds.hpp"

namespace couplet::os {

inline constexpr std::uint64_t never = UINT64_MAX;

// Returns CLOCK_MONOTONIC, which has the same scale in all processes of a node.
[[nodiscard]] inline std::uint64_t now_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// Returns the time that is `seconds` after `now_ns`, or `never` if seconds is negative, infinite or more than the clock
// can count. NaN also gives `never`; the code that takes a time from a user refuses NaN before (capi::check_timeout).
[[nodiscard]] constexpr std::uint64_t deadline_after(double seconds, std::uint64_t now_ns) noexcept {
  const std::uint64_t length_ns = seconds >= 0 ? nanoseconds_of(seconds) : never;
  return length_ns > max_countable_ns || now_ns > max_countable_ns - length_ns ? never : now_ns + length_ns;
}
[[nodiscard]] inline std::uint64_t deadline_after(double seconds) noexcept {
  return deadline_after(seconds, now_ns());
}

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace couplet::os
