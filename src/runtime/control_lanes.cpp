#include "runtime/control_lanes.hpp"

#include <optional>

#include "link/tcp/tcp_lane.hpp"

namespace couplet::runtime {

universe::LaneMaker tcp_control_lanes() {
  return [](os::Descriptor socket, const channel::HandshakePeer& peer, std::uint32_t largest_payload) {
    std::optional<link::SessionKeys> keys;
    if (peer.encrypt) {
      keys.emplace();
      keys->cipher = peer.aes256_gcm ? wire::Cipher::aes256_gcm : wire::Cipher::chacha20_poly1305;
      keys->send = peer.send_key.bytes();
      keys->receive = peer.receive_key.bytes();
    }
    link::TcpOptions options;
    options.largest_payload = largest_payload;
    return link::make_tcp_lane(std::move(socket), options, keys);
  };
}

}  // namespace couplet::runtime
