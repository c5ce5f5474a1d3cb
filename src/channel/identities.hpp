// The identities of the two ends of one handshake: what this end proves of itself, and whether the peer is the process
// as which it presents itself. Each end computes a value from its own private key and the key that the other end shows,
// and proves by a hash over the conversation, keyed with that value, that it has the private key of what it shows.
// Used by handshake. Tests: tests/unit/channel/identities_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "channel/identity.hpp"

namespace couplet::channel {

// Returns "the hub", "rank 3", "relay 0" or "a process that has not joined".
[[nodiscard]] std::string peer_text(PeerId id);

class Identities {
 public:
  enum class Side : std::uint8_t { caller, called };
  using Proof = std::span<std::byte, wire::handshake_mac_bytes>;

  // own: nullptr: this end proves nothing, and believes everything.
  explicit Identities(SharedCredentials own) noexcept : own_(std::move(own)) {}

  // Takes the key that the peer shows.
  void meet(const wire::Ticket& shown) noexcept;
  // Writes the proof of this end, whose side it is.
  void prove(Side side, std::span<const std::byte> transcript, Proof proof) const noexcept;
  // Is the peer the process as which it presents itself, if it has the key that it shows? Returns authentication, with
  // a text that names both.
  [[nodiscard]] Status check_ticket(const wire::HandshakeHello& peer) const;
  // Has the peer, whose side it is, the key that it shows? Returns authentication.
  [[nodiscard]] Status check_proof(const wire::HandshakeHello& peer, Side side, std::span<const std::byte> transcript,
                                   Proof proof) const;

 private:
  [[nodiscard]] Status check_hub(const wire::HandshakeHello& peer) const;

  SharedCredentials own_;
  std::optional<SecretBytes> shared_;  // nothing: one end shows no usable key
};

}  // namespace couplet::channel
