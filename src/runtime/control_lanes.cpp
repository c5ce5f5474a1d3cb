#include "runtime/control_lanes.hpp"

#include "runtime/session_keys.hpp"

namespace couplet::runtime {

universe::LaneMaker tcp_control_lanes() {
  return [](os::Descriptor socket, const channel::HandshakePeer& peer, std::uint32_t largest_payload) {
    link::TcpOptions options;
    options.largest_payload = largest_payload;
    return link::make_tcp_lane(std::move(socket), options, session_keys(peer));
  };
}

}  // namespace couplet::runtime
