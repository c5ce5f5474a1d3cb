// identity: which process this is, as the hub of its universe vouches for it. Each process has a key of its own; the
// hub signs a ticket that says which rank, in which incarnation, has this key. The handshake shows the ticket and
// proves the key (docs/formats/handshake.md). Pure, except for random bytes. Used by handshake, and by universe (the
// hub and the member). Invariants: the number of a run is the hash of its hub's public key; private
// keys are never printed, and are wiped. Tests: tests/unit/channel/identity_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "channel/secret.hpp"
#include "wire/handshake.hpp"

namespace couplet::channel {

using PublicKey = std::array<std::uint8_t, wire::handshake_key_bytes>;
using Signature = std::array<std::uint8_t, wire::handshake_signature_bytes>;

// The number of a member that has not joined yet, and of tools.
inline constexpr PeerId no_peer = 0xFFFFFFFE;
// Accepts any run (a member does not know the run before it has joined).
inline constexpr std::uint64_t any_run = 0;

// The keys of one process. The hub shows a key of Ed25519, and all others show one of X25519.
struct Credentials {
  SecretBytes private_key;  // X25519
  wire::Ticket ticket;      // what this process shows; not signed before the hub has admitted it
  std::optional<PublicKey> hub_key;
};
using SharedCredentials = std::shared_ptr<const Credentials>;

// Returns a new key without a ticket.
[[nodiscard]] Credentials fresh_credentials() noexcept;

// Returns the number of the run whose hub has this key. It is never any_run.
[[nodiscard]] std::uint64_t run_of(const PublicKey& hub_key) noexcept;

// Did the hub of this run sign the ticket?
[[nodiscard]] bool is_signed_by(const PublicKey& hub_key, std::uint64_t run_id, const wire::Ticket& ticket) noexcept;

// Returns the value that only the two owners of the keys can compute; nothing if `peer` is not a usable key.
[[nodiscard]] std::optional<SecretBytes> shared_value(const SecretBytes& private_key, const PublicKey& peer) noexcept;
// Returns the key of X25519 that belongs to a hub's public key; nothing if it is not a usable key.
[[nodiscard]] std::optional<PublicKey> exchange_key_of_hub(const PublicKey& hub_key) noexcept;

// The hub's key of Ed25519, which signs tickets.
class HubKey {
 public:
  // The same seed gives the same key.
  explicit HubKey(const SecretBytes& seed) noexcept;

  [[nodiscard]] const PublicKey& public_key() const noexcept { return public_key_; }
  [[nodiscard]] std::uint64_t run_id() const noexcept { return run_of(public_key_); }
  [[nodiscard]] Signature sign(PeerId peer, std::uint16_t incarnation, const PublicKey& key) const noexcept;
  // Returns what the hub shows and proves in handshakes.
  [[nodiscard]] SharedCredentials credentials() const;
  // For its file (hub_key_file.hpp).
  [[nodiscard]] const SecretBytes& seed() const noexcept { return seed_; }

 private:
  SecretBytes seed_;
  PublicKey public_key_{};
};

}  // namespace couplet::channel
