// A clock that costs about ten cycles. It answers "has enough time passed?" in paths that cannot afford os::now_ns().
// Its unit is only roughly known, and it may differ between cores, so it is not used for deadlines.
#pragma once

#include <cstdint>

namespace couplet::os {

#if defined(__x86_64__) || defined(__i386__)
inline constexpr std::uint64_t ticks_per_us = 2500;  // time stamp counter: 1 to 5 thousand on today's processors
#else
inline constexpr std::uint64_t ticks_per_us = 1000;
#endif

// Returns the number of ticks since some time in the past. A program that is linked with the library statically may
// define this function itself: the simulator of whole universes returns simulated time.
[[nodiscard]] std::uint64_t ticks() noexcept;

}  // namespace couplet::os
