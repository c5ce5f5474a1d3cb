#include "channel/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.hpp"

namespace couplet::channel {

namespace {

using wire::HandshakeMessage;

constexpr std::string_view label_hello = "couplet hello";
constexpr std::string_view label_challenge = "couplet challenge";
constexpr std::string_view label_proof = "couplet proof";
constexpr std::string_view label_verdict = "couplet verdict";
constexpr std::string_view label_key_to_acceptor = "couplet key to acceptor";
constexpr std::string_view label_key_to_initiator = "couplet key to initiator";

constexpr wire::ByteOrder own_byte_order =
    std::endian::native == std::endian::little ? wire::ByteOrder::little : wire::ByteOrder::big;

[[nodiscard]] const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

[[nodiscard]] bool length_possible(const wire::HandshakePrefix& prefix) noexcept {
  switch (prefix.message) {
    case HandshakeMessage::hello:
    case HandshakeMessage::challenge:
      return prefix.bytes == wire::handshake_hello_bytes;
    case HandshakeMessage::proof:
      return prefix.bytes == wire::handshake_proof_bytes;
    case HandshakeMessage::verdict:
      return prefix.bytes >= wire::handshake_verdict_bytes && prefix.bytes <= wire::handshake_most_bytes;
    case HandshakeMessage::refused:
      return prefix.bytes == wire::handshake_prefix_bytes;
  }
  return false;
}

// Turns the code in a peer's refusal into a code of this library.
[[nodiscard]] Code refusal_code(std::int32_t code) noexcept {
  const bool known = code < 0 && std::string_view(code_name(code)) != "unknown";
  return known ? static_cast<Code>(code) : Code::protocol;
}

}  // namespace

std::string_view protection_name(Protection protection) noexcept {
  switch (protection) {
    case Protection::none:
      return "none";
    case Protection::authenticated:
      return "authenticated";
    case Protection::encrypted:
      break;
  }
  return "encrypted";
}

std::uint64_t features_of(Protection protection) noexcept {
  switch (protection) {
    case Protection::none:
      return 0;
    case Protection::authenticated:
      return feature_authentication;
    case Protection::encrypted:
      break;
  }
  return feature_encryption;
}

Ephemeral fresh_ephemeral() noexcept {
  COUPLET_ASSERT(sodium_init() >= 0);
  Ephemeral ephemeral;
  randombytes_buf(ephemeral.nonce.data(), ephemeral.nonce.size());
  randombytes_buf(ephemeral.private_key.bytes().data(), ephemeral.private_key.bytes().size());
  return ephemeral;
}

Handshake::Handshake(const Secret& secret, const HandshakeSelf& self, std::string name, const Ephemeral& ephemeral,
                     bool initiator)
    : secret_(secret),
      self_(self),
      name_(std::move(name)),
      ephemeral_(ephemeral),
      identities_(self.credentials),
      initiator_(initiator),
      expected_(initiator ? HandshakeMessage::challenge : HandshakeMessage::hello) {
  COUPLET_ASSERT(sodium_init() >= 0);
}

Handshake Handshake::initiate(const Secret& secret, const HandshakeSelf& self, const HandshakeTarget& target,
                              std::string name, const Ephemeral& ephemeral) {
  Handshake handshake(secret, self, std::move(name), ephemeral, true);
  handshake.target_ = target;
  auto hello = wire::encode_hello(handshake.own_hello(target.id, target.incarnation), HandshakeMessage::hello);
  handshake.sign(hello, label_hello);
  handshake.transcript_ = hello;
  handshake.queue(std::move(hello));
  return handshake;
}

Handshake Handshake::accept(const Secret& secret, const HandshakeSelf& self, std::string name,
                            const Ephemeral& ephemeral) {
  return {secret, self, std::move(name), ephemeral, false};
}

wire::HandshakeHello Handshake::own_hello(PeerId target, std::uint16_t target_incarnation) const {
  wire::HandshakeHello hello;
  hello.byte_order = own_byte_order;
  hello.role = self_.role;
  hello.lowest_version = self_.lowest_version;
  hello.highest_version = self_.highest_version;
  hello.source_incarnation = self_.incarnation;
  hello.run_id = self_.run_id;
  hello.features = self_.features;
  hello.source = self_.id;
  hello.target = target;
  hello.target_incarnation = target_incarnation;
  hello.nonce = ephemeral_.nonce;
  static_assert(wire::handshake_key_bytes == crypto_scalarmult_BYTES && secret_bytes == crypto_scalarmult_SCALARBYTES);
  crypto_scalarmult_base(hello.ephemeral_key.data(), ephemeral_.private_key.bytes().data());
  if (self_.credentials) {
    hello.ticket = self_.credentials->ticket;
  }
  return hello;
}

// ---- bytes in and out

void Handshake::queue(std::vector<std::byte> message) {
  output_.insert(output_.end(), message.begin(), message.end());
}

void Handshake::sent(std::size_t bytes) noexcept {
  COUPLET_ASSERT(bytes <= output_.size() - output_taken_);
  output_taken_ += bytes;
}

std::size_t Handshake::wanted() const noexcept {
  if (state_ != HandshakeState::talking) {
    return 0;
  }
  if (input_.size() < wire::handshake_prefix_bytes) {
    return wire::handshake_prefix_bytes - input_.size();
  }
  const auto prefix = wire::decode_prefix(std::span(input_).first<wire::handshake_prefix_bytes>());
  return prefix.bytes - input_.size();
}

std::size_t Handshake::input(std::span<const std::byte> bytes) {
  std::size_t used = 0;
  while (state_ == HandshakeState::talking && used < bytes.size()) {
    const std::size_t count = std::min(wanted(), bytes.size() - used);
    input_.insert(input_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(used),
                  bytes.begin() + static_cast<std::ptrdiff_t>(used + count));
    used += count;
    if (input_.size() <= wire::handshake_prefix_bytes) {
      check_prefix();
    }
    if (state_ == HandshakeState::talking && wanted() == 0) {
      take_message();
      input_.clear();
    }
  }
  return used;
}

// A process that does not speak this protocol is recognised by its first bytes, and gets no answer.
void Handshake::check_prefix() {
  const std::size_t known = std::min(input_.size(), wire::handshake_magic.size());
  if (std::memcmp(input_.data(), wire::handshake_magic.data(), known) != 0) {
    return fail(Code::protocol, "it does not speak this protocol");
  }
  if (input_.size() < wire::handshake_prefix_bytes) {
    return;
  }
  const auto prefix = wire::decode_prefix(std::span(input_).first<wire::handshake_prefix_bytes>());
  if (prefix.layout != wire::handshake_layout) {
    return fail(Code::version, fmt::format("it uses layout {} of the handshake, this program uses layout {}",
                                           prefix.layout, wire::handshake_layout));
  }
  const bool refused = prefix.message == HandshakeMessage::refused && (initiator_ || !transcript_.empty());
  if ((prefix.message != expected_ && !refused) || !length_possible(prefix)) {
    return fail(Code::protocol, "it sent a message that does not belong at this place of the handshake");
  }
}

void Handshake::take_message() {
  const auto prefix = wire::decode_prefix(std::span(input_).first<wire::handshake_prefix_bytes>());
  switch (prefix.message) {
    case HandshakeMessage::hello:
      return take_hello();
    case HandshakeMessage::challenge:
      return take_challenge();
    case HandshakeMessage::proof:
      return take_proof();
    case HandshakeMessage::verdict:
      return take_verdict();
    case HandshakeMessage::refused:
      return not_authentic(false);
  }
}

// ---- hashes: keyed with the secret, over the label, all earlier messages, and the message without its last 32 bytes

wire::HandshakeMac Handshake::mac(std::string_view label, std::span<const std::byte> message) const {
  wire::HandshakeMac result;
  crypto_generichash_state state;
  const auto label_bytes = static_cast<unsigned char>(label.size());
  const auto& key = secret_.bytes();
  crypto_generichash_init(&state, key.data(), key.size(), result.size());
  crypto_generichash_update(&state, &label_bytes, 1);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(label.data()), label.size());
  crypto_generichash_update(&state, raw(transcript_.data()), transcript_.size());
  crypto_generichash_update(&state, raw(message.data()), message.size());
  crypto_generichash_final(&state, result.data(), result.size());
  sodium_memzero(&state, sizeof(state));
  return result;
}

