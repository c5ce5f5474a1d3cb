// A clock that costs some ten cycles, for "has enough time passed?" in paths that may not afford os::now_ns(). Its unit is only
// roughly known, and it may differ between cores: never for a deadline.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#else
#include "os/clock.hpp"
#endif

namespace couplet::os {

#if defined(__x86_64__) || defined(__i386__)
inline constexpr std::uint64_t ticks_per_us = 2500;  // of the time stamp counter: 1 to 5 thousand on today's processors
[[nodiscard]] inline std::uint64_t ticks() noexcept {
  return __rdtsc();
}
#else
inline constexpr std::uint64_t ticks_per_us = 1000;
[[nodiscard]] inline std::uint64_t ticks() noexcept {
  return now_ns();
}
#endif

}  // namespace couplet::os
