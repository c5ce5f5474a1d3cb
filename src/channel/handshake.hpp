// The handshake: turns a connection over which anybody may speak into one with a known peer, or into an error. A pure
// state machine over bytes for both ends; whoever owns the socket moves them (docs/formats/handshake.md). Used by
// universe (member and hub) and runtime (tcp between members). Below: wire/handshake, libsodium. Invariants: no field
// of a message is looked at before its keyed hash was found right with the own secret, and no caller is told anything
// of a peer that has not proven the secret for this very connection; the first wrong byte ends it; bounded: no message
// is longer than wire::handshake_most_bytes. Tests: tests/unit/channel, tests/fuzz.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "channel/secret.hpp"
#include "wire/handshake.hpp"

namespace couplet::channel {

inline constexpr std::uint16_t lowest_protocol_version = 1;
inline constexpr std::uint16_t highest_protocol_version = 1;
// Of a member that has not joined yet, and of tools.
inline constexpr PeerId no_peer = 0xFFFFFFFE;
// Stands for whatever the other side has (a member does not know the run before it has joined).
inline constexpr std::uint64_t any_run = 0;
inline constexpr std::uint16_t any_incarnation = 0xFFFF;

enum Feature : std::uint64_t {
  feature_encryption = 1,      // demanded: by either side is enough
  feature_aes256_gcm = 2,      // the processor has it; used when both have it, else ChaCha20-Poly1305
  feature_cma = 4,             // process_vm_readv is allowed
  feature_authentication = 8,  // a keyed tag on everything is demanded: by either side is enough
  feature_again = 16,          // of an initiator only: it has lost its connection, and resumes its channel
};

using Nonce = std::array<std::uint8_t, wire::handshake_nonce_bytes>;

// The random values of one end of one connection. They exist only while the handshake runs: whoever learns the secret
// later cannot compute the session keys of a connection that it has recorded (forward secrecy).
struct Ephemeral {
  Nonce nonce{};
  SecretBytes private_key;  // X25519
};
[[nodiscard]] Ephemeral fresh_ephemeral() noexcept;

// How the bytes that follow a handshake are protected on their way: not at all, against change, or also against
// reading.
enum class Protection : std::uint8_t { none, authenticated, encrypted };
// "none", "authenticated", "encrypted".
[[nodiscard]] std::string_view protection_name(Protection protection) noexcept;
// The features that demand it.
[[nodiscard]] std::uint64_t features_of(Protection protection) noexcept;

// Who speaks.
struct HandshakeSelf {
  wire::Role role = wire::Role::rank;
  PeerId id = no_peer;
  std::uint16_t incarnation = 0;
  std::uint64_t run_id = any_run;
  std::uint64_t features = 0;
  std::uint16_t lowest_version = lowest_protocol_version;
  std::uint16_t highest_version = highest_protocol_version;
};

// Whom the initiator means.
struct HandshakeTarget {
  PeerId id = hub_peer;
  std::uint16_t incarnation = any_incarnation;
};

// What is known of the peer once it has proven the secret.
struct HandshakePeer {
  wire::Role role = wire::Role::rank;
  wire::ByteOrder byte_order = wire::ByteOrder::little;
  PeerId id = no_peer;
  std::uint16_t incarnation = 0;
  std::uint64_t run_id = any_run;
  std::uint16_t version = 0;                 // agreed
  std::uint64_t features = 0;                // of the peer
  Protection protection = Protection::none;  // agreed: the stronger of both demands
  bool aes256_gcm = false;                   // both have AES-256-GCM
  bool cma = false;                          // both allow it
  bool same_byte_order = true;
  SecretBytes send_key;  // of this connection, one for each direction
  SecretBytes receive_key;
};

// talking: move bytes. deciding (accepting end only): peer() is known and proven; answer with accept() or refuse().
// done: the next byte in either direction belongs to the lane. failed: send what output() still has, then close.
enum class HandshakeState : std::uint8_t { talking, deciding, done, failed };

class Handshake {
 public:
  // name: of the other end, for sentences: "program 'ocean' rank 1", "a connection from 10.0.0.7".
  static Handshake initiate(const Secret& secret, const HandshakeSelf& self, const HandshakeTarget& target,
                            std::string name, const Ephemeral& ephemeral = fresh_ephemeral());
  static Handshake accept(const Secret& secret, const HandshakeSelf& self, std::string name,
                          const Ephemeral& ephemeral = fresh_ephemeral());

  [[nodiscard]] HandshakeState state() const noexcept { return state_; }
  // Why it failed: authentication, version (names both ranges), protocol, or what the peer's refuse() was given.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // In deciding and done.
  [[nodiscard]] const HandshakePeer& peer() const noexcept { return peer_; }

  // What is to be sent now; sent() says how much of it went.
  [[nodiscard]] std::span<const std::byte> output() const noexcept { return std::span(output_).subspan(output_taken_); }
  void sent(std::size_t bytes) noexcept;
  // How many bytes are needed next, at most: read no more from the socket, what follows is not the handshake's. 0:
  // none.
  [[nodiscard]] std::size_t wanted() const noexcept;
  // Takes bytes and returns how many were used (never more than the handshake's).
  std::size_t input(std::span<const std::byte> bytes);

  // While deciding. refuse: `why` is an error and is told to the peer, who knows the secret (exists: a duplicate).
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
  bool initiator_;
  HandshakeState state_ = HandshakeState::talking;
  wire::HandshakeMessage expected_;
  std::vector<std::byte> input_;  // of the message that is being read
  std::vector<std::byte> output_;
  std::size_t output_taken_ = 0;
  std::vector<std::byte> transcript_;  // hello and challenge with their hashes
  Status failure_;
  HandshakePeer peer_;
};

// Both ends of a pair may connect at once: does the connection that `initiator` has opened to `acceptor` survive when
// the acceptor has opened one, too?
[[nodiscard]] constexpr bool connection_wins(PeerId initiator, PeerId acceptor) noexcept {
  return initiator < acceptor;
}

}  // namespace couplet::channel
