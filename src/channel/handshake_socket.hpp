// Moves the bytes of a handshake over a non-blocking socket. The owner of both calls it when the socket is ready.
#pragma once

#include <functional>
#include <string_view>

#include "channel/handshake.hpp"
#include "os/descriptor.hpp"

namespace couplet::channel {

// Reads and writes what is possible now. Returns ok when the handshake is done and everything is sent; not_yet if
// nothing can be moved now (call again when the socket can be read or, while handshake.output() is not empty, written);
// otherwise the failure, that of the handshake before that of the socket. Never reads beyond the handshake. name: of
// the other end, for texts. decide: called in the state deciding; it may leave the decision open.
Status drive_handshake(Handshake& handshake, const os::Descriptor& socket, std::string_view name,
                       const std::function<void(Handshake&)>& decide);

}  // namespace couplet::channel
