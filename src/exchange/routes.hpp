// Routes: which edges travel in which message. Turns the edges of one member into ports, one for each neighbour, and
// compares with a neighbour what both have said about the edges between them. Pure; tests:
// tests/unit/exchange/routes_test.cpp.
// Invariants: the edges of a port are in order of their tags, in each direction, at both of its members.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exchange/method.hpp"
#include "exchange/plan.hpp"
#include "wire/exchange.hpp"

namespace couplet::exchange {

// The edges of one direction of a port, or of a member with itself.
struct Route {
  std::vector<std::uint32_t> edges;  // places in the list of edges, in order of tags
  std::uint64_t max_bytes = 0;       // the longest message: all edges, and the lengths of the variable ones
  bool is_plain = true;              // all edges take part in each round, and none is variable
  // The message of a plain route whose regions have no gaps, piece by piece. Empty for any other route.
  struct Run {
    std::byte* memory = nullptr;
    std::uint64_t bytes = 0;
  };
  std::vector<Run> runs{};

  // Returns whether a message is sent in the round.
  [[nodiscard]] bool takes_part(std::span<const Edge> edges_of_member, std::uint64_t round) const noexcept;
};

struct Routes {
  std::vector<Port> ports;  // in order of ranks
  std::vector<Route> out;   // one for each port
  std::vector<Route> in;
  Route self_out;  // edges of the member with itself: edge n of one is edge n of the other
  Route self_in;
  bool is_plain = true;  // all routes are

  // Returns exists if two edges have the same peer, direction and tag; mismatch if an edge to oneself has no other end.
  static Result<Routes> of(std::span<const Edge> edges, std::int32_t rank);
};

// What this member says about the edges between it and `peer`.
[[nodiscard]] wire::ExchangeTerms terms_with(std::span<const Edge> edges, std::int32_t peer);
// Compares what both have said. Returns mismatch, with a text that names the edge, both ranks and both values, and that
// is the same at both; unsupported if their byte orders differ. name_of: returns "rank 2 (program 'ocean' rank 2 ...)".
[[nodiscard]] Status compare_terms(const wire::ExchangeTerms& mine, std::int32_t rank,
                                   const wire::ExchangeTerms& theirs, std::int32_t peer,
                                   const std::function<std::string(std::int32_t)>& name_of);

}  // namespace couplet::exchange
