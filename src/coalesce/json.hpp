// Texts as JSON. Pure. Statistics and Timeline use it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace couplet::coalesce {

// Returns the text in quotes, with what must not stand in JSON escaped.
[[nodiscard]] inline std::string json_text(std::string_view text) {
  std::string escaped = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      escaped += '\\';
      escaped += each;
    } else if (byte < 0x20) {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      escaped += each;
    }
  }
  return escaped + '"';
}

}  // namespace couplet::coalesce
