// The handshake, both ends, against a peer that does not know the secret (raw bytes; a real conversation with bytes
// changed on the way), and against a member that signs invalid content.
#include "channel/handshake.hpp"

#include <sodium.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "fuzzing.hpp"

using namespace couplet;
using channel::Handshake;
using channel::HandshakeState;

using fuzzing::demand;

namespace {

const channel::Secret secret{std::array<std::uint8_t, channel::secret_bytes>{1, 2, 3}};

channel::Ephemeral ephemeral_of(std::uint8_t byte) {
  channel::Ephemeral ephemeral;
  ephemeral.nonce[0] = byte;
  ephemeral.private_key.bytes().fill(byte);
  return ephemeral;
}

// The process with this number, with a ticket of the hub.
channel::HandshakeSelf rank(channel::PeerId id) {
  static const channel::HubKey hub{secret};
  channel::Credentials credentials;
  credentials.private_key.bytes().fill(static_cast<std::uint8_t>(id));
  auto& ticket = credentials.ticket;
  crypto_scalarmult_base(ticket.key.data(), credentials.private_key.bytes().data());
  ticket.peer = id;
  ticket.is_signed = true;
  ticket.signature = hub.sign(id, 0, ticket.key);
  credentials.hub_key = hub.public_key();
  return {.id = id, .run_id = 77, .credentials = std::make_shared<const channel::Credentials>(credentials)};
}

Handshake caller() {
  static const auto self = rank(3);
  return Handshake::initiate(secret, self, {.id = 8}, "rank 8", ephemeral_of(1));
}
Handshake called() {
  static const auto self = rank(8);
  return Handshake::accept(secret, self, "a connection", ephemeral_of(2));
}

std::vector<std::byte> output_of(Handshake& handshake) {
  std::vector<std::byte> bytes(handshake.output().begin(), handshake.output().end());
  handshake.sent(bytes.size());
  return bytes;
}

void feed(Handshake& handshake, std::span<const std::byte> bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(piece, bytes.size());
    const std::size_t used = handshake.input(bytes.first(count));
    demand(used <= count);
    if (used < count) {
      demand(handshake.state() != HandshakeState::talking);
      return;
    }
    bytes = bytes.subspan(count);
  }
}

// A peer without the secret does not get in, and learns nothing.
void raw_bytes(Handshake handshake, std::span<const std::byte> bytes, std::size_t piece) {
  feed(handshake, bytes, piece);
  demand(handshake.state() == HandshakeState::talking || handshake.state() == HandshakeState::failed);
  demand(handshake.wanted() <= wire::handshake_most_bytes);
}

// Message `which` of a good conversation is changed by `changes`.
void changed_conversation(std::span<const std::byte> changes, std::size_t which, std::size_t piece) {
  auto first = caller();
  auto second = called();
  bool changed = false;
  for (std::size_t message = 0; message < 4; ++message) {
    auto& from = message % 2 == 0 ? first : second;
    auto& to = message % 2 == 0 ? second : first;
    if (second.state() == HandshakeState::deciding) {
      second.accept_peer();
    }
    auto bytes = output_of(from);
    for (std::size_t index = 0; message == which && index < std::min(bytes.size(), changes.size()); ++index) {
      bytes[index] ^= changes[index];
      changed = changed || changes[index] != std::byte{0};
    }
    feed(to, bytes, piece);
    if (changed && message == which) {
      demand(to.state() == HandshakeState::failed || to.state() == HandshakeState::talking);
    }
  }
  demand(changed || (first.state() == HandshakeState::done && second.state() == HandshakeState::done));
}

// A peer that knows the secret sends any content in its hello.
void signed_nonsense(std::span<const std::byte> fields, std::size_t piece) {
  auto hello = wire::encode_hello({.byte_order = wire::ByteOrder::little}, wire::HandshakeMessage::hello);
  for (std::size_t index = 0; index < std::min(fields.size(), wire::handshake_hello_bytes - 40); ++index) {
    hello[8 + index] = fields[index];
  }
  const auto sign = [](std::string_view label, std::span<const std::byte> said, std::span<std::byte> message) {
    crypto_generichash_state state;
    const auto length = static_cast<unsigned char>(label.size());
    crypto_generichash_init(&state, secret.bytes().data(), secret.bytes().size(), 32);
    crypto_generichash_update(&state, &length, 1);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(label.data()), label.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(said.data()), said.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(message.data()), message.size() - 32);
    crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(message.last(32).data()), 32);
  };
  sign("couplet hello", {}, hello);
  auto second = called();
  feed(second, hello, piece);
  auto said = hello;
  const auto challenge = output_of(second);
  demand(challenge.size() == wire::handshake_hello_bytes);
  said.insert(said.end(), challenge.begin(), challenge.end());
  auto proof = wire::encode_proof();
  sign("couplet proof", said, proof);
  feed(second, proof, piece);
  demand(second.state() == HandshakeState::deciding || second.state() == HandshakeState::failed);
  if (second.state() == HandshakeState::deciding) {
    demand(second.peer().version == 1 && second.peer().role >= wire::Role::rank &&
           second.peer().role <= wire::Role::tool);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || sodium_init() < 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(2);
  const std::size_t piece = data[1] == 0 ? 1 : data[1];
  switch (data[0] % 8) {
    case 0:
      raw_bytes(caller(), bytes, piece);
      break;
    case 1:
      raw_bytes(called(), bytes, piece);
      break;
    case 2:
      signed_nonsense(bytes, piece);
      break;
    default:
      changed_conversation(bytes, data[0] % 4, piece);
  }
  return 0;
}
