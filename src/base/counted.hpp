// Numbers with their nouns in texts: "1 step" and "2 steps", "rank 0" and "ranks 0 to 2". They are arguments of
// fmt::format and of fail, and take no memory of their own.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string_view>

namespace couplet {

// A number and what it counts. It refers to the nouns.
template <std::integral Number>
struct Counted {
  Number number;
  std::string_view one;
  std::string_view several;  // empty: `one` with an s
};

// Returns what is formatted as "1 step" or "2 steps". one, several: a noun, also with the verb that agrees with it.
template <std::integral Number>
[[nodiscard]] constexpr Counted<Number> counted(Number number, std::string_view one, std::string_view several = {}) {
  return {number, one, several};
}

// The ranks of a group or program: all numbers from 0 on that are less than `count`, which is at least 1.
template <std::integral Number>
struct Ranks {
  Number count;
};

// Returns what is formatted as "rank 0" or "ranks 0 to 2".
template <std::integral Number>
[[nodiscard]] constexpr Ranks<Number> ranks_below(Number count) {
  return {count};
}

}  // namespace couplet

template <typename Number>
struct fmt::formatter<couplet::Counted<Number>> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const couplet::Counted<Number>& counted, fmt::format_context& context) const {
    const bool takes_ending = counted.number != 1 && counted.several.empty();
    const std::string_view noun = counted.number == 1 || takes_ending ? counted.one : counted.several;
    return fmt::format_to(context.out(), "{} {}{}", counted.number, noun, takes_ending ? "s" : "");
  }
};

template <typename Number>
struct fmt::formatter<couplet::Ranks<Number>> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const couplet::Ranks<Number>& ranks, fmt::format_context& context) const {
    return ranks.count == 1 ? fmt::format_to(context.out(), "rank 0")
                            : fmt::format_to(context.out(), "ranks 0 to {}", ranks.count - 1);
  }
};
