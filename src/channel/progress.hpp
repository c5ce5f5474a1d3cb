// Does a peer still take what was sent, and does something still come from it? Whole frames say this too late on a slow
// network, so bytes count, too: those that its system has confirmed, and those that have arrived here.
// Used by connections. Tests: tests/unit/channel/progress_test.cpp, tests/universe/test_leaving.py.
#pragma once

#include <cstdint>

#include "channel/channel.hpp"

namespace couplet::channel {

// Returns a number that changes whenever the peer, or its system, has taken something of what was sent.
[[nodiscard]] std::uint64_t taken_by_peer(const Channel& channel) noexcept;

// Returns a number that changes whenever something has arrived from the peer.
[[nodiscard]] std::uint64_t arrived_from_peer(const Channel& channel) noexcept;

}  // namespace couplet::channel
