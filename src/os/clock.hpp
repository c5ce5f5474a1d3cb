// Monotonic time and the processor's pause.
#pragma once

#include <time.h>

#include <cstdint>

namespace couplet::os {

inline constexpr std::uint64_t never = UINT64_MAX;

// CLOCK_MONOTONIC: the same scale in all processes of a node.
[[nodiscard]] inline std::uint64_t now_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// now + seconds; never where seconds < 0.
[[nodiscard]] inline std::uint64_t deadline_after(double seconds) noexcept {
  return seconds < 0 ? never : now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
}

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace couplet::os
