// A process that computes reads nothing of what its peers and the hub say. Used by Sending, Waiting and Messenger.
// Tests:
// tests/universe/test_leaving.py.
#pragma once

#include <cstdint>
#include <utility>

#include "message/flow.hpp"
#include "os/ticks.hpp"

namespace couplet::message {

inline constexpr std::uint64_t max_absence_ticks = 1'000'000 * os::ticks_per_us;

// Has this process not polled the peer's socket for a while? Then it reads first what the hub has said, before it sends
// anything, such as a message, or credit for what has arrived: the peer may have left, and its system would answer by a
// reset, which destroys what has not been read. For a call that polls the socket.
inline bool was_absent(Flow& flow) noexcept {
  if (flow.rounds_per_poll != rounds_per_socket_poll) return false;
  const std::uint64_t now = os::ticks();
  return now - std::exchange(flow.polled_ticks, now) > max_absence_ticks;
}

// The same for a call that sends, and polls only if this returns true.
inline bool was_absent_before_sending(Flow& flow) noexcept {
  if (flow.rounds_per_poll != rounds_per_socket_poll) [[likely]]
    return false;
  return os::ticks() - flow.polled_ticks > max_absence_ticks && was_absent(flow);
}

}  // namespace couplet::message
