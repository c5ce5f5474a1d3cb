// The processes that are present and not yet let in; a part of HubState, used by letting_in.cpp. Tests:
// tests/unit/universe/hub_cut_off_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "universe/hub/absences.hpp"
#include "universe/hub/outbox.hpp"
#include "universe/hub/seats.hpp"

namespace couplet::universe {

struct Entering {
  using SinceNs = std::map<ConnectionId, std::uint64_t>;  // when the process has begun to join
  std::map<std::int32_t, SinceNs> waiting;                // by program; -1: relays
  std::set<std::int32_t> with_next_batch;                 // the programs that are let in when it has been told

  // Returns the rank, if there is one, that was cut off, and of which nobody knows whether its process lives or was
  // killed together with others. A proof of life from before these were started again may be one of the life before.
  [[nodiscard]] std::optional<std::size_t> rank_in_doubt(std::int32_t number, const Seats& seats,
                                                         const Absences& absences) const {
    const auto processes = waiting.find(number);
    if (number < 0 || processes == waiting.end()) {
      return std::nullopt;
    }
    std::uint64_t since_ns = 0;
    for (const auto& [connection, begun_ns] : processes->second) {
      since_ns = std::max(since_ns, begun_ns);
    }
    const Seats::Program& program = seats.program(number);
    for (std::size_t rank = 0; rank < program.seats.size(); ++rank) {
      const auto peer = static_cast<channel::PeerId>(program.first_rank) + static_cast<channel::PeerId>(rank);
      const Seat& seat = program.seats[rank];
      const bool can_be_found_out = can_be_called(seat) || absences.was_cut_off(peer);
      if (seat.awaited && can_be_found_out && absences.is_in_doubt(peer, since_ns)) {
        return rank;
      }
    }
    return std::nullopt;
  }
};

}  // namespace couplet::universe
