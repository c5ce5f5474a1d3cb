// What the known costs decide, as JSON: each choice with its predicted time, the measured one beside it if there is
// one, and where the numbers come from. For Universe::explain and couplet-costs. Tests: tests/universe/test_costs.py.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "cost/curve.hpp"
#include "runtime/cost_file.hpp"

namespace couplet::runtime {

inline constexpr std::uint64_t shown_bytes[] = {8, 65536, 1048576};
inline constexpr std::string_view origin_of_library = "the library";

// Adds predicted_us, and measured_us if a message of that size was measured.
void put_times(const cost::Curve& curve, std::uint64_t bytes, nlohmann::ordered_json& entry);
// Returns {"from": ..., "why": ..., "choices": [...]}.
[[nodiscard]] nlohmann::ordered_json report_costs(const KnownCosts& known);

}  // namespace couplet::runtime
