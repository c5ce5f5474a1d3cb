#include "wire/seal.hpp"

#include <sodium.h>

#include "base/assert.hpp"

namespace couplet::wire {
namespace {

constexpr std::size_t nonce_bytes = 12;
static_assert(crypto_aead_aes256gcm_NPUBBYTES == nonce_bytes &&
              crypto_aead_chacha20poly1305_ietf_NPUBBYTES == nonce_bytes);
static_assert(crypto_aead_aes256gcm_KEYBYTES == seal_key_bytes &&
              crypto_aead_chacha20poly1305_ietf_KEYBYTES == seal_key_bytes);
static_assert(crypto_aead_aes256gcm_ABYTES == record_tag_bytes &&
              crypto_aead_chacha20poly1305_ietf_ABYTES == record_tag_bytes);

const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}

void store_length(std::byte* prefix, std::size_t length) noexcept {
  for (std::size_t index = 0; index < record_prefix_bytes; ++index) {
    prefix[index] = static_cast<std::byte>(length >> (8 * index));
  }
}

std::size_t load_length(const std::byte* prefix) noexcept {
  std::size_t length = 0;
  for (std::size_t index = 0; index < record_prefix_bytes; ++index) {
    length |= std::to_integer<std::size_t>(prefix[index]) << (8 * index);
  }
  return length;
}

}  // namespace

bool cipher_available(Cipher cipher) {
  if (sodium_init() < 0) {
    return false;
  }
  return cipher == Cipher::chacha20_poly1305 ||
         (cipher == Cipher::aes256_gcm && crypto_aead_aes256gcm_is_available() == 1);
}

struct RecordSeal::State {
  crypto_aead_aes256gcm_state aes;  // first: it wants 16-byte alignment
  Cipher cipher = Cipher::chacha20_poly1305;
  SealKey key{};
  std::uint64_t records = 0;

  [[nodiscard]] std::array<unsigned char, nonce_bytes> next_nonce() noexcept {
    std::array<unsigned char, nonce_bytes> nonce{};
    for (std::size_t index = 0; index < sizeof records; ++index) {
      nonce[index] = static_cast<unsigned char>(records >> (8 * index));
    }
    ++records;
    return nonce;
  }
};

RecordSeal::RecordSeal(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordSeal::~RecordSeal() {
  sodium_memzero(state_.get(), sizeof *state_);
}

Result<std::unique_ptr<RecordSeal>> RecordSeal::make(Cipher cipher, const SealKey& key) {
  if (!cipher_available(cipher)) {
    return fail(Code::unsupported, "this processor cannot encrypt with cipher {}", static_cast<int>(cipher));
  }
  auto state = std::make_unique<State>();
  state->cipher = cipher;
  state->key = key;
  if (cipher == Cipher::aes256_gcm) {
    crypto_aead_aes256gcm_beforenm(&state->aes, key.data());
  }
  return std::unique_ptr<RecordSeal>(new RecordSeal(std::move(state)));
}

std::size_t RecordSeal::seal(std::span<const std::byte> plain, std::byte* record) noexcept {
  COUPLET_ASSERT(!plain.empty() && plain.size() <= record_plain_bytes);
  const auto nonce = state_->next_nonce();
  store_length(record, plain.size() + record_tag_bytes);
  std::byte* const body = record + record_prefix_bytes;
  unsigned long long sealed = 0;
  if (state_->cipher == Cipher::aes256_gcm) {
    crypto_aead_aes256gcm_encrypt_afternm(raw(body), &sealed, raw(plain.data()), plain.size(), raw(record),
                                          record_prefix_bytes, nullptr, nonce.data(), &state_->aes);
  } else {
    crypto_aead_chacha20poly1305_ietf_encrypt(raw(body), &sealed, raw(plain.data()), plain.size(), raw(record),
                                              record_prefix_bytes, nullptr, nonce.data(), state_->key.data());
  }
  return record_prefix_bytes + static_cast<std::size_t>(sealed);
}

Result<std::size_t> RecordSeal::record_length(std::span<const std::byte> bytes) {
  if (bytes.size() < record_prefix_bytes) {
    return std::size_t{0};
  }
  const std::size_t length = load_length(bytes.data());
  if (length <= record_tag_bytes || length > record_bytes - record_prefix_bytes) {
    return fail(Code::protocol, "an encrypted record of {} bytes", length);
  }
  return record_prefix_bytes + length;
}

Result<std::size_t> RecordSeal::open(std::span<const std::byte> record, std::byte* plain) {
  COUPLET_ASSERT(record.size() > record_prefix_bytes + record_tag_bytes && record.size() <= record_bytes);
  const std::uint64_t number = state_->records;
  const auto nonce = state_->next_nonce();
  const auto body = record.subspan(record_prefix_bytes);
  unsigned long long opened = 0;
  int answer = 0;
  if (state_->cipher == Cipher::aes256_gcm) {
    answer = crypto_aead_aes256gcm_decrypt_afternm(raw(plain), &opened, nullptr, raw(body.data()), body.size(),
                                                   raw(record.data()), record_prefix_bytes, nonce.data(), &state_->aes);
  } else {
    answer = crypto_aead_chacha20poly1305_ietf_decrypt(raw(plain), &opened, nullptr, raw(body.data()), body.size(),
                                                       raw(record.data()), record_prefix_bytes, nonce.data(),
                                                       state_->key.data());
  }
  if (answer != 0) {
    return fail(Code::protocol, "encrypted record {} was changed, lost or repeated on the way", number);
  }
  return static_cast<std::size_t>(opened);
}

}  // namespace couplet::wire
