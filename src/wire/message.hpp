// The frames of family `message`: what the low four bits of their kind and the free fields of their header mean, and the
// payload of an envelope. Page: docs/formats/message.md. Tests: tests/unit/wire/message_test.cpp, tests/fuzz/message.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "wire/frame.hpp"

namespace couplet::wire {

// first, second: the fields of the header of that name.
enum class MessageKind : std::uint8_t {
  eager = 0,     // payload: the message; first: its bytes; second: payload credit that comes back with it
  envelope = 1,  // payload: Envelope; first: bytes of the message; second: the sender's cookie
  clear = 2,     // "send now"; first: the receiver's cookie; second: the sender's cookie
  data = 3,      // payload: a piece of the message; first: its offset; second: the receiver's cookie
  done = 4,      // the receiver has, or does not want, the message; second: the sender's cookie
  credit = 5,    // first: payload credit that comes back
  share = 6,     // payload: Envelope of the receiver's buffer; context: round; first, second: as clear
  shared = 7,    // first: pieces that the sender has copied; second: the receiver's cookie
};
inline constexpr std::uint8_t message_kind_mask = 0x7;
// Bit of eager and envelope: the numbers in the message have their most significant byte first.
inline constexpr std::uint8_t message_big_endian = 0x8;
inline constexpr bool own_big_endian = std::endian::native == std::endian::big;

// Sharing: both sides copy a large message, piece by piece. Which pieces are taken stands in a word that both see (in the ring
// of a shm lane): the round in the upper half, how many were claimed in the lower; a round of 0: no message is shared.
[[nodiscard]] constexpr std::uint64_t shared_round(std::uint32_t round) noexcept {
  return std::uint64_t{round} << 32U;
}
inline constexpr std::uint64_t least_shared_bytes = std::uint64_t{256} << 10U;
inline constexpr std::uint64_t most_shared_bytes = std::uint64_t{1} << 48U;
[[nodiscard]] constexpr std::uint64_t shared_piece_bytes(std::uint64_t message_bytes) noexcept {
  return message_bytes < std::uint64_t{4} << 20U ? std::uint64_t{128} << 10U : std::uint64_t{256} << 10U;
}

// What one eager message takes of the receiver's payload credit beyond its bytes, so that empty messages are bounded too.
inline constexpr std::uint64_t eager_overhead_bytes = 64;

[[nodiscard]] constexpr std::uint8_t message_frame_kind(MessageKind kind, bool big_endian = false) noexcept {
  return frame_kind(FrameFamily::message,
                    static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | (big_endian ? message_big_endian : 0)));
}

// Where a message lies in its sender's memory, or goes in its receiver's, and a nonce that lies there too: reading it proves
// that the other one reaches that very process. process 0: that memory is not offered.
struct Envelope {
  std::uint64_t address = 0;
  std::uint64_t nonce_address = 0;
  std::array<std::uint8_t, 16> nonce{};
  std::uint32_t process = 0;
};
inline constexpr std::size_t envelope_bytes = 40;

void encode_envelope(const Envelope& envelope, std::span<std::byte, envelope_bytes> image) noexcept;
// protocol: not 40 bytes, or reserved bytes that are not 0.
[[nodiscard]] Result<Envelope> decode_envelope(std::span<const std::byte> image);

}  // namespace couplet::wire
