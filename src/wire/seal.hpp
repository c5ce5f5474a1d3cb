// Encryption of a byte stream: records of at most 64 KiB, each sealed with a key of its direction and a counter.
// Invariants: a record that was changed, dropped, repeated or moved does not open; keys never repeat a counter.
// Format in docs/formats/tcp.md. Tests: tests/unit/link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"

namespace couplet::wire {

enum class Cipher : std::uint8_t { aes256_gcm = 1, chacha20_poly1305 = 2 };
inline constexpr std::size_t seal_key_bytes = 32;
using SealKey = std::array<std::uint8_t, seal_key_bytes>;

inline constexpr std::size_t record_prefix_bytes = 4;  // length of what follows, little endian
inline constexpr std::size_t record_tag_bytes = 16;
inline constexpr std::size_t record_bytes = 64U << 10U;  // the longest, with prefix and tag
inline constexpr std::size_t record_plain_bytes = record_bytes - record_prefix_bytes - record_tag_bytes;

// Can this processor do it? ChaCha20-Poly1305 always.
[[nodiscard]] bool cipher_available(Cipher cipher);

// One direction of a connection. Both ends count records on their own.
class RecordSeal {
 public:
  // unsupported: not with this processor.
  static Result<std::unique_ptr<RecordSeal>> make(Cipher cipher, const SealKey& key);
  ~RecordSeal();
  RecordSeal(const RecordSeal&) = delete;
  RecordSeal& operator=(const RecordSeal&) = delete;

  // Writes the record of `plain` (1 to record_plain_bytes bytes) to `record`, which has room for it; returns its bytes.
  std::size_t seal(std::span<const std::byte> plain, std::byte* record) noexcept;
  // Bytes of the record that begins here, 0: the prefix is not complete. protocol: no record is that long or short.
  static Result<std::size_t> record_length(std::span<const std::byte> bytes);
  // Opens a whole record into `plain` (room for record_plain_bytes); returns the bytes. protocol: not sealed with this key
  // and counter.
  Result<std::size_t> open(std::span<const std::byte> record, std::byte* plain);

 private:
  struct State;
  explicit RecordSeal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace couplet::wire
