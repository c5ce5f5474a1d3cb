#include "wire/peer_table.hpp"

#include <cstring>
#include <string_view>

namespace couplet::wire {
namespace {

constexpr std::string_view magic = "CPLTPEER";
constexpr std::uint32_t version = 1;

template <typename T>
void put(std::string& bytes, T value) {
  for (std::size_t index = 0; index < sizeof value; ++index) {
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * index)));
  }
}

template <typename T>
T take(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t index = 0; index < sizeof(T); ++index) {
    value |= static_cast<std::uint64_t>(bytes[index]) << (8 * index);
  }
  bytes = bytes.subspan(sizeof(T));
  return static_cast<T>(value);
}

}  // namespace

std::string encode_peer_table(std::span<const PeerEntry> entries) {
  std::string bytes(magic);
  bytes.reserve(peer_table_header_bytes + peer_entry_bytes * entries.size());
  put(bytes, version);
  put(bytes, static_cast<std::uint32_t>(entries.size()));
  for (const auto& entry : entries) {
    put(bytes, entry.peer);
    put(bytes, entry.process);
    put(bytes, entry.memory_nonce);
    bytes.append(entry.address.begin(), entry.address.end());
    put(bytes, entry.port);
    put(bytes, entry.node);
    put(bytes, entry.incarnation);
    put(bytes, entry.state);
    put(bytes, entry.reserved);
  }
  return bytes;
}

Result<std::vector<PeerEntry>> decode_peer_table(std::span<const std::byte> bytes) {
  if (bytes.size() < peer_table_header_bytes || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
    return fail(Code::protocol, "the peer table does not begin with its header");
  }
  bytes = bytes.subspan(magic.size());
  const auto found = take<std::uint32_t>(bytes);
  const auto count = take<std::uint32_t>(bytes);
  if (found != version) {
    return fail(Code::version, "peer table of version {}, this library reads version {}", found, version);
  }
  if (bytes.size() != peer_entry_bytes * std::uint64_t{count}) {
    return fail(Code::protocol, "a peer table of {} entries has {} bytes of them", count, bytes.size());
  }
  std::vector<PeerEntry> entries(count);
  for (auto& entry : entries) {
    entry.peer = take<std::uint32_t>(bytes);
    entry.process = take<std::uint32_t>(bytes);
    entry.memory_nonce = take<std::uint64_t>(bytes);
    std::memcpy(entry.address.data(), bytes.data(), entry.address.size());
    bytes = bytes.subspan(entry.address.size());
    entry.port = take<std::uint16_t>(bytes);
    entry.node = take<std::uint16_t>(bytes);
    entry.incarnation = take<std::uint16_t>(bytes);
    entry.state = take<std::uint8_t>(bytes);
    entry.reserved = take<std::uint8_t>(bytes);
    if (entry.state > peer_state_most) {
      return fail(Code::protocol, "the peer table says state {} of peer {}", entry.state, entry.peer);
    }
  }
  return entries;
}

}  // namespace couplet::wire
