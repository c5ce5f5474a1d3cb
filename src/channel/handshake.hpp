// The handshake: turns a connection from an unknown process into one with a known peer, or into an error. It is a pure
// state machine over bytes for both ends; the owner of the socket moves the bytes (docs/formats/handshake.md). Used by
// universe (member and hub) and runtime (tcp between members). Below: wire/handshake, libsodium. Invariants: before a
// field is used, the keyed hash of its message is checked with this process's secret; the caller of these functions is
// told nothing about a peer that has not proven the secret for this connection; a rank, a relay or the hub is believed
// only after it has shown its ticket and proven the key of it; the first wrong byte ends the handshake; no message is
// longer than wire::handshake_most_bytes. Tests: tests/unit/channel, tests/fuzz.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "channel/identities.hpp"
#include "channel/secret.hpp"
#include "wire/handshake.hpp"

namespace couplet::channel {

inline constexpr std::uint16_t lowest_protocol_version = 1;
inline constexpr std::uint16_t highest_protocol_version = 1;
inline constexpr std::uint16_t any_incarnation = 0xFFFF;

enum Feature : std::uint64_t {
  feature_encryption = 1,      // demanded; the demand of one side is enough
  feature_aes256_gcm = 2,      // the processor has it; if not both have it, ChaCha20-Poly1305 is used
  feature_cma = 4,             // process_vm_readv is allowed
  feature_authentication = 8,  // a keyed tag on everything is demanded; the demand of one side is enough
  feature_again = 16,          // only of an initiator: it has lost its connection, and resumes its channel
  feature_more = 32,           // only of an initiator: it adds a lane to a channel that is open
  feature_ucx = 64,            // only of an initiator: the connection is for a lane over UCX, and no lane itself
};

using Nonce = std::array<std::uint8_t, wire::handshake_nonce_bytes>;

// The random values of one end of one connection. They exist only while the handshake runs. So an attacker that has
// recorded the connection, and learns the secret later, cannot compute the session keys (forward secrecy).
struct Ephemeral {
  Nonce nonce{};
  SecretBytes private_key;  // X25519
};
[[nodiscard]] Ephemeral fresh_ephemeral() noexcept;

// How the bytes after a handshake are protected: not at all, against change, or also against reading.
enum class Protection : std::uint8_t { none, authenticated, encrypted };
// Returns "none", "authenticated" or "encrypted".
[[nodiscard]] std::string_view protection_name(Protection protection) noexcept;
// Returns the features that demand this protection.
[[nodiscard]] std::uint64_t features_of(Protection protection) noexcept;

// The process at this end.
struct HandshakeSelf {
  wire::Role role = wire::Role::rank;
  PeerId id = no_peer;
  std::uint16_t incarnation = 0;
  std::uint64_t run_id = any_run;
  std::uint64_t features = 0;
  std::uint16_t lowest_version = lowest_protocol_version;
  std::uint16_t highest_version = highest_protocol_version;
  // What this process shows, and by which it checks the peer. nullptr: it shows nothing, and believes each peer that
  // has the secret (only for tests).
  SharedCredentials credentials = nullptr;
};

// The process that the initiator wants to reach.
struct HandshakeTarget {
  PeerId id = hub_peer;
  std::uint16_t incarnation = any_incarnation;
};

// The facts about the peer, once it has proven the secret.
struct HandshakePeer {
  wire::Role role = wire::Role::rank;
  wire::ByteOrder byte_order = wire::ByteOrder::little;
  PeerId id = no_peer;
  std::uint16_t incarnation = 0;
  std::uint64_t run_id = any_run;
  std::uint16_t version = 0;                 // agreed
  std::uint64_t features = 0;                // the peer's
  Protection protection = Protection::none;  // agreed: the stronger of both demands
  bool aes256_gcm = false;                   // both have AES-256-GCM
  bool cma = false;                          // both allow it
  bool same_byte_order = true;
  PublicKey key{};       // of which it has proven that it has the private one, if this end has credentials
  SecretBytes send_key;  // session keys of this connection, one for each direction
  SecretBytes receive_key;
};

// talking: move bytes. deciding (accepting end only): the peer has proven the secret, and peer() is known; call
// accept_peer() or refuse(). done: the next byte in either direction belongs to the lane. failed: send what output()
// still has, then close.
enum class HandshakeState : std::uint8_t { talking, deciding, done, failed };

class Handshake {
 public:
  // name: of the other end, for texts, such as "program 'ocean' rank 1" or "a connection from 10.0.0.7".
  static Handshake initiate(const Secret& secret, const HandshakeSelf& self, const HandshakeTarget& target,
                            std::string name, const Ephemeral& ephemeral = fresh_ephemeral());
  static Handshake accept(const Secret& secret, const HandshakeSelf& self, std::string name,
                          const Ephemeral& ephemeral = fresh_ephemeral());

