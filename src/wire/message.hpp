// The frames of the family `message`: the meaning of the low four bits of their kind and of the free fields of their
// header, and the payload of an envelope.
// Page: docs/formats/message.md. Tests: tests/unit/wire/message_test.cpp, tests/fuzz/message.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "wire/frame.hpp"

namespace couplet::wire {

// `first` and `second` are the fields of the header.
enum class MessageKind : std::uint8_t {
  eager = 0,     // payload: the message; first: its bytes; second: payload credit that is returned with it
  envelope = 1,  // payload: Envelope; first: bytes of the message; second: the sender's cookie
  clear = 2,     // asks the sender to send; first: the receiver's cookie; second: the sender's cookie
  data = 3,      // payload: a piece of the message; first: its offset; second: the receiver's cookie
  done = 4,      // the receiver has the message, or does not want it; second: the sender's cookie
  credit = 5,    // first: payload credit that is returned
  share = 6,     // payload: Envelope of the receiver's buffer; context: round; first and second: as in clear
  shared = 7,    // first: pieces that the sender has copied; second: the receiver's cookie
};
inline constexpr std::uint8_t message_kind_mask = 0x7;
// A bit of eager and envelope: the numbers in the message have their most significant byte first.
inline constexpr std::uint8_t message_big_endian = 0x8;
inline constexpr bool own_big_endian = std::endian::native == std::endian::big;

// Sharing: both sides copy a large message, piece by piece. The process with the lower number in the universe copies
// from the front, the other one from the back. A word that both see (in the ring of a shm lane) says which pieces are
// taken.
struct SharedPieces {
  std::uint32_t round = 0;  // 0: no message is shared
  std::uint16_t from_front = 0;
  std::uint16_t from_back = 0;
  [[nodiscard]] constexpr std::uint64_t taken() const noexcept { return std::uint64_t{from_front} + from_back; }
};
[[nodiscard]] constexpr std::uint64_t pack(const SharedPieces& pieces) noexcept {
  return std::uint64_t{pieces.round} << 32U | std::uint64_t{pieces.from_back} << 16U | pieces.from_front;
}
[[nodiscard]] constexpr SharedPieces unpack_shared_pieces(std::uint64_t word) noexcept {
  return {.round = static_cast<std::uint32_t>(word >> 32U),
          .from_front = static_cast<std::uint16_t>(word),
          .from_back = static_cast<std::uint16_t>(word >> 16U)};
}
inline constexpr std::uint64_t least_shared_bytes = std::uint64_t{256} << 10U;
inline constexpr std::uint64_t most_shared_bytes = std::uint64_t{1} << 48U;
inline constexpr std::uint64_t most_shared_pieces = std::uint64_t{1} << 15U;
[[nodiscard]] constexpr std::uint64_t shared_piece_bytes(std::uint64_t message_bytes) noexcept {
  const std::uint64_t usual = std::uint64_t{message_bytes < std::uint64_t{1} << 20U ? 128U : 256U} << 10U;
  const std::uint64_t of_huge = (message_bytes + most_shared_pieces - 1) / most_shared_pieces;
  return usual < of_huge ? of_huge : usual;
}
[[nodiscard]] constexpr std::uint64_t shared_piece_count(std::uint64_t message_bytes) noexcept {
  const std::uint64_t piece = shared_piece_bytes(message_bytes);
  return (message_bytes + piece - 1) / piece;
}

// The payload credit that an eager message takes in addition to its bytes. It is at least what the receiver keeps for
// each message that no receive has matched, so that the number of empty messages is bounded too.
inline constexpr std::uint64_t eager_overhead_bytes = 192;

// Returns the payload credit with which each of two sides begins, in a universe of `ranks` ranks. The sum over all
// peers of a rank is at most max_total_credit_bytes, unless that would give a peer less than min_payload_credit.
inline constexpr std::uint64_t max_payload_credit = std::uint64_t{4} << 20U;
inline constexpr std::uint64_t min_payload_credit = std::uint64_t{64} << 10U;
inline constexpr std::uint64_t max_total_credit_bytes = std::uint64_t{1} << 30U;
[[nodiscard]] constexpr std::uint64_t first_payload_credit(std::uint64_t ranks) noexcept {
  const std::uint64_t share = max_total_credit_bytes / (ranks == 0 ? 1 : ranks);
  return share < min_payload_credit ? min_payload_credit : share > max_payload_credit ? max_payload_credit : share;
}

[[nodiscard]] constexpr std::uint8_t message_frame_kind(MessageKind kind, bool big_endian = false) noexcept {
  return frame_kind(FrameFamily::message,
                    static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | (big_endian ? message_big_endian : 0)));
}

// Says where a message is in its sender's memory, or will be in its receiver's, and gives a nonce that is there too.
// Reading the nonce proves that the other side reaches that very process. process 0: that memory is not offered.
struct Envelope {
  std::uint64_t address = 0;
  std::uint64_t nonce_address = 0;
  std::array<std::uint8_t, 16> nonce{};
  std::uint32_t process = 0;
};
inline constexpr std::size_t envelope_bytes = 40;

void encode_envelope(const Envelope& envelope, std::span<std::byte, envelope_bytes> image) noexcept;
// Returns protocol if it has not 40 bytes, or if reserved bytes are not 0.
[[nodiscard]] Result<Envelope> decode_envelope(std::span<const std::byte> image);

}  // namespace couplet::wire
