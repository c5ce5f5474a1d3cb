// What the known costs decide, as JSON: each choice with its predicted time, the measured one beside it if there is
// one, and where the numbers come from. For Universe::explain and couplet-costs. Tests: tests/universe/test_costs.py.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cost/curve.hpp"
#include "runtime/cost_file.hpp"

namespace couplet::runtime {

inline constexpr std::uint64_t shown_bytes[] = {8, 65536, 1048576};
inline constexpr std::string_view origin_of_library = "the library";

// Adds predicted_us, and measured_us if a message of that size was measured.
void put_times(const cost::Curve& curve, std::uint64_t bytes, nlohmann::ordered_json& entry);

// What settings decide, whatever the costs are.
struct ForcedChoices {
  std::optional<std::uint64_t> eager_bytes;
  std::optional<std::uint64_t> piece_bytes;
  std::optional<std::uint64_t> streaming_bytes;
  std::string exchange_method;  // "": none is forced
};
// setting: returns a setting by its key, "" if it is not set. Returns config if one of them is not a number.
[[nodiscard]] Result<ForcedChoices> forced_choices(const std::function<std::string(std::string_view key)>& setting);

// Returns {"from": ..., "why": ..., "choices": [...]}. Each choice has its value, the unit of a number, and what has
// forced it, if anything has. The limits are those that a program has: no message in one frame is longer than a frame.
[[nodiscard]] nlohmann::ordered_json report_costs(const KnownCosts& known, const ForcedChoices& forced);

}  // namespace couplet::runtime
