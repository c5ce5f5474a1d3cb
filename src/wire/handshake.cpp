#include "wire/handshake.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>

namespace couplet::wire {

namespace {

// Offsets in hello and challenge.
constexpr std::size_t at_byte_order = 8;
constexpr std::size_t at_role = 9;
constexpr std::size_t at_lowest_version = 10;
constexpr std::size_t at_highest_version = 12;
constexpr std::size_t at_source_incarnation = 14;
constexpr std::size_t at_run_id = 16;
constexpr std::size_t at_features = 24;
constexpr std::size_t at_source = 32;
constexpr std::size_t at_target = 36;
constexpr std::size_t at_target_incarnation = 40;
constexpr std::size_t at_nonce = 48;
constexpr std::size_t at_ephemeral_key = 80;
static_assert(at_nonce + handshake_nonce_bytes == at_ephemeral_key);
constexpr std::size_t at_ticket_peer = 112;
constexpr std::size_t at_ticket_incarnation = 116;
constexpr std::size_t at_ticket_is_signed = 118;
constexpr std::size_t at_ticket_key = 120;
constexpr std::size_t at_ticket_signature = 152;
static_assert(at_ephemeral_key + handshake_key_bytes == at_ticket_peer);
static_assert(at_ticket_key + handshake_key_bytes == at_ticket_signature);
static_assert(at_ticket_signature + handshake_signature_bytes + handshake_mac_bytes == handshake_hello_bytes);
// Offsets in a verdict.
constexpr std::size_t at_code = 8;
constexpr std::size_t at_reason = 16;
static_assert(at_reason + 2 * handshake_mac_bytes == handshake_verdict_bytes);
static_assert(handshake_prefix_bytes + 2 * handshake_mac_bytes == handshake_proof_bytes);

template <std::unsigned_integral Number>
void put(std::span<std::byte> image, std::size_t offset, Number number) noexcept {
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    image[offset + index] = static_cast<std::byte>(number >> (8 * index));
  }
}

template <std::unsigned_integral Number>
[[nodiscard]] Number get(std::span<const std::byte> image, std::size_t offset) noexcept {
  Number number = 0;
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    number = static_cast<Number>(
        number | (static_cast<Number>(std::to_integer<std::uint8_t>(image[offset + index])) << (8 * index)));
  }
  return number;
}

[[nodiscard]] std::vector<std::byte> empty_message(HandshakeMessage message, std::size_t bytes) {
  std::vector<std::byte> image(bytes);
  encode_prefix({.message = message, .bytes = static_cast<std::uint16_t>(bytes)},
                std::span<std::byte, handshake_prefix_bytes>(image.data(), handshake_prefix_bytes));
  return image;
}

}  // namespace

void encode_prefix(const HandshakePrefix& prefix, std::span<std::byte, handshake_prefix_bytes> image) noexcept {
  std::memcpy(image.data(), handshake_magic.data(), handshake_magic.size());
  image[4] = static_cast<std::byte>(prefix.layout);
  image[5] = static_cast<std::byte>(prefix.message);
  put(image, 6, prefix.bytes);
}

HandshakePrefix decode_prefix(std::span<const std::byte, handshake_prefix_bytes> image) noexcept {
  return {.layout = std::to_integer<std::uint8_t>(image[4]),
          .message = static_cast<HandshakeMessage>(image[5]),
          .bytes = get<std::uint16_t>(image, 6)};
}

