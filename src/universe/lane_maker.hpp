// How a connection between a member and the hub becomes a lane after its handshake. The folder universe names no link,
// so runtime gives it this function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "link/link.hpp"
#include "os/descriptor.hpp"

namespace couplet::universe {

// peer: says whether the lane is encrypted, and has the keys. largest_payload: of one frame.
using LaneMaker = std::function<Result<std::unique_ptr<link::Lane>>(
    os::Descriptor socket, const channel::HandshakePeer& peer, std::uint32_t largest_payload)>;

}  // namespace couplet::universe
