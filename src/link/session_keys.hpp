// The keys with which a lane protects what leaves the system: tcp and file. They come from the handshake of channel/.
#pragma once

#include "wire/seal.hpp"

namespace couplet::link {

// The keys of one connection.
struct SessionKeys {
  wire::Cipher cipher = wire::Cipher::chacha20_poly1305;
  wire::SealKey send{};
  wire::SealKey receive{};
};

}  // namespace couplet::link
