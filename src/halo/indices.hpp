// Lists of indices: the points of an unstructured mesh, or the rows of a sparse matrix, have numbers of their own. Each
// rank owns some of them, and needs some that others own: its ghosts. Turns such lists into what each pair of ranks
// moves. Halo uses it. Invariants: a point has one owner; a rank that gives wrong lists fails all ranks with the same
// text, and none waits for it. Tests: tests/conformance/exchange/halo_list_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/assembly.hpp"
#include "exchange/plan.hpp"
#include "halo/regions.hpp"

namespace couplet::halo {

// The points of one rank.
struct IndexLists {
  std::vector<std::int64_t> owned{};
  std::vector<std::int64_t> ghosts{};
  std::vector<std::int32_t> owners{};  // the rank that owns each ghost, if they are given
  bool has_owners = false;             // otherwise they are found
  std::vector<std::int64_t>
      places{};           // where each owned point, and then each ghost, is in arrays; empty: in that order
  std::int64_t base = 0;  // `owned`, `ghosts` and `places` count from here: 1 in Fortran; `owners` count from 0

  // Where the owned point or the ghost is, counted from 0.
  [[nodiscard]] std::int64_t place(std::size_t number) const noexcept {
    return places.empty() ? static_cast<std::int64_t>(number) : places[number] - base;
  }
};

// What this rank moves to and from another one, or to itself: places in its arrays, counted from 0. Those that one rank
// sends are in the order in which the other one receives them.
struct IndexLink {
  std::int32_t peer = -1;
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;
};

// Returns argument if an index is negative or twice in `owned`, an owner is no rank, a place is negative or given
// twice, or lists have other lengths than they must have.
[[nodiscard]] Status check(const IndexLists& lists, std::int32_t rank_count);
// Finds the owners of all ghosts, and what other ranks need of this one; in order of ranks. Collective; blocks. Errors,
// the same at all ranks: what check() finds at any rank; argument, with index and ranks, if no rank owns a ghost, or
// two ranks own one index.
[[nodiscard]] Result<std::vector<IndexLink>> find_links(exchange::Assembly& assembly, const IndexLists& lists);
// Returns argument or shape if the array of the field does not hold all points of the lists. It has one dimension,
// besides that of components.
[[nodiscard]] Status check_list_field(const IndexLists& lists, const Field& field);
// The edges of the field with that number.
[[nodiscard]] std::vector<exchange::Edge> list_edges(const std::vector<IndexLink>& links, const Field& field,
                                                     std::uint32_t number);

}  // namespace couplet::halo
