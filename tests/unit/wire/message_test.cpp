// Golden bytes of the frames of the family `message`.
#include "wire/message.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace couplet::wire {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> numbers) {
  std::vector<std::byte> image;
  for (const int number : numbers) image.push_back(static_cast<std::byte>(number));
  return image;
}

TEST(message_format, golden_envelope) {
  Envelope envelope;
  envelope.address = 0x1122334455667788;
  envelope.nonce_address = 0x99AABBCCDDEEFF00;
  for (std::size_t index = 0; index < 16; ++index) envelope.nonce[index] = static_cast<std::uint8_t>(0xA0 + index);
  envelope.process = 0x01020304;
  std::array<std::byte, envelope_bytes> image{};
  encode_envelope(envelope, image);
  EXPECT_EQ(std::vector<std::byte>(image.begin(), image.end()),
            bytes({0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00, 0xFF, 0xEE, 0xDD, 0xCC, 0xBB,
                   0xAA, 0x99, 0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xAB,
                   0xAC, 0xAD, 0xAE, 0xAF, 0x04, 0x03, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00}));
  const Result<Envelope> back = decode_envelope(image);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->address, envelope.address);
  EXPECT_EQ(back->nonce_address, envelope.nonce_address);
  EXPECT_EQ(back->nonce, envelope.nonce);
  EXPECT_EQ(back->process, envelope.process);
}

TEST(message_format, golden_kinds) {
  EXPECT_EQ(message_frame_kind(MessageKind::eager), 0x10);
  EXPECT_EQ(message_frame_kind(MessageKind::eager, true), 0x18);
  EXPECT_EQ(message_frame_kind(MessageKind::envelope), 0x11);
  EXPECT_EQ(message_frame_kind(MessageKind::clear), 0x12);
  EXPECT_EQ(message_frame_kind(MessageKind::data), 0x13);
  EXPECT_EQ(message_frame_kind(MessageKind::done), 0x14);
  EXPECT_EQ(message_frame_kind(MessageKind::credit), 0x15);
  EXPECT_EQ(message_frame_kind(MessageKind::share), 0x16);
  EXPECT_EQ(message_frame_kind(MessageKind::shared), 0x17);
}

TEST(message_format, golden_sharing) {
  constexpr SharedPieces pieces{.round = 7, .from_front = 2, .from_back = 3};
  EXPECT_EQ(pack(pieces), 0x700030002U);
  EXPECT_EQ(pack(unpack_shared_pieces(0x700030002U)), 0x700030002U);
  EXPECT_EQ(pieces.taken(), 5U);
  EXPECT_EQ(least_shared_bytes, 262144U);
  EXPECT_EQ(shared_piece_bytes(least_shared_bytes), 131072U);
  EXPECT_EQ(shared_piece_bytes((1U << 20U) - 1), 131072U);
  EXPECT_EQ(shared_piece_bytes(1U << 20U), 262144U);
  EXPECT_EQ(shared_piece_count(1U << 20U), 4U);
  EXPECT_EQ(shared_piece_count((1U << 20U) + 1), 5U);
  EXPECT_EQ(shared_piece_bytes(std::uint64_t{8} << 30U), 262144U);
  EXPECT_EQ(shared_piece_bytes(most_shared_bytes), std::uint64_t{1} << 33U);
  EXPECT_EQ(shared_piece_count(most_shared_bytes), most_shared_pieces);
  EXPECT_LE(shared_piece_count(most_shared_bytes - 1), most_shared_pieces);
}

TEST(message_format, an_envelope_of_another_size_is_refused) {
  std::vector<std::byte> image(envelope_bytes + 1);
  EXPECT_EQ(decode_envelope(image).code(), Code::protocol);
  image.resize(envelope_bytes - 1);
  EXPECT_EQ(decode_envelope(image).code(), Code::protocol);
  EXPECT_EQ(decode_envelope({}).code(), Code::protocol);
}

TEST(message_format, reserved_bytes_are_checked) {
  std::vector<std::byte> image(envelope_bytes);
  image.back() = std::byte{1};
  EXPECT_EQ(decode_envelope(image).code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::wire
