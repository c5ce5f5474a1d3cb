// The purpose of a dial, as the handshake says it.
#pragma once

#include <cstdint>

#include "channel/handshake.hpp"
#include "link/transport.hpp"

namespace couplet::runtime {

[[nodiscard]] constexpr std::uint64_t purpose_features(link::Purpose purpose) noexcept {
  switch (purpose) {
    case link::Purpose::again:
      return channel::feature_again;
    case link::Purpose::more:
      return channel::feature_more;
    case link::Purpose::first:
      break;
  }
  return 0;
}

[[nodiscard]] constexpr link::Purpose purpose_of(std::uint64_t features) noexcept {
  if ((features & channel::feature_more) != 0) {
    return link::Purpose::more;
  }
  return (features & channel::feature_again) != 0 ? link::Purpose::again : link::Purpose::first;
}

}  // namespace couplet::runtime