std::vector<std::byte> encode_hello(const HandshakeHello& hello, HandshakeMessage message) {
  auto image = empty_message(message, handshake_hello_bytes);
  image[at_byte_order] = static_cast<std::byte>(hello.byte_order);
  image[at_role] = static_cast<std::byte>(hello.role);
  put(image, at_lowest_version, hello.lowest_version);
  put(image, at_highest_version, hello.highest_version);
  put(image, at_source_incarnation, hello.source_incarnation);
  put(image, at_run_id, hello.run_id);
  put(image, at_features, hello.features);
  put(image, at_source, hello.source);
  put(image, at_target, hello.target);
  put(image, at_target_incarnation, hello.target_incarnation);
  std::memcpy(image.data() + at_nonce, hello.nonce.data(), hello.nonce.size());
  std::memcpy(image.data() + at_ephemeral_key, hello.ephemeral_key.data(), hello.ephemeral_key.size());
  put(image, at_ticket_peer, hello.ticket.peer);
  put(image, at_ticket_incarnation, hello.ticket.incarnation);
  image[at_ticket_is_signed] = static_cast<std::byte>(hello.ticket.is_signed ? 1 : 0);
  std::memcpy(image.data() + at_ticket_key, hello.ticket.key.data(), hello.ticket.key.size());
  std::memcpy(image.data() + at_ticket_signature, hello.ticket.signature.data(), hello.ticket.signature.size());
  return image;
}

HandshakeHello decode_hello(std::span<const std::byte, handshake_hello_bytes> image) noexcept {
  HandshakeHello hello;
  hello.byte_order = static_cast<ByteOrder>(image[at_byte_order]);
  hello.role = static_cast<Role>(image[at_role]);
  hello.lowest_version = get<std::uint16_t>(image, at_lowest_version);
  hello.highest_version = get<std::uint16_t>(image, at_highest_version);
  hello.source_incarnation = get<std::uint16_t>(image, at_source_incarnation);
  hello.run_id = get<std::uint64_t>(image, at_run_id);
  hello.features = get<std::uint64_t>(image, at_features);
  hello.source = get<std::uint32_t>(image, at_source);
  hello.target = get<std::uint32_t>(image, at_target);
  hello.target_incarnation = get<std::uint16_t>(image, at_target_incarnation);
  std::memcpy(hello.nonce.data(), image.data() + at_nonce, hello.nonce.size());
  std::memcpy(hello.ephemeral_key.data(), image.data() + at_ephemeral_key, hello.ephemeral_key.size());
  hello.ticket.peer = get<std::uint32_t>(image, at_ticket_peer);
  hello.ticket.incarnation = get<std::uint16_t>(image, at_ticket_incarnation);
  hello.ticket.is_signed = image[at_ticket_is_signed] == std::byte{1};
  std::memcpy(hello.ticket.key.data(), image.data() + at_ticket_key, hello.ticket.key.size());
  std::memcpy(hello.ticket.signature.data(), image.data() + at_ticket_signature, hello.ticket.signature.size());
  return hello;
}

std::vector<std::byte> encode_proof() {
  return empty_message(HandshakeMessage::proof, handshake_proof_bytes);
}

std::vector<std::byte> encode_verdict(std::int32_t code, std::string_view reason) {
  const std::string_view cut = reason.substr(0, handshake_reason_bytes);
  auto image = empty_message(HandshakeMessage::verdict, handshake_verdict_bytes + cut.size());
  put(image, at_code, static_cast<std::uint32_t>(code));
  std::memcpy(image.data() + at_reason, cut.data(), cut.size());
  return image;
}

HandshakeVerdict decode_verdict(std::span<const std::byte> image) {
  HandshakeVerdict verdict;
  if (image.size() >= handshake_verdict_bytes) {
    verdict.code = static_cast<std::int32_t>(get<std::uint32_t>(image, at_code));
    verdict.reason.resize(image.size() - handshake_verdict_bytes);
    std::memcpy(verdict.reason.data(), image.data() + at_reason, verdict.reason.size());
  }
  return verdict;
}

std::span<std::byte, handshake_mac_bytes> identity_part(std::span<std::byte> image) noexcept {
  return std::span<std::byte, handshake_mac_bytes>(image.last(2 * handshake_mac_bytes).first(handshake_mac_bytes));
}

std::vector<std::byte> encode_refused() {
  return empty_message(HandshakeMessage::refused, handshake_prefix_bytes);
}

}  // namespace couplet::wire
