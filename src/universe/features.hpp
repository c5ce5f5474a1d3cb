// What this process offers in a handshake.
#pragma once

#include <cstdint>

#include "channel/handshake.hpp"
#include "wire/seal.hpp"

namespace couplet::universe {

[[nodiscard]] inline std::uint64_t handshake_features(channel::Protection protection) {
  std::uint64_t features = channel::features_of(protection);
  if (wire::cipher_available(wire::Cipher::aes256_gcm)) {
    features |= channel::feature_aes256_gcm;
  }
  return features;
}

}  // namespace couplet::universe
