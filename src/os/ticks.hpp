// A clock that costs about ten cycles. It answers "has enough time passed?" in paths that cannot afford os::now_ns().
// Its unit is only roughly known, and it may differ between cores, so it is not used for deadlines.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#else
#include "os/clock.hpp"
#endif

namespace couplet::os {

#if defined(__x86_64__) || defined(__i386__)
inline constexpr std::uint64_t ticks_per_us = 2500;  // time stamp counter: 1 to 5 thousand on today's processors
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
