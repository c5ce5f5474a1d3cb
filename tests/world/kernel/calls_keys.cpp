// Keys and signatures of the simulated world. They cost nothing, and protect nothing, so that a seed does not spend its
// time on arithmetic. What the program relies on holds: both owners of two keys compute the same value, only the right
// key verifies a signature of a statement, and the same seed gives the same key.
#include <sodium.h>

#include <cstring>

#include "calls.hpp"

namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::uint64_t base = 0x9E3779B97F4A7C15;

std::uint64_t number_in(const unsigned char* bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return number | 1;  // odd, so that no product is 0
}

void put(unsigned char* bytes, std::uint64_t number) {
  std::memset(bytes, 0, key_bytes);
  std::memcpy(bytes, &number, sizeof number);
}

void hash(unsigned char* signature, const unsigned char* message, unsigned long long bytes, const unsigned char* key) {
  crypto_generichash(signature, crypto_sign_BYTES, message, bytes, key, key_bytes);
}

}  // namespace

// A private key n has the public key n * base; the shared value of n and m is n * m * base.
WORLD_CALL(int, crypto_scalarmult_base, unsigned char* result, const unsigned char* number) {
  put(result, number_in(number) * base);
  return 0;
}

WORLD_CALL(int, crypto_scalarmult, unsigned char* result, const unsigned char* number, const unsigned char* key) {
  put(result, number_in(number) * number_in(key));
  return number_in(key) == 1 ? -1 : 0;
}

WORLD_CALL(int, crypto_sign_seed_keypair, unsigned char* key, unsigned char* both, const unsigned char* seed) {
  put(key, number_in(seed) * base);
  std::memcpy(both, seed, key_bytes);
  std::memcpy(both + key_bytes, key, key_bytes);
  return 0;
}

WORLD_CALL(int, crypto_sign_detached, unsigned char* signature, unsigned long long* signature_bytes,
           const unsigned char* message, unsigned long long bytes, const unsigned char* both) {
  hash(signature, message, bytes, both + key_bytes);
  if (signature_bytes != nullptr) {
    *signature_bytes = crypto_sign_BYTES;
  }
  return 0;
}

WORLD_CALL(int, crypto_sign_verify_detached, const unsigned char* signature, const unsigned char* message,
           unsigned long long bytes, const unsigned char* key) {
  unsigned char right[crypto_sign_BYTES];
  hash(right, message, bytes, key);
  return std::memcmp(right, signature, sizeof right) == 0 ? 0 : -1;
}

WORLD_CALL(int, crypto_sign_ed25519_pk_to_curve25519, unsigned char* exchange_key, const unsigned char* key) {
  std::memcpy(exchange_key, key, key_bytes);
  return 0;
}

WORLD_CALL(int, crypto_sign_ed25519_sk_to_curve25519, unsigned char* number, const unsigned char* both) {
  std::memcpy(number, both, key_bytes);
  return 0;
}
