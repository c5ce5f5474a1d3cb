// The algorithms: each turns the arguments of one collective call into the steps of one member, one file for each. They
// work on a circle: an ordered set of members, of which this member may be one. So that a call can be put together from
// calls over parts of the group (systems.cpp), each function appends its steps to a Builder.
// plan.hpp chooses between them. Pure. Invariants: what is combined is combined in an order that only the arguments
// decide; every member of the circle that makes the same call appends matching sends and receives.
// Tests: tests/unit/collective/schedule_test.cpp (each algorithm, 1 to 33 ranks, all roots).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/schedule.hpp"

namespace couplet::collective {

// Members of a group, by their ranks in it.
struct Circle {
  std::span<const std::int32_t> ranks;
  std::int32_t own = -1;  // this member's place in `ranks`; -1: it is not one of them, and appends nothing

  [[nodiscard]] std::int32_t size() const noexcept { return static_cast<std::int32_t>(ranks.size()); }
  [[nodiscard]] std::int32_t rank(std::int32_t place) const noexcept { return ranks[static_cast<std::size_t>(place)]; }
  // The member `distance` places further, around the circle; the distance may be negative.
  [[nodiscard]] std::int32_t around(std::int32_t distance) const noexcept {
    const std::int32_t place = (own + distance) % size();
    return rank(place < 0 ? place + size() : place);
  }
};

// A block of the data of each member, by place in the circle.
using Blocks = std::span<const Range>;

// Cuts a range into as many blocks as given, whose lengths differ by at most `unit` elements, and are multiples of it.
[[nodiscard]] std::vector<Range> split(Range whole, std::int32_t parts, std::uint64_t unit = 1);

// ---- barrier ----
// Rounds of messages to the members 1, 2, 4, ... places further. mark: one element, which says that a member has come.
void barrier_dissemination(Builder& builder, const Circle& circle, Range mark);

// ---- broadcast: `data` of the place `root` becomes that of all ----
void broadcast_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range data);
// The root scatters blocks, which then go around in a ring: for long messages.
void broadcast_scatter_ring(Builder& builder, const Circle& circle, std::int32_t root, Range data);

// ---- reduce: at the place `root`, `data` becomes the combination of all; at others it is undefined afterwards ----
// in_order: operands are combined in the order of the circle.
void reduce_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range data, bool in_order);

// ---- allreduce: `data` becomes the combination of all, the same bits everywhere ----
void allreduce_doubling(Builder& builder, const Circle& circle, Range data);
// For operations whose operands may change places. unit: elements that must stay together.
void allreduce_ring(Builder& builder, const Circle& circle, Range data, std::uint64_t unit);

// ---- gather and scatter: `own` of each member, and at the root `blocks`, one of each place ----
void gather_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range own, Range blocks);
void gather_linear(Builder& builder, const Circle& circle, std::int32_t root, Range own, Blocks blocks);
void scatter_binomial(Builder& builder, const Circle& circle, std::int32_t root, Range blocks, Range own);
void scatter_linear(Builder& builder, const Circle& circle, std::int32_t root, Blocks blocks, Range own);

// ---- allgather: the own block is there; all others come ----
void allgather_ring(Builder& builder, const Circle& circle, Blocks blocks);
// Bruck's algorithm, for short blocks of the same length.
void allgather_bruck(Builder& builder, const Circle& circle, Range blocks);

// ---- alltoall: `blocks_in[p]` goes to the place p, and `blocks_out[p]` comes from there ----
void alltoall_pairwise(Builder& builder, const Circle& circle, Blocks blocks_in, Blocks blocks_out);

// ---- reduce-scatter: of the combination of `data`, each member gets its block in place ----
// For operations whose operands may change places.
void reduce_scatter_ring(Builder& builder, const Circle& circle, Blocks blocks);

// ---- scan: `data` becomes the combination of those of the places up to the own one ----
void scan_linear(Builder& builder, const Circle& circle, Range data);
void scan_doubling(Builder& builder, const Circle& circle, Range data);

// ---- over several systems: what goes from one system to another goes through one member of each ----
struct Systems {
  std::vector<std::vector<std::int32_t>> members;  // by system, in the order of the group
  std::vector<std::int32_t> system_of;             // by rank in the group
  bool in_order = true;                            // the members of each system are neighbors in the group
};
// names: one number for each member; members with the same number are on the same system.
[[nodiscard]] Systems group_systems(std::span<const std::uint32_t> names);

void barrier_systems(Builder& builder, const Systems& systems, Range mark);
void broadcast_systems(Builder& builder, const Systems& systems, std::int32_t root, Range data);
void reduce_systems(Builder& builder, const Systems& systems, std::int32_t root, Range data, bool in_order);
void allreduce_systems(Builder& builder, const Systems& systems, Range data);

}  // namespace couplet::collective
