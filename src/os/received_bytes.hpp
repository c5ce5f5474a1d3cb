// How much has come over a tcp connection? Used by channel. Tests: tests/unit/os/received_bytes_test.cpp.
#pragma once

#include <cstdint>

namespace couplet::os {

// Returns the number of bytes that have come over this connection and that its system has confirmed, read or not; 0 if
// the descriptor is no tcp socket, or if the system does not say it.
[[nodiscard]] std::uint64_t received_bytes(int socket) noexcept;

}  // namespace couplet::os
