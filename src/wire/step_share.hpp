// Which steps come over links that cannot carry all of them. The sources of a reader (relays on several nodes, the
// ranks of a team) cannot ask each other, so the choice is a pure function of the ordinal and of a share: sources
// with the same share send the same steps, and a smaller share is a subset of each larger one.
// Page: docs/formats/relay.md. Tests: tests/unit/wire/step_share_test.cpp.
#pragma once

#include <cstdint>

namespace couplet::wire {

// A share is a number of 65536ths of all steps.
inline constexpr std::uint32_t whole_share = 65536;
inline constexpr std::uint32_t min_share = 512;

// Returns true if the ordinal is part of that share. The multiples of the golden ratio are spread evenly between 0 and
// 1, so the ordinals of a share are as evenly spaced as fixed points can be: among n successive ordinals, about
// n * share / 65536 (Knuth, The Art of Computer Programming, volume 3, section 6.4, Fibonacci hashing).
[[nodiscard]] constexpr bool in_share(std::uint64_t ordinal, std::uint32_t share) noexcept {
  return (ordinal * 0x9E3779B97F4A7C15U) >> 48U < share;
}

}  // namespace couplet::wire
