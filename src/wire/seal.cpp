#include "wire/seal.hpp"

#include <openssl/evp.h>
#include <sodium.h>

#include <cstring>
#include <string_view>

#include "base/assert.hpp"

namespace couplet::wire {
namespace {

// libcrypto's AES is more than twice as fast as libsodium's, but needs 60 ns more for each record to begin.
constexpr std::size_t max_short_plain_bytes = 256;
constexpr std::string_view label_next_key = "couplet next key";

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

const EVP_CIPHER* algorithm_of(Cipher cipher) noexcept {
  return cipher == Cipher::chacha20_poly1305 ? EVP_chacha20_poly1305() : EVP_aes_256_gcm();
}

bool is_offered(Cipher cipher) noexcept {
  EVP_CIPHER* const found = EVP_CIPHER_fetch(nullptr, EVP_CIPHER_get0_name(algorithm_of(cipher)), nullptr);
  EVP_CIPHER_free(found);
  return found != nullptr;
}

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};

}  // namespace

bool cipher_available(Cipher cipher) {
  if (sodium_init() < 0) {
    return false;
  }
  const bool aes = cipher == Cipher::aes256_gcm || cipher == Cipher::aes256_gmac;
  return cipher == Cipher::chacha20_poly1305 || (aes && crypto_aead_aes256gcm_is_available() == 1);
}

// The calls of libcrypto below can fail only if there is no memory, and the first use of the context has allocated it.
// Their results are asserted, since going on without encryption is not acceptable.
struct RecordSeal::State {
  crypto_aead_aes256gcm_state short_records{};  // first, since it is aligned to 16 bytes
  std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context;
  Cipher cipher = Cipher::chacha20_poly1305;
  SealKey key{};
  std::uint64_t records = 0;
  std::uint64_t key_lifetime = records_per_key;

  ~State() {
    sodium_memzero(key.data(), key.size());
    sodium_memzero(&short_records, sizeof short_records);
  }

  [[nodiscard]] bool use_key(bool encrypt) noexcept {
    if (cipher == Cipher::aes256_gcm) {
      crypto_aead_aes256gcm_beforenm(&short_records, key.data());
    }
    return EVP_CipherInit_ex(context.get(), nullptr, nullptr, key.data(), nullptr, encrypt ? 1 : 0) == 1;
  }
  // Replaces the key by the next one, from which this one cannot be computed.
  void replace_key() noexcept {
    SealKey next;
    crypto_generichash(next.data(), next.size(), reinterpret_cast<const unsigned char*>(label_next_key.data()),
                       label_next_key.size(), key.data(), key.size());
    key = next;
    sodium_memzero(next.data(), next.size());
  }
  // Uses the key of the next record, and returns the record's nonce, which is its number.
  [[nodiscard]] Nonce begin(bool encrypt) noexcept {
    const bool renew = records != 0 && records % key_lifetime == 0;
    if (renew) {
      replace_key();
    }
    if (renew || records == 0) {
      COUPLET_ASSERT(use_key(encrypt));
    }
    Nonce nonce{};
    for (std::size_t index = 0; index < sizeof records; ++index) {
      nonce[index] = static_cast<unsigned char>(records >> (8 * index));
    }
    ++records;
    return nonce;
  }
  [[nodiscard]] bool is_short(std::size_t plain_bytes) const noexcept {
    return cipher == Cipher::aes256_gcm && plain_bytes <= max_short_plain_bytes;
  }
  void begin_long(const Nonce& nonce, bool encrypt) noexcept {
    COUPLET_ASSERT(EVP_CipherInit_ex(context.get(), nullptr, nullptr, nullptr, nonce.data(), encrypt ? 1 : 0) == 1);
  }
  // Adds bytes that are authenticated and not encrypted.
  void authenticate(std::span<const std::byte> bytes) noexcept {
    int length = 0;
    COUPLET_ASSERT(
        EVP_CipherUpdate(context.get(), nullptr, &length, raw(bytes.data()), static_cast<int>(bytes.size())) == 1);
  }
  // Moves the text through the cipher. If it is only authenticated, it is not changed.
  void pass(std::span<const std::byte> from, std::byte* to) noexcept {
    if (cipher == Cipher::aes256_gmac) {
      authenticate(from);
      std::memcpy(to, from.data(), from.size());
      return;
    }
    int length = 0;
    COUPLET_ASSERT(EVP_CipherUpdate(context.get(), raw(to), &length, raw(from.data()), static_cast<int>(from.size())) ==
                   1);
  }
};

