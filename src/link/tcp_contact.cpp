#include "link/tcp_contact.hpp"

#include <array>

namespace couplet::link {
namespace {

constexpr std::size_t address_bytes = 16;  // IPv6; an IPv4 address is 12 known bytes and 4 more
constexpr std::size_t port_bytes = 2;
constexpr std::array<std::uint8_t, 12> ipv4_mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

}  // namespace

Contact tcp_contact(const os::Endpoint& endpoint) {
  if (endpoint.port == 0) {
    return {};
  }
  const bool is_ipv4 = std::equal(ipv4_mapped.begin(), ipv4_mapped.end(), endpoint.address.begin());
  const std::size_t left_out = is_ipv4 ? ipv4_mapped.size() : 0;
  std::array<std::byte, address_bytes + port_bytes> bytes{};
  const auto address = std::as_bytes(std::span(endpoint.address)).subspan(left_out);
  auto* const port = std::copy(address.begin(), address.end(), bytes.data());
  port[0] = static_cast<std::byte>(endpoint.port & 0xFFU);
  port[1] = static_cast<std::byte>(endpoint.port >> 8U);
  return Contact({bytes.data(), address.size() + port_bytes});
}

Result<os::Endpoint> tcp_endpoint(const Contact& contact) {
  const auto bytes = contact.bytes();
  if (bytes.empty()) {
    return fail(Code::unsupported, "the peer does not listen for connections");
  }
  const bool is_ipv4 = bytes.size() == address_bytes - ipv4_mapped.size() + port_bytes;
  if (!is_ipv4 && bytes.size() != address_bytes + port_bytes) {
    return fail(Code::unsupported, "the peer's contact has {} bytes, which no address has", bytes.size());
  }
  os::Endpoint endpoint;
  auto* at = endpoint.address.data();
  if (is_ipv4) {
    at = std::copy(ipv4_mapped.begin(), ipv4_mapped.end(), at);
  }
  const auto address = bytes.first(bytes.size() - port_bytes);
  std::transform(address.begin(), address.end(), at, [](std::byte byte) { return static_cast<std::uint8_t>(byte); });
  const auto low = std::to_integer<unsigned>(bytes[bytes.size() - 2]);
  const auto high = std::to_integer<unsigned>(bytes[bytes.size() - 1]);
  endpoint.port = static_cast<std::uint16_t>(low | high << 8U);
  if (endpoint.port == 0) {
    return fail(Code::unsupported, "the peer does not listen for connections");
  }
  return endpoint;
}

os::Endpoint tcp_listener(const ContactList& contacts) {
  const Contact contact = contacts.find(tcp_transport_name);
  if (contact.empty()) {
    return {};
  }
  const auto endpoint = tcp_endpoint(contact);
  return endpoint.ok() ? *endpoint : os::Endpoint();
}

}  // namespace couplet::link
