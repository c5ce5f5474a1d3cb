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
#include "os/descriptor.hpp"

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

// The text of a file that only its user may read. It is overwritten with zeros when it is destroyed.
struct PrivateText {
  std::array<char, 256> bytes{};
  std::size_t count = 0;
  PrivateText() = default;
  PrivateText(const PrivateText&) = delete;
  PrivateText& operator=(const PrivateText&) = delete;
  ~PrivateText();
  [[nodiscard]] std::string_view view() const noexcept { return {bytes.data(), count}; }
};
// Reads such a file, which is open. what: for texts, for example "the secret file". Errors: authentication, if the
// file belongs to another user or other users may read it; config, if it is no regular file, or too long.
Status read_private(const os::Descriptor& file, const std::string& path, std::string_view what, PrivateText& text);
// Writes the bytes, in hexadecimal digits, to a new file with mode 0600 (and makes its folder), and returns it, open
// for reading and writing. The file appears complete. Returns exists if the path exists already, which stays as it is.
Result<os::Descriptor> make_private_file(const std::string& path, const SecretBytes& bytes, std::string_view what);

}  // namespace couplet::channel