  [[nodiscard]] HandshakeState state() const noexcept { return state_; }
  // Why the handshake failed: authentication, version (the text names both ranges), protocol, or the error that the
  // peer gave to refuse().
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // The peer. REQUIRES: the state is deciding or done.
  [[nodiscard]] const HandshakePeer& peer() const noexcept { return peer_; }

  // The bytes that are to be sent now. sent() then says how many of them were sent.
  [[nodiscard]] std::span<const std::byte> output() const noexcept { return std::span(output_).subspan(output_taken_); }
  void sent(std::size_t bytes) noexcept;
  // Returns the largest number of bytes to read from the socket now. What follows them does not belong to the
  // handshake. 0: do not read.
  [[nodiscard]] std::size_t wanted() const noexcept;
  // Takes bytes, and returns how many it has used (never more than belong to the handshake).
  std::size_t input(std::span<const std::byte> bytes);

  // Decide about the peer. REQUIRES: the state is deciding. `why` is an error that is sent to the peer, which knows the
  // secret (for example exists: a duplicate).
  void accept_peer();
  void refuse(const Status& why);

 private:
  Handshake(const Secret& secret, const HandshakeSelf& self, std::string name, const Ephemeral& ephemeral,
            bool initiator);

  [[nodiscard]] wire::HandshakeHello own_hello(PeerId target, std::uint16_t target_incarnation) const;
  void take_message();
  void check_prefix();
  void take_hello();
  void take_challenge();
  void take_proof();
  void take_verdict();
  [[nodiscard]] Status check_peer(const wire::HandshakeHello& hello);
  void fill_peer(const wire::HandshakeHello& hello);
  [[nodiscard]] bool make_keys(const wire::HandshakeHello& hello);
  void queue(std::vector<std::byte> message);
  void sign(std::vector<std::byte>& message, std::string_view label) const;
  [[nodiscard]] bool signature_right(std::string_view label) const;
  [[nodiscard]] wire::HandshakeMac mac(std::string_view label, std::span<const std::byte> message) const;
  void fail(Code code, std::string_view text);
  void not_authentic(bool tell);

  Secret secret_;
  HandshakeSelf self_;
  HandshakeTarget target_;
  std::string name_;
  Ephemeral ephemeral_;
  Identities identities_;
  bool initiator_;
  HandshakeState state_ = HandshakeState::talking;
  wire::HandshakeMessage expected_;
  std::vector<std::byte> input_;  // the message that is being read
  std::vector<std::byte> output_;
  std::size_t output_taken_ = 0;
  std::vector<std::byte> transcript_;  // hello and challenge with their hashes
  Status failure_;
  HandshakePeer peer_;
};

// Both processes of a pair may connect at the same time. Then returns whether the connection that `initiator` has
// opened to `acceptor` is used, and not the opposite one.
[[nodiscard]] constexpr bool connection_wins(PeerId initiator, PeerId acceptor) noexcept {
  return initiator < acceptor;
}

}  // namespace couplet::channel
