// The programs of a universe, as a user writes them down: "ocean:2,nowcast:1,follower:1?,tracer".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_programs = 256;
inline constexpr std::int32_t max_ranks = 1 << 20;  // ranks of the universe
inline constexpr std::size_t max_name = 63;

struct ProgramSpec {
  std::string name;
  std::int32_t size = 0;  // 0: the size that its first rank gives
  // False ("?"): the program may come late or never, and its size must be given.
  bool required = true;
  bool operator==(const ProgramSpec&) const = default;
};

// Reads such a list. Returns config, and quotes the part that is wrong.
Result<std::vector<ProgramSpec>> parse_programs(std::string_view text);
// Checks a list from a configuration file by the same rules: names, sizes, limits, no name twice.
Status check_programs(const std::vector<ProgramSpec>& programs);
// Returns argument if the name is not 1 to 63 letters, digits, '_', '-' or '.', beginning with a letter or digit.
Status check_program_name(std::string_view name);
// Returns, for example, "ocean:2,nowcast:1,follower", of programs with a name and a size, which is 0 if it is unknown.
template <typename Programs>
[[nodiscard]] std::string programs_text(const Programs& programs) {
  std::string text;
  std::size_t count = 0;
  for (const auto& program : programs) {
    if (++count > 20) {
      return text + fmt::format(" and {} more", programs.size() - 20);
    }
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", program.name,
                        program.size > 0 ? fmt::format(":{}", program.size) : std::string());
  }
  return text;
}
// Returns, for example, "'ocean', 'nowcast' and 'follower'".
[[nodiscard]] std::string quoted_list(const std::vector<std::string>& names);
// Returns, for example, "a, b and c".
[[nodiscard]] std::string joined_list(const std::vector<std::string>& parts);

}  // namespace couplet::universe
