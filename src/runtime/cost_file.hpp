// The cost file of the machine: turns JSON (docs/formats/cost.md) into cost::MachineCosts, from which limits and
// methods are chosen. Invariants: nothing of a file is used before all of it was checked; without a file, the library
// has its built-in limits. Tests: tests/unit/runtime/cost_file_test.cpp, tests/universe/test_costs.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "cost/choices.hpp"

namespace couplet::runtime {

inline constexpr std::size_t max_cost_file_bytes = std::size_t{4} << 20U;
inline constexpr std::string_view no_cost_file = "none";
inline constexpr std::uint64_t min_piece_bytes = 4096;

// What a process knows of the costs of its machine.
struct KnownCosts {
  cost::MachineCosts costs;
  std::string path;     // the file that is used; empty: none is
  std::string why;      // why that file, or why none
  std::string warning;  // for the user; empty: there is none

  // Returns "cost file /x/cost.json of machine 'tachyon'", or "" if none is used.
  [[nodiscard]] std::string origin() const;
};

// Returns config, with the place and what to do, if the text is no cost file of this version, or a number is wrong.
[[nodiscard]] Result<cost::MachineCosts> costs_from_json(std::string_view text, const std::string& path);

// Where a cost file is looked for, and whose machine this is.
struct CostRequest {
  std::string file;     // the setting cost_file; "": the default place, "none": nowhere
  std::string machine;  // the setting machine; "": the name of the host decides
  std::string host;     // the name of this host
};

// Returns couplet/cost.json below XDG_CONFIG_HOME or ~/.config; "" if there is no such folder.
[[nodiscard]] std::string default_cost_path();

// Reads the file. A file that the setting names must be good: otherwise returns config. One that lies in the default
// place and is not good is left out, with a warning. A file of another machine is used, with a warning.
[[nodiscard]] Result<KnownCosts> load_costs(const CostRequest& request);

}  // namespace couplet::runtime
