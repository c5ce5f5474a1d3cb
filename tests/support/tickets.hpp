// A hub's key, and members with its tickets, for tests of handshakes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "channel/identity.hpp"

namespace couplet::test {

inline channel::SecretBytes seed_of(std::uint8_t byte) {
  std::array<std::uint8_t, channel::secret_bytes> bytes{};
  bytes.fill(byte);
  return channel::SecretBytes(bytes);
}

// A new key with the ticket of this process, signed by the hub.
inline channel::Credentials ticket_of(const channel::HubKey& hub, channel::PeerId peer, std::uint16_t incarnation) {
  auto credentials = channel::fresh_credentials();
  auto& ticket = credentials.ticket;
  ticket.peer = peer;
  ticket.incarnation = incarnation;
  ticket.is_signed = true;
  ticket.signature = hub.sign(peer, incarnation, ticket.key);
  credentials.hub_key = hub.public_key();
  return credentials;
}

inline channel::SharedCredentials shared(const channel::Credentials& credentials) {
  return std::make_shared<const channel::Credentials>(credentials);
}

}  // namespace couplet::test
