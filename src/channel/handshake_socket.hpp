// Moves the bytes of a handshake over a non-blocking socket; whoever owns both calls it when the socket can move.
#pragma once

#include <functional>
#include <string_view>

#include "channel/handshake.hpp"
#include "os/descriptor.hpp"

namespace couplet::channel {

// ok: done, and everything has been sent. not_yet: nothing moves now; call again when the socket is readable, or
// writable while handshake.output() is not empty. Else why it is over: the handshake's own failure before the socket's.
// Never reads beyond the handshake. name: of the other end, for sentences. decide: called in state deciding, and may
// stay in it.
Status drive_handshake(Handshake& handshake, const os::Descriptor& socket, std::string_view name,
                       const std::function<void(Handshake&)>& decide);

}  // namespace couplet::channel
