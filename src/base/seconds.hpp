// The one conversion of a time in seconds, which may come from a user, to nanoseconds. It saturates and never
// overflows.
#pragma once

#include <cstdint>

namespace couplet {

// Longer times, about 292 years, count as unlimited. The sum of two times below this limit does not overflow.
inline constexpr std::uint64_t max_countable_ns = UINT64_MAX / 2;

// Rounds down. Returns 0 if `seconds` is negative or NaN, and UINT64_MAX if it is infinite or exceeds max_countable_ns.
[[nodiscard]] constexpr std::uint64_t nanoseconds_of(double seconds) noexcept {
  const double nanoseconds = seconds * 1e9;
  if (nanoseconds >= static_cast<double>(max_countable_ns)) {
    return UINT64_MAX;
  }
  return nanoseconds > 0 ? static_cast<std::uint64_t>(nanoseconds) : 0;
}

}  // namespace couplet
