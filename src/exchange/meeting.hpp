// What the members of an exchange tell each other when they freeze it, before there is a method: whether each of them
// is ready, between which of them there are edges, and then, between neighbours, the terms of these edges.
// Tests: tests/conformance/exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exchange/choice_cache.hpp"
#include "exchange/method.hpp"
#include "exchange/plan.hpp"
#include "exchange/routes.hpp"

namespace couplet::exchange {

// What a member says first.
struct Greeting {
  Status status;            // ok if its own edges are
  std::uint64_t nonce = 0;  // that of the first member becomes the number of this exchange
  std::string wanted;       // the method
  std::vector<std::int32_t> neighbors;
  std::vector<std::string> methods;  // that it could use
  std::string machine;               // its processor, its cores, and its MPI
  std::uint64_t node = 0;            // a number of its node
  std::uint64_t max_bytes = 0;       // those of its longest message
  bool is_paired = true;             // all its ports are
  bool has_cache = false;            // of choices
  bool has_costs = false;            // predicted times of methods
};

// What follows from the greetings of all.
struct RollCall {
  std::uint64_t epoch = 0;
  std::vector<std::int32_t> neighbors;  // with which one of the two has an edge
  Situation situation;                  // its methods are those that all have, in the order of the first member
  bool has_cache = false;               // the first member has
  bool has_costs = false;               // the first member has
  std::uint64_t max_bytes = 0;          // the length of the longest message
};

[[nodiscard]] Result<Greeting> greeting_of(const Status& status, const Routes& routes, std::span<Maker* const> makers,
                                           const std::string& wanted, bool has_cache, bool has_costs);
// Collective. Returns the first error of any member; mismatch if they want different methods.
Result<RollCall> call_roll(Talk& talk, const Greeting& own, std::int32_t rank);
// Collective. Compares the edges with those of the neighbours, which are those of `talk`. Returns the own error, or the
// first one of any member.
Status compare_with_neighbors(Talk& talk, std::span<const std::int32_t> neighbors, std::span<const Edge> edges,
                              std::int32_t rank, const std::function<std::string(std::int32_t)>& name_of);

}  // namespace couplet::exchange
