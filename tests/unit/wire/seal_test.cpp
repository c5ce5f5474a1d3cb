// Sealed records: golden bytes, records that cannot be opened, the replacement of keys, and the memory of libcrypto.
#include "wire/seal.hpp"

#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

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

// Counts what libcrypto allocates, and lets one of its allocations fail.
std::size_t allocations = 0;
std::size_t failing_allocation = 0;  // counted from 1; 0: none

void* allocate(std::size_t bytes, const char* /*file*/, int /*line*/) {
  return ++allocations == failing_allocation ? nullptr : std::malloc(bytes);
}
void* reallocate(void* memory, std::size_t bytes, const char* /*file*/, int /*line*/) {
  return ++allocations == failing_allocation ? nullptr : std::realloc(memory, bytes);
}
void release(void* memory, const char* /*file*/, int /*line*/) {
  std::free(memory);
}

// libcrypto accepts other functions only before its first allocation.
const bool allocations_are_counted = CRYPTO_set_mem_functions(allocate, reallocate, release) == 1;

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

// Short records are sealed by libsodium, and long ones by libcrypto.
TEST(Seal, BothLibrariesMakeTheSameRecords) {
  if (!cipher_available(Cipher::aes256_gcm)) {
    GTEST_SKIP() << "not with this processor";
  }
  const SealKey key = key_that_counts();
  auto seal = RecordSeal::make(Cipher::aes256_gcm, key).value();
  auto open = RecordSeal::make(Cipher::aes256_gcm, key).value();
  for (unsigned char number = 0; number < 8; ++number) {
    const std::vector<std::byte> plain(253U + number, std::byte{number});
    std::vector<std::byte> record(record_prefix_bytes + plain.size() + record_tag_bytes);
    ASSERT_EQ(seal->seal(plain, record.data()), record.size());
    std::vector<unsigned char> expected(plain.size() + record_tag_bytes);
    const unsigned char nonce[12] = {number};
    crypto_aead_aes256gcm_encrypt(expected.data(), nullptr, reinterpret_cast<const unsigned char*>(plain.data()),
                                  plain.size(), reinterpret_cast<const unsigned char*>(record.data()),
                                  record_prefix_bytes, nullptr, nonce, key.data());
    EXPECT_EQ(std::memcmp(record.data() + record_prefix_bytes, expected.data(), expected.size()), 0) << plain.size();
    std::vector<std::byte> opened(plain.size());
    ASSERT_TRUE(open->open(record, opened.data()).ok());
    EXPECT_EQ(opened, plain);
  }
}

// A stream of records of all lengths, as another program would seal and open them with libsodium alone.
TEST(Seal, AnotherLibraryOpensLongRecordsAndSealsThemForUs) {
  if (!cipher_available(Cipher::aes256_gcm)) {
    GTEST_SKIP() << "not with this processor";
  }
  const SealKey key = key_that_counts();
  Direction direction(Cipher::aes256_gcm);
  unsigned char number = 0;
  for (const std::size_t length : {std::size_t{1}, std::size_t{256}, std::size_t{257}, std::size_t{1023},
                                   std::size_t{4160}, std::size_t{63} << 10, record_plain_bytes}) {
    std::vector<std::byte> plain(length);
    for (std::size_t index = 0; index < length; ++index) {
      plain[index] = static_cast<std::byte>(index * 7 + number);
    }
    const unsigned char nonce[12] = {number++};
    std::vector<std::byte> record(record_prefix_bytes + length + record_tag_bytes);
    ASSERT_EQ(direction.seal->seal(plain, record.data()), record.size());
    auto* const prefix = reinterpret_cast<unsigned char*>(record.data());
    std::vector<std::byte> opened(length);
    ASSERT_EQ(crypto_aead_aes256gcm_decrypt(reinterpret_cast<unsigned char*>(opened.data()), nullptr, nullptr,
                                            prefix + record_prefix_bytes, length + record_tag_bytes, prefix,
                                            record_prefix_bytes, nonce, key.data()),
              0)
        << length;
    EXPECT_EQ(opened, plain);
    crypto_aead_aes256gcm_encrypt(prefix + record_prefix_bytes, nullptr,
                                  reinterpret_cast<const unsigned char*>(plain.data()), length, prefix,
                                  record_prefix_bytes, nullptr, nonce, key.data());
    std::fill(opened.begin(), opened.end(), std::byte{0});
    ASSERT_TRUE(direction.open->open(record, opened.data()).ok()) << length;
    EXPECT_EQ(opened, plain);
  }
}

