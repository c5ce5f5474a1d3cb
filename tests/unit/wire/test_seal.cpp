// Sealed records: golden bytes, records that cannot be opened, and the replacement of keys.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "wire/seal.hpp"

namespace couplet::wire {
namespace {

constexpr Cipher all_ciphers[] = {Cipher::aes256_gcm, Cipher::chacha20_poly1305, Cipher::aes256_gmac};

SealKey key_that_counts() {
  SealKey key;
  for (std::size_t index = 0; index < key.size(); ++index) {
    key[index] = static_cast<std::uint8_t>(index);
  }
  return key;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return text;
}

// The two ends of one direction.
struct Direction {
  explicit Direction(Cipher cipher, std::uint64_t key_lifetime = records_per_key)
      : seal(RecordSeal::make(cipher, key_that_counts(), key_lifetime).value()),
        open(RecordSeal::make(cipher, key_that_counts(), key_lifetime).value()) {}
  std::unique_ptr<RecordSeal> seal;
  std::unique_ptr<RecordSeal> open;
};

// The golden bytes of the second record of a direction. Those of aes256_gmac were computed independently, with Python's
// package cryptography.
TEST(Seal, RecordsAreWhatTheFormatPageSays) {
  const struct {
    Cipher cipher;
    const char* record;
  } golden[] = {
      {Cipher::aes256_gcm, "170000008143f74fc8ca98b6dcb9be8907afec96d5679870fa2c07"},
      {Cipher::chacha20_poly1305, "17000000f7500e9ea886e8b2e004abf42091eabb2d6308288f15c7"},
      {Cipher::aes256_gmac, "17000000636f75706c65746e9d56a68aee74369b256ebb7c275a9b"},
  };
  for (const auto& [cipher, record] : golden) {
    if (!cipher_available(cipher)) {
      std::printf("  SKIPPED cipher %d: not with this processor\n", static_cast<int>(cipher));
      continue;
    }
    auto seal = RecordSeal::make(cipher, key_that_counts()).value();
    std::vector<std::byte> image(record_bytes);
    const auto plain = std::as_bytes(std::span("couplet", 7));
    seal->seal(plain, image.data());
    const std::size_t bytes = seal->seal(plain, image.data());
    EXPECT_EQ(hexadecimal({image.data(), bytes}), record);
  }
}

TEST(Seal, WhatWasSealedOpensAcrossTheReplacementOfKeys) {
  for (const auto cipher : all_ciphers) {
    if (!cipher_available(cipher)) {
      continue;
    }
    Direction direction(cipher, 3);
    std::vector<std::byte> record(record_bytes);
    std::vector<std::byte> opened(record_plain_bytes);
    for (std::size_t number = 0; number < 20; ++number) {
      const std::vector<std::byte> plain(1 + number * 3000, static_cast<std::byte>(number));
      const std::size_t bytes = direction.seal->seal(plain, record.data());
      const auto count = direction.open->open({record.data(), bytes}, opened.data());
      ASSERT_TRUE(count.ok()) << count.status().text();
      ASSERT_EQ(*count, plain.size());
      ASSERT_EQ(std::memcmp(opened.data(), plain.data(), plain.size()), 0);
    }
  }
}

TEST(Seal, TheKeyIsReplacedAfterItsRecords) {
  const Cipher cipher = Cipher::chacha20_poly1305;
  auto seal = RecordSeal::make(cipher, key_that_counts(), 3).value();
  auto keeps_its_key = RecordSeal::make(cipher, key_that_counts(), 100).value();
  std::vector<std::byte> record(record_bytes);
  std::vector<std::byte> opened(record_plain_bytes);
  const auto plain = std::as_bytes(std::span("couplet", 7));
  for (int number = 0; number < 4; ++number) {
    const std::size_t bytes = seal->seal(plain, record.data());
    EXPECT_EQ(keeps_its_key->open({record.data(), bytes}, opened.data()).ok(), number < 3);
  }
}

TEST(Seal, ARecordThatWasOnlyAuthenticatedIsReadableAndDoesNotOpenIfItWasChanged) {
  if (!cipher_available(Cipher::aes256_gmac)) {
    GTEST_SKIP() << "not with this processor";
  }
  const std::vector<std::byte> plain(1000, std::byte{0x5A});
  std::vector<std::byte> record(record_bytes);
  std::vector<std::byte> opened(record_plain_bytes);
  for (const std::size_t damaged : {std::size_t{0}, std::size_t{4}, std::size_t{700}, std::size_t{1019}}) {
    Direction direction(Cipher::aes256_gmac);
    const std::size_t bytes = direction.seal->seal(plain, record.data());
    EXPECT_EQ(std::memcmp(record.data() + record_prefix_bytes, plain.data(), plain.size()), 0);
    record[damaged] ^= std::byte{1};
    EXPECT_EQ(direction.open->open({record.data(), bytes}, opened.data()).code(), Code::protocol);
  }
}

}  // namespace
}  // namespace couplet::wire
