// exchange: turns a plan (which bytes go to which member) and a method into rounds. halo and coalesce are above it;
// collective, message, engine and os are below it. A plan is made of directed edges with regions of user memory; it is
// frozen once, after the members have compared what they expect of each other, and is then carried out any number of
// times. Invariants: in a round, all edges between two members travel as ONE message in each direction; a method moves
// whole messages and knows nothing of edges; regions of one member that receive do not overlap; what arrives is
// unpacked only if its head agrees with the plan. Decision: docs/decisions/0032. Page: docs/formats/exchange.md.
// Tests: tests/unit/exchange, tests/conformance/exchange, tests/universe/test_exchange.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "layout/box.hpp"

namespace couplet::exchange {

// Bytes of user memory: `counts` nested loops, slowest first, around runs of run_bytes each.
struct Region {
  struct Loop {
    std::uint64_t count = 0;
    std::int64_t stride_bytes = 0;
  };
  std::byte* memory = nullptr;  // the first byte of the first run
  std::uint64_t run_bytes = 0;
  int loop_count = 0;
  std::array<Loop, layout::max_dimensions> loops{};
  // If it is not empty, there are no loops: the run number n begins at memory + offsets[n].
  std::vector<std::int64_t> offsets{};
  couplet_type type = COUPLET_BYTE;  // each element has it; COUPLET_BYTE goes with every type of the other member

  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] std::uint64_t run_count() const noexcept;
};

// The largest edge, and the longest message between two members.
inline constexpr std::uint64_t max_edge_bytes = std::uint64_t{1} << 60U;

// Returns the same bytes in as few loops and as long runs as possible.
[[nodiscard]] Region simplified(const Region& region);
// Calls visit(first byte of the run) for each run, in order.
template <typename Visit>
void for_each_run(const Region& region, const Visit& visit);

enum class Direction : std::uint8_t { out, in };

// What one member sends to another in the rounds in which it takes part. Peer, direction and tag name an edge; the
// sender and the receiver give the same tag. An edge is packed as its regions one after the other.
struct Edge {
  Direction direction = Direction::out;
  std::int32_t peer = -1;  // rank in the group; it may be the own rank
  std::int64_t tag = 0;
  std::vector<Region> regions{};
  // A fixed edge moves all bytes of its regions in each round. A variable one moves at most as many: the first
  // `length` bytes of its regions, where the sender gives the length for each round (0 is allowed).
  bool is_variable = false;
  // The edge takes part in the rounds offset, offset + every, offset + 2 x every, ...
  std::uint64_t every = 1;
  std::uint64_t offset = 0;
  std::string title{};  // what texts call it, such as "halo 'eta', face +x"

  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] bool takes_part(std::uint64_t round) const noexcept {
    return round >= offset && (round - offset) % every == 0;
  }
};

// "8 double, 4 int32": the elements of an edge, in order. "": some of them are bytes, so that any others may be meant.
[[nodiscard]] std::string contents(const Edge& edge);
// "edge 'face +x' (tag 3) from rank 0 to rank 1", as the member `rank` has it.
[[nodiscard]] std::string describe(const Edge& edge, std::int32_t rank);
// Returns argument if the edge cannot be used in a group of that size: the text names what is wrong.
[[nodiscard]] Status check(const Edge& edge, std::int32_t group_size);
// Returns argument, with both names, if two runs of which one receives have a byte in common. `rank`: the own one.
[[nodiscard]] Status check_apart(std::span<const Edge> edges, std::int32_t rank);

template <typename Visit>
void for_each_run(const Region& region, const Visit& visit) {
  if (region.run_bytes == 0) return;
  if (!region.offsets.empty()) {
    for (const std::int64_t offset : region.offsets) visit(region.memory + offset);
    return;
  }
  std::array<std::uint64_t, layout::max_dimensions> place{};
  const std::uint64_t count = region.run_count();
  std::byte* run = region.memory;
  for (std::uint64_t number = 0; number < count; ++number) {
    visit(run);
    for (int loop = region.loop_count - 1; loop >= 0; --loop) {
      const auto index = static_cast<std::size_t>(loop);
      const Region::Loop& each = region.loops[index];
      if (++place[index] < each.count) {
        run += each.stride_bytes;
        break;
      }
      run -= each.stride_bytes * static_cast<std::int64_t>(each.count - 1);
      place[index] = 0;
    }
  }
}

}  // namespace couplet::exchange