void Handshake::sign(std::vector<std::byte>& message, std::string_view label) const {
  const std::size_t signed_bytes = message.size() - wire::handshake_mac_bytes;
  const auto hash = mac(label, std::span(message).first(signed_bytes));
  std::memcpy(message.data() + signed_bytes, hash.data(), hash.size());
}

bool Handshake::signature_right(std::string_view label) const {
  const std::size_t signed_bytes = input_.size() - wire::handshake_mac_bytes;
  const auto hash = mac(label, std::span(input_).first(signed_bytes));
  return sodium_memcmp(hash.data(), input_.data() + signed_bytes, hash.size()) == 0;
}

// ---- the accepting end

void Handshake::take_hello() {
  if (!signature_right(label_hello)) {
    return not_authentic(true);
  }
  const auto hello = wire::decode_hello(std::span<const std::byte, wire::handshake_hello_bytes>(input_));
  fill_peer(hello);
  transcript_ = input_;
  auto challenge = wire::encode_hello(own_hello(hello.source, hello.source_incarnation), HandshakeMessage::challenge);
  sign(challenge, label_challenge);
  transcript_.insert(transcript_.end(), challenge.begin(), challenge.end());
  queue(std::move(challenge));
  expected_ = HandshakeMessage::proof;
}

void Handshake::take_proof() {
  if (!signature_right(label_proof)) {
    return not_authentic(true);
  }
  const auto hello = wire::decode_hello(std::span(transcript_).first<wire::handshake_hello_bytes>());
  Status status = check_peer(hello);
  if (status.ok() && (hello.target != self_.id ||
                      (hello.target_incarnation != self_.incarnation && hello.target_incarnation != any_incarnation))) {
    status = couplet::fail(Code::mismatch, "it wants to reach {} (incarnation {}), but this is {} (incarnation {})",
                           peer_text(hello.target), hello.target_incarnation, peer_text(self_.id), self_.incarnation);
  }
  if (status.ok() && self_.id != no_peer && hello.source == self_.id) {
    status = couplet::fail(Code::exists, "it presents itself as {}, which is this process", peer_text(self_.id));
  }
  identities_.meet(hello.ticket);
  if (status.ok()) {
    status = identities_.check_ticket(hello);
  }
  if (status.ok()) {
    status = identities_.check_proof(hello, Identities::Side::caller, transcript_, wire::identity_part(input_));
  }
  if (!make_keys(hello)) {
    return;
  }
  state_ = HandshakeState::deciding;
  if (!status.ok()) {
    refuse(status);
  }
}

