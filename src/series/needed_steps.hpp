// NeededSteps: which ordinals a reader still needs, as it tells the parts that bring its steps. A part may bring others
// as well.
#pragma once

#include <algorithm>
#include <cstdint>

namespace couplet::series {

struct NeededSteps {
  std::uint64_t from = 0;   // no ordinal below it is needed
  std::uint64_t every = 1;  // `from` is needed, and after it one of so many

  bool operator==(const NeededSteps&) const = default;

  // Returns the first needed ordinal that is at least `ordinal`, or the largest number if there is none below it.
  [[nodiscard]] std::uint64_t first(std::uint64_t ordinal) const noexcept {
    if (ordinal <= from) {
      return from;
    }
    const std::uint64_t over = (ordinal - from) % every;
    return over == 0 ? ordinal : ordinal + std::min(every - over, UINT64_MAX - ordinal);
  }
  // Returns the last needed ordinal that is at most `ordinal`. REQUIRES: ordinal >= from.
  [[nodiscard]] std::uint64_t last(std::uint64_t ordinal) const noexcept { return ordinal - (ordinal - from) % every; }
};

}  // namespace couplet::series
