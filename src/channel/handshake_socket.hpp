// Moves the bytes of a handshake over a non-blocking socket, or over anything else that moves bytes. The owner of both
// calls it when the socket is ready.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "channel/handshake.hpp"
#include "os/descriptor.hpp"

namespace couplet::channel {

// What moves the bytes of a handshake. Both return how many bytes they have moved, not_yet if none can be moved now,
// `end` if the other side has closed the connection, or an error.
struct HandshakeBytes {
  std::function<Result<std::size_t>(std::span<const std::byte>)> send;
  std::function<Result<std::size_t>(std::span<std::byte>)> receive;
};

// Reads and writes what is possible now. Returns ok when the handshake is done and everything is sent; not_yet if
// nothing can be moved now (call again when the socket can be read or, while handshake.output() is not empty, written);
// otherwise the failure, that of the handshake before that of the socket. Never reads beyond the handshake. name: of
// the other end, for texts. decide: called in the state deciding; it may leave the decision open.
Status drive_handshake(Handshake& handshake, const os::Descriptor& socket, std::string_view name,
                       const std::function<void(Handshake&)>& decide);
// Does the same with other means than a socket.
Status drive_handshake(Handshake& handshake, const HandshakeBytes& bytes, std::string_view name,
                       const std::function<void(Handshake&)>& decide);

}  // namespace couplet::channel
