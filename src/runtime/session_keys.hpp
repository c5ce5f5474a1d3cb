// The keys that a handshake has agreed on, as tcp lanes take them.
#pragma once

#include <optional>

#include "channel/handshake.hpp"
#include "link/tcp/tcp_lane.hpp"

namespace couplet::runtime {

// Returns none if the bytes are not protected. If the two sides cannot both compute AES-256-GMAC quickly, they encrypt,
// which protects more.
[[nodiscard]] inline std::optional<link::SessionKeys> session_keys(const channel::HandshakePeer& peer) {
  if (peer.protection == channel::Protection::none) {
    return std::nullopt;
  }
  const auto aes =
      peer.protection == channel::Protection::encrypted ? wire::Cipher::aes256_gcm : wire::Cipher::aes256_gmac;
  return link::SessionKeys{.cipher = peer.aes256_gcm ? aes : wire::Cipher::chacha20_poly1305,
                           .send = peer.send_key.bytes(),
                           .receive = peer.receive_key.bytes()};
}

}  // namespace couplet::runtime
