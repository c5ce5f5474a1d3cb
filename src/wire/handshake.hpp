// The bytes of the handshake that opens a connection (docs/formats/handshake.md). Integers are little endian. This file
// does not know the secret: channel/handshake computes and compares the keyed hashes.
// Invariants: a decoder is given exactly the bytes of its message; it returns numbers, and does not judge them.
// Tests: tests/unit/wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace couplet::wire {

inline constexpr std::size_t handshake_prefix_bytes = 8;
inline constexpr std::size_t handshake_hello_bytes = 248;
inline constexpr std::size_t handshake_proof_bytes = 72;
inline constexpr std::size_t handshake_mac_bytes = 32;
inline constexpr std::size_t handshake_nonce_bytes = 32;
inline constexpr std::size_t handshake_key_bytes = 32;        // a public key of X25519
inline constexpr std::size_t handshake_signature_bytes = 64;  // of Ed25519
inline constexpr std::size_t handshake_reason_bytes = 512;    // the longest sentence of a verdict
inline constexpr std::size_t handshake_verdict_bytes = 80;    // without its sentence
inline constexpr std::size_t handshake_most_bytes = handshake_verdict_bytes + handshake_reason_bytes;
inline constexpr std::array<std::uint8_t, 4> handshake_magic = {0xC7, 'C', 'P', 'L'};
inline constexpr std::uint8_t handshake_layout = 3;

enum class HandshakeMessage : std::uint8_t { hello = 1, challenge = 2, proof = 3, verdict = 4, refused = 5 };
enum class ByteOrder : std::uint8_t { little = 1, big = 2 };
// The role of a process.
enum class Role : std::uint8_t { rank = 1, hub = 2, relay = 3, tool = 4 };

// The prefix of each message.
struct HandshakePrefix {
  std::uint8_t layout = handshake_layout;
  HandshakeMessage message = HandshakeMessage::hello;
  std::uint16_t bytes = 0;  // length of the message, with this prefix
};

// Says that a process has this key, if the hub has signed it.
struct Ticket {
  std::uint32_t peer = 0;
  std::uint16_t incarnation = 0;
  bool is_signed = false;
  std::array<std::uint8_t, handshake_key_bytes> key{};  // all zero: there is no key
  std::array<std::uint8_t, handshake_signature_bytes> signature{};
};

// The fields of hello, which the dialing side sends, and of challenge, which the other side sends.
struct HandshakeHello {
  ByteOrder byte_order = ByteOrder::little;  // byte order of the sender's memory
  Role role = Role::rank;
  std::uint16_t lowest_version = 0;
  std::uint16_t highest_version = 0;
  std::uint16_t source_incarnation = 0;
  std::uint64_t run_id = 0;
  std::uint64_t features = 0;
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  std::uint16_t target_incarnation = 0;
  std::array<std::uint8_t, handshake_nonce_bytes> nonce{};
  std::array<std::uint8_t, handshake_key_bytes> ephemeral_key{};  // public, made for this connection only
  Ticket ticket;
};

using HandshakeMac = std::array<std::uint8_t, handshake_mac_bytes>;

void encode_prefix(const HandshakePrefix& prefix, std::span<std::byte, handshake_prefix_bytes> image) noexcept;
// Returns layout, message and bytes as they are in the image. The magic was compared before (handshake_magic).
[[nodiscard]] HandshakePrefix decode_prefix(std::span<const std::byte, handshake_prefix_bytes> image) noexcept;

// Encodes with the prefix. The last handshake_mac_bytes are zero, and are filled with the keyed hash. In a proof and in
// a verdict, so are the handshake_mac_bytes before them, which are for the hash of the identity.
[[nodiscard]] std::vector<std::byte> encode_hello(const HandshakeHello& hello, HandshakeMessage message);
[[nodiscard]] HandshakeHello decode_hello(std::span<const std::byte, handshake_hello_bytes> image) noexcept;
[[nodiscard]] std::vector<std::byte> encode_proof();
// Encodes the verdict. code 0: accepted; otherwise the couplet_status and the sentence of the refusal (cut to
// handshake_reason_bytes).
[[nodiscard]] std::vector<std::byte> encode_verdict(std::int32_t code, std::string_view reason);
// Returns the part of a proof or verdict that is for the hash of the identity. REQUIRES: it has at least the bytes of a
// proof.
[[nodiscard]] std::span<std::byte, handshake_mac_bytes> identity_part(std::span<std::byte> image) noexcept;
struct HandshakeVerdict {
  std::int32_t code = 0;
  std::string reason;
};
[[nodiscard]] HandshakeVerdict decode_verdict(std::span<const std::byte> image);
[[nodiscard]] std::vector<std::byte> encode_refused();

}  // namespace couplet::wire
