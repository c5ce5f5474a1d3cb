// Buffers: memory of this member for one message of each port. The payload is 64-byte aligned, and the 8 bytes before
// it are its length, so that both travel as one run of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "exchange/mpi/team.hpp"

namespace couplet::exchange {

inline constexpr std::uint64_t line_bytes = 64;
inline constexpr std::uint64_t length_bytes = sizeof(std::uint64_t);
enum class Way : std::uint8_t { out, in };

// Returns the bytes of a buffer of such a message: a line that ends with the length, and whole lines.
[[nodiscard]] constexpr std::uint64_t buffer_bytes(std::uint64_t payload_bytes) noexcept {
  return line_bytes + (payload_bytes + line_bytes - 1) / line_bytes * line_bytes;
}
[[nodiscard]] inline std::uint64_t length_of(const std::byte* payload) noexcept {
  std::uint64_t length = 0;
  std::memcpy(&length, payload - length_bytes, sizeof length);
  return length;
}
inline void set_length(std::byte* payload, std::uint64_t length) noexcept {
  std::memcpy(payload - length_bytes, &length, sizeof length);
}
[[nodiscard]] constexpr std::uint64_t capacity(const Port& port, Way way) noexcept {
  return way == Way::out ? port.out_bytes : port.in_bytes;
}
[[nodiscard]] constexpr bool is_used(const Port& port, Way way) noexcept {
  return way == Way::out ? port.sends : port.receives;
}

class Buffers {
 public:
  Buffers() = default;
  // The memory belongs to the team. REQUIRES: it stays empty, or was empty.
  Status reserve(Team& team, Way way);
  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }
  [[nodiscard]] std::byte* payload(std::uint32_t port) const noexcept { return payloads_[port]; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // Returns the offset in memory() of the port's length, behind which the payload is.
  [[nodiscard]] std::uint64_t offset(std::uint32_t port) const noexcept {
    return static_cast<std::uint64_t>(payloads_[port] - memory_) - length_bytes;
  }

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte*> payloads_;  // by port; nullptr: it has no messages this way
};

}  // namespace couplet::exchange
