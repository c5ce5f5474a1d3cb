#include "channel/identity.hpp"

#include <sodium.h>

#include <algorithm>

#include "base/assert.hpp"

namespace couplet::channel {
namespace {

constexpr std::string_view label_run = "couplet run";
constexpr std::string_view label_ticket = "couplet ticket";

static_assert(sizeof(PublicKey) == crypto_sign_PUBLICKEYBYTES && sizeof(PublicKey) == crypto_scalarmult_BYTES);
static_assert(sizeof(Signature) == crypto_sign_BYTES && secret_bytes == crypto_sign_SEEDBYTES);

// What the hub signs: the label, the run (8 bytes), the peer (4), the incarnation (2), and the key.
using Statement = std::array<std::uint8_t, label_ticket.size() + 14 + sizeof(PublicKey)>;

template <typename Number>
std::uint8_t* put(std::uint8_t* at, Number number) noexcept {
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    *at++ = static_cast<std::uint8_t>(number >> (8 * index));
  }
  return at;
}

Statement statement(std::uint64_t run_id, PeerId peer, std::uint16_t incarnation, const PublicKey& key) noexcept {
  Statement bytes{};
  auto* at = std::copy(label_ticket.begin(), label_ticket.end(), bytes.data());
  at = put(at, run_id);
  at = put(at, peer);
  at = put(at, incarnation);
  std::copy(key.begin(), key.end(), at);
  return bytes;
}

// The form in which libsodium takes a key of Ed25519: the seed, and then the public key.
struct SigningKey {
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> bytes{};
  SigningKey(const SecretBytes& seed, const PublicKey& public_key) noexcept {
    std::copy(public_key.begin(), public_key.end(), std::copy_n(seed.bytes().begin(), secret_bytes, bytes.begin()));
  }
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;
  ~SigningKey() { sodium_memzero(bytes.data(), bytes.size()); }
};

}  // namespace

Credentials fresh_credentials() noexcept {
  Credentials credentials;
  credentials.private_key = random_secret();
  credentials.ticket.peer = no_peer;
  crypto_scalarmult_base(credentials.ticket.key.data(), credentials.private_key.bytes().data());
  return credentials;
}

std::uint64_t run_of(const PublicKey& hub_key) noexcept {
  std::array<std::uint8_t, 32> hash{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, hash.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(label_run.data()), label_run.size());
  crypto_generichash_update(&state, hub_key.data(), hub_key.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  std::uint64_t run = 0;
  for (std::size_t index = 0; index < sizeof run; ++index) {
    run |= std::uint64_t{hash[index]} << (8 * index);
  }
  return run == any_run ? 1 : run;
}

bool is_signed_by(const PublicKey& hub_key, std::uint64_t run_id, const wire::Ticket& ticket) noexcept {
  const auto signed_bytes = statement(run_id, ticket.peer, ticket.incarnation, ticket.key);
  return ticket.is_signed && crypto_sign_verify_detached(ticket.signature.data(), signed_bytes.data(),
                                                         signed_bytes.size(), hub_key.data()) == 0;
}

std::optional<SecretBytes> shared_value(const SecretBytes& private_key, const PublicKey& peer) noexcept {
  SecretBytes shared;
  if (crypto_scalarmult(shared.bytes().data(), private_key.bytes().data(), peer.data()) != 0) {
    return std::nullopt;
  }
  return shared;
}

std::optional<PublicKey> exchange_key_of_hub(const PublicKey& hub_key) noexcept {
  PublicKey key{};
  if (crypto_sign_ed25519_pk_to_curve25519(key.data(), hub_key.data()) != 0) {
    return std::nullopt;
  }
  return key;
}

HubKey::HubKey(const SecretBytes& seed) noexcept : seed_(seed) {
  COUPLET_ASSERT(sodium_init() >= 0);
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> both{};
  crypto_sign_seed_keypair(public_key_.data(), both.data(), seed_.bytes().data());
  sodium_memzero(both.data(), both.size());
}

Signature HubKey::sign(PeerId peer, std::uint16_t incarnation, const PublicKey& key) const noexcept {
  const SigningKey signing(seed_, public_key_);
  const auto bytes = statement(run_id(), peer, incarnation, key);
  Signature signature{};
  crypto_sign_detached(signature.data(), nullptr, bytes.data(), bytes.size(), signing.bytes.data());
  return signature;
}

SharedCredentials HubKey::credentials() const {
  auto made = std::make_shared<Credentials>();
  const SigningKey signing(seed_, public_key_);
  crypto_sign_ed25519_sk_to_curve25519(made->private_key.bytes().data(), signing.bytes.data());
  made->ticket.peer = hub_peer;
  made->ticket.key = public_key_;
  made->hub_key = public_key_;
  return made;
}

}  // namespace couplet::channel