TEST(Seal, ARecordThatWasChangedRepeatedOrSealedWithAnotherKeyDoesNotOpen) {
  for (const auto cipher : all_ciphers) {
    if (!cipher_available(cipher)) {
      continue;
    }
    SealKey another_key = key_that_counts();
    another_key.back() ^= 1;
    for (const std::size_t length : {std::size_t{8}, std::size_t{300}, record_plain_bytes}) {
      const std::vector<std::byte> plain(length, std::byte{0x5A});
      std::vector<std::byte> record(record_bytes);
      std::vector<std::byte> opened(record_plain_bytes);
      const std::size_t bytes = Direction(cipher).seal->seal(plain, record.data());
      for (const std::size_t damaged : {std::size_t{0}, record_prefix_bytes, bytes - record_tag_bytes, bytes - 1}) {
        Direction direction(cipher);
        record[damaged] ^= std::byte{0x80};
        EXPECT_EQ(direction.open->open({record.data(), bytes}, opened.data()).code(), Code::protocol) << damaged;
        record[damaged] ^= std::byte{0x80};
      }
      auto with_another_key = RecordSeal::make(cipher, another_key).value();
      EXPECT_EQ(with_another_key->open({record.data(), bytes}, opened.data()).code(), Code::protocol);
      Direction direction(cipher);
      ASSERT_TRUE(direction.open->open({record.data(), bytes}, opened.data()).ok());
      EXPECT_EQ(direction.open->open({record.data(), bytes}, opened.data()).code(), Code::protocol) << "repeated";
    }
  }
}

// The cipher text of zeros is what the key and the nonce have made. If it came twice, a nonce was used twice with one
// key. Short and long records are sealed by different libraries, which must not count separately.
TEST(Seal, NoNonceIsUsedTwiceWithOneKey) {
  for (const auto cipher : {Cipher::aes256_gcm, Cipher::chacha20_poly1305}) {
    if (!cipher_available(cipher)) {
      continue;
    }
    auto seal = RecordSeal::make(cipher, key_that_counts(), 100).value();
    std::set<std::string> seen;
    for (std::size_t number = 0; number < 1000; ++number) {
      const std::vector<std::byte> zeros(number % 3 == 0 ? 300 : 16);
      std::vector<std::byte> record(record_prefix_bytes + zeros.size() + record_tag_bytes);
      seal->seal(zeros, record.data());
      EXPECT_TRUE(seen.insert(hexadecimal(std::span(record).subspan(record_prefix_bytes, 16))).second) << number;
    }
  }
}

// The cipher of a record must not fail, so it must not need memory.
TEST(Seal, ARecordAllocatesNothingEvenIfItsKeyIsReplaced) {
  ASSERT_TRUE(allocations_are_counted);
  for (const auto cipher : all_ciphers) {
    if (!cipher_available(cipher)) {
      continue;
    }
    Direction direction(cipher, 3);
    std::vector<std::byte> record(record_bytes);
    std::vector<std::byte> opened(record_plain_bytes);
    const std::vector<std::byte> plain(record_plain_bytes, std::byte{1});
    const std::size_t before = allocations;
    for (std::size_t number = 0; number < 12; ++number) {
      const std::size_t length = number % 2 == 0 ? 8 : record_plain_bytes;
      const std::size_t bytes = direction.seal->seal(std::span(plain).first(length), record.data());
      ASSERT_TRUE(direction.open->open({record.data(), bytes}, opened.data()).ok());
    }
    EXPECT_EQ(allocations, before) << static_cast<int>(cipher);
  }
}

TEST(Seal, WithoutMemoryACipherIsNotMade) {
  ASSERT_TRUE(allocations_are_counted);
  for (const auto cipher : all_ciphers) {
    if (!cipher_available(cipher)) {
      continue;
    }
    ASSERT_TRUE(RecordSeal::make(cipher, key_that_counts()).ok());  // so that libcrypto has what it makes once
    std::size_t failures = 0;
    bool failed = true;
    for (std::size_t number = 1; failed; ++number) {
      allocations = 0;
      failing_allocation = number;
      const auto made = RecordSeal::make(cipher, key_that_counts());
      failed = allocations >= number;
      failing_allocation = 0;
      if (!made.ok()) {  // libcrypto can do without some allocations
        EXPECT_EQ(made.code(), Code::memory) << made.status().text();
        ++failures;
      }
    }
    EXPECT_GT(failures, 0U);
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
