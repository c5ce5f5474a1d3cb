// Says whether a connection was reset, fell silent or was refused, from its failure.
// Tests: tests/unit/os/socket_test.cpp.
#pragma once

#include "base/status.hpp"

namespace couplet::os {

// If true, the connection ended by a reset or an abort: by the peer's system, or by something between (a firewall that
// has forgotten it). That does not say whether the peer's process has ended. `failure` was made by socket_failure()
// (socket.hpp), possibly with more text before it.
[[nodiscard]] bool says_reset(const Status& failure) noexcept;
// If true, the connection ended because the peer's system did not answer: its host may have vanished, or the network
// between may be interrupted. That does not say whether the peer's process has ended, either.
[[nodiscard]] bool says_silent(const Status& failure) noexcept;
// If true, the peer's system lives, but no process listens at that address.
[[nodiscard]] bool says_refused(const Status& failure) noexcept;

}  // namespace couplet::os
