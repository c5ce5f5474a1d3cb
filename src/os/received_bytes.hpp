// How much has come over a tcp connection? Used by channel. Tests: tests/unit/os/received_bytes_test.cpp.
#pragma once

#include <cstdint>

namespace couplet::os {

// Returns the number of bytes of this connection that the operating system has received and acknowledged, whether they
// were read or not; 0 if the descriptor is no tcp socket, or if the system does not report the number.
[[nodiscard]] std::uint64_t received_bytes(int socket) noexcept;

}  // namespace couplet::os
