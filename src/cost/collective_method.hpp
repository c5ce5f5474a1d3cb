// The choice of the method of a collective call: from the kind of the call, the size of the message and the shape of
// the group to one of the algorithms. A pure function over a table of pieces, so that every member makes the same
// choice from arguments that have to be the same. Used by: collective. Tests: tests/unit/cost.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace couplet::cost {

enum class Collective : std::uint8_t {
  barrier = 1,
  broadcast,
  reduce,
  allreduce,
  gather,
  allgather,
  scatter,
  alltoall,
  reduce_scatter,
  scan,
};

// The values are those of COUPLET_COLLECTIVE_* in couplet_collective.h.
enum class Method : std::uint8_t {
  automatic = 0,
  linear = 1,         // the root deals with each member in turn; scan: each member waits for the one before it
  binomial = 2,       // a tree
  doubling = 3,       // exchanges with the members 1, 2, 4, ... places away
  ring = 4,           // blocks go around
  pairwise = 5,       // one partner after the other
  reduce_linear = 6,  // a reduction to one member, which passes the result on
  systems = 7,        // first in each system, then between systems
};
inline constexpr std::uint8_t method_count = 8;

// What a choice depends on. All of it is the same at all members.
struct CollectiveShape {
  Collective kind = Collective::barrier;
  std::uint64_t bytes = 0;       // the message of one member; allgather: those of all
  std::int32_t size = 1;         // members
  std::int32_t systems = 1;      // on so many systems (hosts)
  bool may_reorder = true;       // the operation allows its operands to change places
  bool systems_in_order = true;  // the members of each system are neighbors
  bool uneven = false;           // each member has a count of its own
};

// Returns "broadcast".
[[nodiscard]] std::string_view name_of(Collective kind) noexcept;
// Returns "binomial".
[[nodiscard]] std::string_view name_of(Method method) noexcept;
// Says whether there is such an algorithm, and whether it gives the right result for this shape.
[[nodiscard]] bool is_possible(Method method, const CollectiveShape& shape) noexcept;

// An entry of a table: the method for messages of up to max_bytes, in groups on at least min_systems systems and with
// at least min_size members.
struct MethodPiece {
  Collective kind = Collective::barrier;
  std::int32_t min_systems = 1;
  std::int32_t min_size = 1;
  std::uint64_t max_bytes = UINT64_MAX;
  Method method = Method::automatic;

  friend bool operator==(const MethodPiece&, const MethodPiece&) = default;
};

// Returns the method of the first entry that fits and is possible: of `measured`, else of the table of the library.
[[nodiscard]] Method choose_method(const CollectiveShape& shape, std::span<const MethodPiece> measured = {}) noexcept;

}  // namespace couplet::cost