RecordSeal::RecordSeal(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordSeal::~RecordSeal() = default;

Result<std::unique_ptr<RecordSeal>> RecordSeal::make(Cipher cipher, const SealKey& key, std::uint64_t key_lifetime) {
  if (!cipher_available(cipher)) {
    return fail(Code::unsupported, "this processor cannot encrypt with cipher {}", static_cast<int>(cipher));
  }
  auto state = std::make_unique<State>();
  state->cipher = cipher;
  state->key = key;
  state->key_lifetime = key_lifetime;
  state->context.reset(EVP_CIPHER_CTX_new());
  if (state->context == nullptr ||
      EVP_CipherInit_ex(state->context.get(), algorithm_of(cipher), nullptr, nullptr, nullptr, 1) != 1) {
    if (is_offered(cipher)) {
      return fail(Code::memory, "there is no memory for cipher {}", static_cast<int>(cipher));
    }
    return fail(Code::unsupported, "the system's libcrypto does not offer cipher {}", static_cast<int>(cipher));
  }
  return std::unique_ptr<RecordSeal>(new RecordSeal(std::move(state)));
}

std::size_t RecordSeal::seal(std::span<const std::byte> plain, std::byte* record) noexcept {
  COUPLET_ASSERT(!plain.empty() && plain.size() <= record_plain_bytes);
  store_length(record, plain.size() + record_tag_bytes);
  std::byte* const body = record + record_prefix_bytes;
  std::byte* const tag = body + plain.size();
  const std::size_t record_length = record_prefix_bytes + plain.size() + record_tag_bytes;
  const Nonce nonce = state_->begin(true);
  if (state_->is_short(plain.size())) {
    crypto_aead_aes256gcm_encrypt_afternm(raw(body), nullptr, raw(plain.data()), plain.size(), raw(record),
                                          record_prefix_bytes, nullptr, nonce.data(), &state_->short_records);
    return record_length;
  }
  state_->begin_long(nonce, true);
  state_->authenticate({record, record_prefix_bytes});
  state_->pass(plain, body);
  int length = 0;
  EVP_CIPHER_CTX* const context = state_->context.get();
  COUPLET_ASSERT(EVP_CipherFinal_ex(context, raw(tag), &length) == 1);
  COUPLET_ASSERT(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, record_tag_bytes, tag) == 1);
  return record_length;
}

Result<std::size_t> RecordSeal::record_length(std::span<const std::byte> bytes) {
  if (bytes.size() < record_prefix_bytes) {
    return std::size_t{0};
  }
  const std::size_t length = load_length(bytes.data());
  if (length <= record_tag_bytes || length > record_bytes - record_prefix_bytes) {
    return fail(Code::protocol, "a sealed record cannot have {} bytes", length);
  }
  return record_prefix_bytes + length;
}

Result<std::size_t> RecordSeal::open(std::span<const std::byte> record, std::byte* plain) {
  COUPLET_ASSERT(record.size() > record_prefix_bytes + record_tag_bytes && record.size() <= record_bytes);
  const std::uint64_t number = state_->records;
  const auto body = record.subspan(record_prefix_bytes, plain_length(record.size()));
  const Nonce nonce = state_->begin(false);
  if (state_->is_short(body.size()) ? !open_short(record, plain, nonce) : !open_long(record, plain, nonce)) {
    return fail(Code::protocol, "sealed record {} was changed, lost or repeated on the way", number);
  }
  return body.size();
}

bool RecordSeal::open_short(std::span<const std::byte> record, std::byte* plain, const Nonce& nonce) noexcept {
  return crypto_aead_aes256gcm_decrypt_afternm(raw(plain), nullptr, nullptr, raw(record.data() + record_prefix_bytes),
                                               record.size() - record_prefix_bytes, raw(record.data()),
                                               record_prefix_bytes, nonce.data(), &state_->short_records) == 0;
}

bool RecordSeal::open_long(std::span<const std::byte> record, std::byte* plain, const Nonce& nonce) noexcept {
  const auto body = record.subspan(record_prefix_bytes, plain_length(record.size()));
  std::array<std::byte, record_tag_bytes> tag;
  std::memcpy(tag.data(), body.data() + body.size(), tag.size());
  state_->begin_long(nonce, false);
  state_->authenticate(record.first(record_prefix_bytes));
  state_->pass(body, plain);
  int length = 0;
  std::array<unsigned char, record_tag_bytes> nothing{};
  EVP_CIPHER_CTX* const context = state_->context.get();
  COUPLET_ASSERT(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, record_tag_bytes, tag.data()) == 1);
  return EVP_CipherFinal_ex(context, nothing.data(), &length) == 1;
}

}  // namespace couplet::wire
