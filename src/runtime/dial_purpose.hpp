// The purpose of a dial, as the handshake says it, and how many lanes the caller has already.
#pragma once

#include <cstdint>
#include <optional>

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

// How many lanes of the same link a caller with feature_more has already, plus one, in five bits. 0: it has not said
// so.
inline constexpr unsigned lanes_shift = 8;
inline constexpr std::uint64_t lanes_mask = 0x1F;

[[nodiscard]] constexpr std::uint64_t lanes_features(unsigned lanes) noexcept {
  return lanes < lanes_mask ? (std::uint64_t{lanes} + 1) << lanes_shift : 0;
}

[[nodiscard]] constexpr std::optional<unsigned> lanes_of(std::uint64_t features) noexcept {
  const std::uint64_t told = features >> lanes_shift & lanes_mask;
  return told == 0 ? std::nullopt : std::optional(static_cast<unsigned>(told - 1));
}

}  // namespace couplet::runtime