void Handshake::accept_peer() {
  COUPLET_ASSERT(state_ == HandshakeState::deciding);
  auto verdict = wire::encode_verdict(0, "");
  identities_.prove(Identities::Side::called, transcript_, wire::identity_part(verdict));
  sign(verdict, label_verdict);
  queue(std::move(verdict));
  transcript_ = {};  // the hub keeps an object for each member
  state_ = HandshakeState::done;
}

void Handshake::refuse(const Status& why) {
  COUPLET_ASSERT(state_ == HandshakeState::deciding && why.error());
  auto verdict = wire::encode_verdict(static_cast<std::int32_t>(why.code()), why.text());
  sign(verdict, label_verdict);
  queue(std::move(verdict));
  fail(why.code(), why.text());
}

// ---- the initiating end

void Handshake::take_challenge() {
  if (!signature_right(label_challenge)) {
    return not_authentic(true);
  }
  const auto challenge = wire::decode_hello(std::span<const std::byte, wire::handshake_hello_bytes>(input_));
  transcript_.insert(transcript_.end(), input_.begin(), input_.end());
  fill_peer(challenge);
  if (!make_keys(challenge)) {
    return;
  }
  identities_.meet(challenge.ticket);
  auto proof = wire::encode_proof();
  identities_.prove(Identities::Side::caller, transcript_, wire::identity_part(proof));
  sign(proof, label_proof);
  // Sent even if this end gives up now: the other end finds out by itself why.
  queue(std::move(proof));
  expected_ = HandshakeMessage::verdict;
  Status status = check_peer(challenge);
  if (status.ok() && (challenge.source != target_.id || (challenge.source_incarnation != target_.incarnation &&
                                                         target_.incarnation != any_incarnation))) {
    status = couplet::fail(Code::mismatch, "{} (incarnation {}) was dialed, but {} (incarnation {}) answers",
                           peer_text(target_.id), target_.incarnation, peer_text(challenge.source),
                           challenge.source_incarnation);
  }
  if (status.ok()) {
    status = identities_.check_ticket(challenge);
  }
  if (!status.ok()) {
    fail(status.code(), status.text());
  }
}

