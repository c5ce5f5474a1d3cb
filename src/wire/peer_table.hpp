// The table of peers as the hub sends it: binary, 40 bytes a rank. docs/formats/hub.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace couplet::wire {

// One rank or relay.
struct PeerEntry {
  std::uint32_t peer = 0;
  std::uint32_t process = 0;
  std::uint64_t memory_nonce = 0;
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  std::uint16_t node = 0;
  std::uint16_t incarnation = 0;
  std::uint8_t state = 0;  // 0 absent, 1 present, 2 left, 3 lost
  std::uint8_t reserved = 0;
  bool operator==(const PeerEntry&) const = default;
};
static_assert(sizeof(PeerEntry) == 40);
inline constexpr std::size_t peer_entry_bytes = sizeof(PeerEntry);
inline constexpr std::size_t peer_table_header_bytes = 16;
inline constexpr std::uint8_t peer_state_most = 3;

// Header (magic "CPLTPEER", version, number of entries), then the entries; little endian on every host.
[[nodiscard]] std::string encode_peer_table(std::span<const PeerEntry> entries);
// protocol or version error that says what is wrong.
[[nodiscard]] Result<std::vector<PeerEntry>> decode_peer_table(std::span<const std::byte> bytes);

}  // namespace couplet::wire
