// Split: what the members of a group tell each other when they split it, and which of them form a group then. Pure. The
// Python package does the same (Universe.split), so that members in different languages can split a group together.
// Tests: tests/unit/collective/split_test.cpp, tests/languages.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::collective {

// The choice of one member.
struct SplitChoice {
  bool has_color = false;  // without one, it gets no group
  std::int64_t color = 0;
  std::int64_t key = 0;
  std::int32_t universe_rank = 0;
};

inline constexpr std::size_t split_words = 5;
using SplitRow = std::array<std::int64_t, split_words>;

// Returns what is sent to all others: has_color, color, key, universe rank, hash of the name.
[[nodiscard]] SplitRow split_row(const SplitChoice& choice, std::string_view name) noexcept;

// Returns the universe ranks of the members with the color of `own`, in the order of their keys, and of their ranks if
// keys are equal. rows: of all members, by rank. Returns mismatch if a member has given another name.
[[nodiscard]] Result<std::vector<std::int32_t>> split_members(const std::vector<SplitRow>& rows, const SplitRow& own);

// Returns the name of the new group.
[[nodiscard]] std::string split_name(std::string_view name, std::int64_t color);

}  // namespace couplet::collective
