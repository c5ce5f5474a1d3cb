// How a connection to or at the hub becomes a lane once it has passed the handshake. Universe names no link: runtime
// says it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "link/link.hpp"
#include "os/descriptor.hpp"

namespace couplet::universe {

// peer: says whether to encrypt, and has the keys. largest_payload: of one frame.
using LaneMaker = std::function<Result<std::unique_ptr<link::Lane>>(
    os::Descriptor socket, const channel::HandshakePeer& peer, std::uint32_t largest_payload)>;

}  // namespace couplet::universe
