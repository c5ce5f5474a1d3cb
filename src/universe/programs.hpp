// The programs of a universe as somebody writes them down: "ocean:2,nowcast:1,follower:1?,tracer".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_programs = 256;
inline constexpr std::int32_t max_ranks = 1 << 20;  // of the universe
inline constexpr std::size_t max_name = 63;

struct ProgramSpec {
  std::string name;
  std::int32_t size = 0;  // 0: what its first joiner says
  bool required = true;   // false ("?"): may come late or never; its size must be given
  bool operator==(const ProgramSpec&) const = default;
};

// config error that quotes the part which is wrong.
Result<std::vector<ProgramSpec>> parse_programs(std::string_view text);
// The same rules for a list from a configuration file: names, sizes, limits, no name twice.
Status check_programs(const std::vector<ProgramSpec>& programs);
// 1 to 63 letters, digits, '_', '-', '.', beginning with a letter or digit; argument error otherwise.
Status check_program_name(std::string_view name);
// "'ocean', 'nowcast' and 'follower'"
[[nodiscard]] std::string quoted_list(const std::vector<std::string>& names);
// "a, b and c"
[[nodiscard]] std::string joined_list(const std::vector<std::string>& parts);

}  // namespace couplet::universe