void Handshake::take_verdict() {
  if (!signature_right(label_verdict)) {
    return not_authentic(false);
  }
  const auto verdict = wire::decode_verdict(input_);
  if (verdict.code != 0) {
    return fail(refusal_code(verdict.code), "the connection was refused: " + verdict.reason);
  }
  const auto challenge = wire::decode_hello(std::span(transcript_).last<wire::handshake_hello_bytes>());
  if (const auto status =
          identities_.check_proof(challenge, Identities::Side::called, transcript_, wire::identity_part(input_));
      !status.ok()) {
    return fail(status.code(), status.text());
  }
  state_ = HandshakeState::done;
}

// ---- what both ends find out about each other

void Handshake::fill_peer(const wire::HandshakeHello& hello) {
  peer_.role = hello.role;
  peer_.byte_order = hello.byte_order;
  peer_.id = hello.source;
  peer_.incarnation = hello.source_incarnation;
  peer_.run_id = hello.run_id;
  peer_.version = std::min(hello.highest_version, self_.highest_version);
  peer_.features = hello.features;
  const std::uint64_t both = hello.features & self_.features;
  const std::uint64_t either = hello.features | self_.features;
  peer_.protection = (either & feature_encryption) != 0       ? Protection::encrypted
                     : (either & feature_authentication) != 0 ? Protection::authenticated
                                                              : Protection::none;
  peer_.aes256_gcm = (both & feature_aes256_gcm) != 0;
  peer_.cma = (both & feature_cma) != 0;
  peer_.same_byte_order = hello.byte_order == own_byte_order;
  peer_.key = hello.ticket.key;
}

Status Handshake::check_peer(const wire::HandshakeHello& hello) {
  if (peer_.version < std::max(hello.lowest_version, self_.lowest_version)) {
    return couplet::fail(Code::version, "the caller speaks protocol versions {} to {}, the called program {} to {}",
                         initiator_ ? self_.lowest_version : hello.lowest_version,
                         initiator_ ? self_.highest_version : hello.highest_version,
                         initiator_ ? hello.lowest_version : self_.lowest_version,
                         initiator_ ? hello.highest_version : self_.highest_version);
  }
  if (hello.byte_order != wire::ByteOrder::little && hello.byte_order != wire::ByteOrder::big) {
    return couplet::fail(Code::protocol, "byte order {} does not exist", static_cast<int>(hello.byte_order));
  }
  if (hello.role < wire::Role::rank || hello.role > wire::Role::tool) {
    return couplet::fail(Code::protocol, "role {} does not exist", static_cast<int>(hello.role));
  }
  if (hello.run_id != self_.run_id && hello.run_id != any_run && self_.run_id != any_run) {
    return couplet::fail(Code::mismatch, "the caller belongs to run {:016x}, the called program to run {:016x}",
                         initiator_ ? self_.run_id : hello.run_id, initiator_ ? hello.run_id : self_.run_id);
  }
  return {};
}

// Derives the session keys from the shared value of the two ephemeral keys, and wipes the private key. Returns false if
// the peer's public key gives the same shared value with every private key: the handshake has then failed.
bool Handshake::make_keys(const wire::HandshakeHello& hello) {
  SecretBytes shared;
  const int answer =
      crypto_scalarmult(shared.bytes().data(), ephemeral_.private_key.bytes().data(), hello.ephemeral_key.data());
  ephemeral_.private_key.wipe();
  if (answer != 0) {
    peer_ = HandshakePeer();
    fail(Code::protocol, "its ephemeral key is not valid");
    return false;
  }
  const auto shared_bytes = std::as_bytes(std::span(shared.bytes()));
  const SecretBytes to_acceptor(mac(label_key_to_acceptor, shared_bytes));
  const SecretBytes to_initiator(mac(label_key_to_initiator, shared_bytes));
  peer_.send_key = initiator_ ? to_acceptor : to_initiator;
  peer_.receive_key = initiator_ ? to_initiator : to_acceptor;
  return true;
}

void Handshake::fail(Code code, std::string_view text) {
  state_ = HandshakeState::failed;
  failure_ = couplet::fail(code, "handshake with {}: {}", name_, text);
}

void Handshake::not_authentic(bool tell) {
  if (tell) {
    queue(wire::encode_refused());
  }
  peer_ = HandshakePeer();
  fail(Code::authentication, "the two processes do not have the same secret; give both the same COUPLET_SECRET_FILE");
}

}  // namespace couplet::channel
