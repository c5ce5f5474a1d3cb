#include "universe/programs.hpp"

#include <algorithm>
#include <charconv>

namespace couplet::universe {
namespace {

bool word_character(char character) noexcept {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9');
}

Result<ProgramSpec> parse_program(std::string_view part) {
  ProgramSpec program;
  auto rest = part;
  if (!rest.empty() && rest.back() == '?') {
    program.required = false;
    rest.remove_suffix(1);
  }
  const auto colon = rest.find(':');
  program.name = std::string(rest.substr(0, colon));
  if (colon == std::string_view::npos) {
    return program;
  }
  const auto digits = rest.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), program.size);
  if (error != std::errc() || end != digits.data() + digits.size() || program.size < 1) {
    return fail(Code::config, "programs: '{}' has no number of ranks after the colon (as in 'ocean:2')", part);
  }
  return program;
}

}  // namespace

Result<std::vector<ProgramSpec>> parse_programs(std::string_view text) {
  std::vector<ProgramSpec> programs;
  while (true) {
    const auto comma = text.find(',');
    COUPLET_TRY_VALUE(auto program, parse_program(text.substr(0, comma)));
    programs.push_back(std::move(program));
    if (comma == std::string_view::npos) {
      break;
    }
    text.remove_prefix(comma + 1);
  }
  COUPLET_TRY(check_programs(programs));
  return programs;
}

Status check_programs(const std::vector<ProgramSpec>& programs) {
  if (programs.empty() || programs.size() > max_programs) {
    return fail(Code::config, "a universe has 1 to {} programs, not {}", max_programs, programs.size());
  }
  std::int64_t ranks = 0;
  for (const auto& program : programs) {
    if (auto status = check_program_name(program.name); !status.ok()) {
      return fail(Code::config, "programs: {}", status.text());
    }
    const auto same = [&](const ProgramSpec& other) { return other.name == program.name; };
    if (std::count_if(programs.begin(), programs.end(), same) > 1) {
      return fail(Code::config, "programs: '{}' is named twice", program.name);
    }
    if (program.size < 0 || (program.size == 0 && !program.required)) {
      return fail(Code::config, "programs: '{0}?' may come late, so its number of ranks must be given ('{0}:1?')",
                  program.name);
    }
    ranks += program.size;
  }
  if (ranks > max_ranks) {
    return fail(Code::config, "programs: {} ranks together, at most {} are possible", ranks, max_ranks);
  }
  return {};
}

Status check_program_name(std::string_view name) {
  const bool fits = !name.empty() && name.size() <= max_name && word_character(name.front()) &&
                    std::all_of(name.begin(), name.end(), [](char character) {
                      return word_character(character) || character == '_' || character == '-' || character == '.';
                    });
  if (fits) {
    return {};
  }
  std::string shown;
  for (const char character : name.substr(0, max_name)) {
    shown.push_back(character >= ' ' && character < 127 ? character : '?');
  }
  return fail(Code::argument,
              "'{}' cannot be the name of a program: a name has 1 to {} letters, digits, '_', '-' and '.'", shown,
              max_name);
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  quoted.reserve(names.size());
  for (const auto& name : names) {
    quoted.push_back(fmt::format("'{}'", name));
  }
  return joined_list(quoted);
}

std::string joined_list(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    if (index > 0) {
      text += index + 1 == parts.size() ? " and " : ", ";
    }
    text += parts[index];
  }
  return text;
}

}  // namespace couplet::universe
