// What a handshake has agreed on, as tcp lanes want it.
#pragma once

#include <optional>

#include "channel/handshake.hpp"
#include "link/tcp/tcp_lane.hpp"

namespace couplet::runtime {

// None: the two do not encrypt.
[[nodiscard]] inline std::optional<link::SessionKeys> session_keys(const channel::HandshakePeer& peer) {
  if (!peer.encrypt) {
    return std::nullopt;
  }
  return link::SessionKeys{.cipher = peer.aes256_gcm ? wire::Cipher::aes256_gcm : wire::Cipher::chacha20_poly1305,
                           .send = peer.send_key.bytes(),
                           .receive = peer.receive_key.bytes()};
}

}  // namespace couplet::runtime
