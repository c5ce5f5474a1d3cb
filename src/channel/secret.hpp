// The universe's secret: 32 bytes that every process of a universe knows, and no other process, in a file that only the
// user may read. Invariants: never printed, never on a command line; memory is wiped. Format:
// docs/formats/handshake.md. Tests: tests/unit/channel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace couplet::channel {

inline constexpr std::size_t secret_bytes = 32;

// Bytes that are overwritten with zeros when they are destroyed.
class SecretBytes {
 public:
  SecretBytes() noexcept = default;
  explicit SecretBytes(const std::array<std::uint8_t, secret_bytes>& bytes) noexcept : bytes_(bytes) {}
  SecretBytes(const SecretBytes&) noexcept = default;
  SecretBytes& operator=(const SecretBytes&) noexcept = default;
  ~SecretBytes();
  // Overwrites the bytes with zeros.
  void wipe() noexcept;
  [[nodiscard]] const std::array<std::uint8_t, secret_bytes>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::array<std::uint8_t, secret_bytes>& bytes() noexcept { return bytes_; }

 private:
  std::array<std::uint8_t, secret_bytes> bytes_{};
};
using Secret = SecretBytes;

[[nodiscard]] Secret random_secret() noexcept;
// Reads 64 hexadecimal digits, with white space around them allowed. Returns config if the text is anything else.
Result<Secret> parse_secret(std::string_view text);

// Returns COUPLET_SECRET_FILE, else couplet/secret below XDG_CONFIG_HOME or ~/.config. Returns config if none of these
// variables, nor HOME, is set.
Result<std::string> secret_path();
// Reads the secret. Errors: authentication, if the file belongs to another user or other users may read it; config, if
// it contains no secret; not_found.
Result<Secret> read_secret(const std::string& path);
// Does the same. If the file does not exist, it is made with a random secret (and its folder, with mode 0700). If
// several processes do so at the same time, all get the same secret.
Result<Secret> read_or_make_secret(const std::string& path);
// Writes the secret to a new file with mode 0600 (and makes its folder). If the file exists already, it stays as it is.
Status write_secret(const std::string& path, const Secret& secret);

}  // namespace couplet::channel
