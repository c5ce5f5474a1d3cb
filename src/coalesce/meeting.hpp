// What the ranks tell each other before they freeze a plan: which clients each has, in which order, and from which
// round on. Turns the lists of all ranks into one order of clients. Pure, but for the talk itself; tests:
// tests/unit/coalesce/meeting_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::coalesce {

// What a rank says.
struct Registration {
  Status status;  // ok if its own requests are
  std::uint64_t from_round = 0;
  std::int32_t phase_count = 1;
  bool merges_waits = true;
  bool merges_messages = true;
  std::vector<std::string> clients;  // in order of registration
};

inline constexpr std::size_t max_clients = 256;
inline constexpr std::size_t max_client_name_bytes = 128;
inline constexpr std::int32_t max_phases = 64;

[[nodiscard]] std::string encode(const Registration& own);
// Returns protocol if the text is malformed.
[[nodiscard]] Result<Registration> decode(std::string_view text);

// Returns the names of all clients, in an order that is that of registration on each rank; ties go to the lowest rank.
// Errors, the same at all ranks: the first that a rank has met; mismatch if two ranks gave other rounds or settings, or
// registered two clients in another order: the text names both ranks, and both clients.
[[nodiscard]] Result<std::vector<std::string>> common_order(std::span<const Registration> all);

}  // namespace couplet::coalesce
