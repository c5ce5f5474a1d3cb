// How deeply a JSON text is nested. Functions that walk through a parsed text call themselves, so a text of 200 kB that
// consists of brackets would end the process. Tests: tests/unit/base/json_depth_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace couplet {

inline constexpr std::size_t max_json_depth = 100;

// Returns the number of brackets and braces that are open at the same time at most. Those within texts do not count.
[[nodiscard]] constexpr std::size_t json_depth(std::string_view text) noexcept {
  std::size_t depth = 0;
  std::size_t most = 0;
  bool is_in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char each = text[at];
    if (is_in_text) {
      at += each == '\\' ? 1 : 0;  // what is escaped does not end the text
      is_in_text = each != '"';
    } else if (each == '"') {
      is_in_text = true;
    } else if (each == '[' || each == '{') {
      most = std::max(most, ++depth);
    } else if ((each == ']' || each == '}') && depth > 0) {
      --depth;
    }
  }
  return most;
}

}  // namespace couplet
