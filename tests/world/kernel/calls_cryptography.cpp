// The key exchange. X25519 takes 40 us, and a world has many connections. Here it is Diffie and Hellman's exchange with
// small numbers: different secrets give different keys, and both sides find the same one.
#include <sodium.h>

#include <cstdint>
#include <cstring>

namespace {

constexpr std::uint64_t prime = (std::uint64_t{1} << 31) - 1;
constexpr std::uint64_t base = 7;  // a generator

std::uint64_t power(std::uint64_t number, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) {
      result = result * number % prime;
    }
    number = number * number % prime;
  }
  return result;
}

std::uint64_t number_in(const unsigned char* bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

int put(std::uint64_t number, unsigned char* bytes) {
  std::memset(bytes, 0, crypto_scalarmult_BYTES);
  std::memcpy(bytes, &number, sizeof number);
  return 0;
}

}  // namespace

// These come before the functions of libsodium for the linker.

int crypto_scalarmult_base(unsigned char* public_key, const unsigned char* private_key) {
  return put(power(base, number_in(private_key)), public_key);
}

int crypto_scalarmult(unsigned char* shared, const unsigned char* private_key, const unsigned char* public_key) {
  const std::uint64_t other = number_in(public_key) % prime;
  return other == 0 ? -1 : put(power(other, number_in(private_key)), shared);
}
