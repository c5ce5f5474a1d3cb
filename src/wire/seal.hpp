// Protects a byte stream: records of at most 64 KiB, each sealed with a key of its direction and a counter.
// Invariants: a record that was changed, dropped, repeated or moved cannot be opened; no key is used twice with one
// counter; a key seals at most records_per_key records, and is then replaced by one from which it cannot be computed.
// Format: docs/formats/tcp.md. Tests: tests/unit/wire, tests/unit/link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"

namespace couplet::wire {

// aes256_gmac authenticates and does not encrypt: the text is sent unchanged, followed by a keyed tag.
enum class Cipher : std::uint8_t { aes256_gcm = 1, chacha20_poly1305 = 2, aes256_gmac = 3 };
inline constexpr std::size_t seal_key_bytes = 32;
using SealKey = std::array<std::uint8_t, seal_key_bytes>;

inline constexpr std::size_t record_prefix_bytes = 4;  // length of the rest, little endian
inline constexpr std::size_t record_tag_bytes = 16;
inline constexpr std::size_t record_bytes = 64U << 10U;  // the longest record, with prefix and tag
inline constexpr std::size_t record_plain_bytes = record_bytes - record_prefix_bytes - record_tag_bytes;
// 64 GiB of the longest records, which is a thousandth of what AES-GCM allows for one key.
inline constexpr std::uint64_t records_per_key = std::uint64_t{1} << 20U;

// Returns whether this processor has the instructions that make the cipher fast and its time independent of the data.
// ChaCha20-Poly1305 needs none.
[[nodiscard]] bool cipher_available(Cipher cipher);

// One direction of a connection. Both ends count records independently.
class RecordSeal {
 public:
  // `key_lifetime` is the number of records after which the key is replaced. Both ends must use the same; tests shorten
  // it. Returns unsupported if the processor or libcrypto does not offer the cipher, and memory if memory runs out.
  static Result<std::unique_ptr<RecordSeal>> make(Cipher cipher, const SealKey& key,
                                                  std::uint64_t key_lifetime = records_per_key);
  ~RecordSeal();
  RecordSeal(const RecordSeal&) = delete;
  RecordSeal& operator=(const RecordSeal&) = delete;

  // Writes the record of `plain` (1 to record_plain_bytes bytes) to `record`, which has room for it. Returns its bytes.
  std::size_t seal(std::span<const std::byte> plain, std::byte* record) noexcept;
  // Returns the bytes of the record that begins here, or 0 if its prefix is not complete. Returns protocol if no record
  // has that length.
  static Result<std::size_t> record_length(std::span<const std::byte> bytes);
  // Opens a whole record into `plain` (with room for plain_length(record)), and returns the bytes. Returns protocol if
  // the record was not sealed with this key and counter; the content of `plain` is then undefined.
  Result<std::size_t> open(std::span<const std::byte> record, std::byte* plain);
  // Returns the number of bytes that open() gives for a whole record of so many bytes.
  [[nodiscard]] static constexpr std::size_t plain_length(std::size_t record_length) noexcept {
    return record_length - record_prefix_bytes - record_tag_bytes;
  }

 private:
  using Nonce = std::array<unsigned char, 12>;
  struct State;
  explicit RecordSeal(std::unique_ptr<State> state);
  bool open_short(std::span<const std::byte> record, std::byte* plain, const Nonce& nonce) noexcept;
  bool open_long(std::span<const std::byte> record, std::byte* plain, const Nonce& nonce) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace couplet::wire
