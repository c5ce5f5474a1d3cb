// Halo: the points around this rank's block, or the ghosts in its lists of indices, of several fields. Each round
// brings them up to date by one exchange. capi uses it. Invariants: all fields travel in one message for each
// neighbour; a field that was refused at one rank fails the freeze at all, so that none waits for it. Tests:
// tests/conformance/exchange/halo_test.cpp, tests/conformance/exchange/halo_list_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/exchange.hpp"
#include "halo/grid.hpp"
#include "halo/indices.hpp"
#include "halo/regions.hpp"

namespace couplet::halo {

class Halo {
 public:
  // exchange: outlives it, is not frozen, and has no edges of others. rank: the own one. has_widths: begin() may be
  // given a width.
  Halo(exchange::Exchange& exchange, Grid grid, std::int32_t rank, bool has_widths)
      : exchange_(exchange), grid_(std::move(grid)), rank_(rank), has_widths_(has_widths) {}
  // The points are those of lists.
  Halo(exchange::Exchange& exchange, IndexLists lists, std::int32_t rank)
      : exchange_(exchange), lists_(std::move(lists)), rank_(rank), has_widths_(false) {}

  // Adds a field, and returns its number. Its memory must not move. Returns argument or shape as edges_of does; state
  // if the halo is frozen.
  Result<std::uint32_t> add(Field field);
  // Makes freeze() fail with this error at all ranks: a field could not be added.
  void refuse(const Status& why) {
    if (refusal_.ok()) refusal_ = why;
  }
  // Agrees with the other ranks. Collective; blocks. Errors: those of Exchange::freeze, and what add() or refuse() had
  // here or at another rank.
  Status freeze();
  // Begins a round: never blocks. width: how far the halos reach in this round, the same at all ranks; absent: as far
  // as the fields say. state: a round is under way, or the halo is not frozen or has no widths; argument: the width is
  // negative, or larger than the widest of any field.
  Status begin(std::optional<std::int64_t> width);
  // Does what can be done, and says whether the round is over.
  Status test(bool& is_done);
  // Blocks until the round is over. timeout: it is still under way. mismatch: a neighbour has begun it with another
  // width; the halos have the points of the smaller one.
  Status end(std::uint64_t deadline_ns);

  // nullptr: there are lists.
  [[nodiscard]] const Grid* grid() const noexcept { return grid_.has_value() ? &*grid_ : nullptr; }

 private:
  // What begin() has to know of an edge, if there are widths.
  struct Limited {
    std::uint32_t edge = 0;
    std::int32_t peer = -1;
    bool is_sent = false;
    std::vector<std::uint64_t> bytes_within;
    [[nodiscard]] std::uint64_t bytes(std::int64_t width) const;
  };
  [[nodiscard]] std::string title() const;
  [[nodiscard]] Status check_lengths() const;
  Result<std::uint32_t> add_to_lists(Field field);
  Status add_edges(const std::vector<IndexLink>& links);

  exchange::Exchange& exchange_;
  std::optional<Grid> grid_;  // or lists
  IndexLists lists_;
  std::vector<Field> fields_;  // with lists, those that were added
  std::int32_t rank_;
  bool has_widths_;
  Status refusal_;  // the first one
  std::uint32_t field_count_ = 0;
  std::int64_t widest_ = 0;
  std::int64_t width_ = 0;  // that of the round under way
  std::vector<Limited> limited_;
};

}  // namespace couplet::halo
