// The frame as it is sent: golden bytes (docs/formats/frame.md), and each way in which a frame can be wrong.
#include "wire/frame.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace couplet::wire {
namespace {

using Image = std::array<std::byte, frame_header_bytes>;

FrameHeader example() {
  FrameHeader header;
  header.kind = frame_kind(FrameFamily::message, 3);
  header.sequence = 0x01020304;
  header.payload_bytes = 5;
  header.tag = -2;
  header.context = 0xA1B2C3D4;
  header.first = 0x1122334455667788;
  header.second = 0x99AABBCCDDEEFF00;
  return header;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string hex(const Image& image) {
  std::string text;
  for (const std::byte byte : image) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return text;
}

TEST(Frame, golden_bytes_without_check) {
  Image image;
  encode_frame(example(), image);
  EXPECT_EQ(hex(image),
            "c7011300"          // magic, version, kind, flags
            "04030201"          // sequence
            "05000000"          // payload bytes
            "00000000"          // check
            "feffffff"          // tag
            "d4c3b2a1"          // context
            "8877665544332211"  // first
            "00ffeeddccbbaa99"  // second
  );
}

// The numbers were computed independently, with Python's xxhash: xxh3_64(image with check 0 [+ payload]) & 0xFFFFFFFF.
TEST(Frame, golden_checks) {
  const auto payload = bytes_of("hello");
  FrameHeader header = example();
  seal_frame(header, payload, false);
  EXPECT_EQ(header.flags, 1);
  EXPECT_EQ(header.check, 0xEB6BAA54U);
  seal_frame(header, payload, true);
  EXPECT_EQ(header.flags, 3);
  EXPECT_EQ(header.check, 0x7E14891CU);
  std::vector<std::byte> longer(1000);
  for (std::size_t index = 0; index < longer.size(); ++index) {
    longer[index] = static_cast<std::byte>(index % 251);
  }
  header.payload_bytes = 1000;
  seal_frame(header, longer, true);
  EXPECT_EQ(header.check, 0x51353A19U);
}

TEST(Frame, decode_is_the_inverse_of_encode) {
  Image image;
  FrameHeader header = example();
  seal_frame(header, {}, false);
  encode_frame(header, image);
  const FrameHeader again = decode_frame(image);
  EXPECT_EQ(std::memcmp(&again, &header, sizeof(header)), 0);
}

TEST(Frame, each_damaged_bit_of_a_checked_header_is_found) {
  FrameHeader header = example();
  seal_frame(header, {}, false);
  Image image;
  encode_frame(header, image);
  for (std::size_t bit = 0; bit < frame_header_bytes * 8; ++bit) {
    Image damaged = image;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const FrameHeader decoded = decode_frame(damaged);
    // A channel that expects checks refuses it.
    const bool flag_lost = (decoded.flags & frame_checked) == 0;
    const bool payload_flag = (decoded.flags & frame_payload_checked) != 0;  // is found together with the payload
    EXPECT_TRUE(flag_lost || payload_flag || verify_header(decoded).error()) << "bit " << bit;
    if (payload_flag && !flag_lost) {
      EXPECT_TRUE(verify_payload(decoded, bytes_of("hello")).error()) << "bit " << bit;
    }
  }
}

TEST(Frame, each_damaged_bit_of_a_checked_payload_is_found) {
  for (const std::size_t size : {1U, 5U, 256U, 257U, 3000U}) {
    std::vector<std::byte> payload(size, std::byte{0x5A});
    FrameHeader header = example();
    header.payload_bytes = static_cast<std::uint32_t>(size);
    seal_frame(header, payload, true);
    ASSERT_TRUE(verify_header(header).ok());
    ASSERT_TRUE(verify_payload(header, payload).ok());
    for (std::size_t bit = 0; bit < size * 8; bit += 1 + size / 64) {
      payload[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_EQ(verify_payload(header, payload).code(), Code::protocol) << size << " bytes, bit " << bit;
      payload[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
  }
}

TEST(Frame, damaged_headers_of_a_frame_with_checked_payload_are_found_with_the_payload) {
  const auto payload = bytes_of("hello");
  FrameHeader header = example();
  seal_frame(header, payload, true);
  header.tag ^= 1;
  EXPECT_TRUE(verify_header(header).ok());
  EXPECT_EQ(verify_payload(header, payload).code(), Code::protocol);
}

TEST(Frame, texts_say_what_is_wrong) {
  FrameHeader header = example();
  header.magic = 'G';
  EXPECT_EQ(verify_header(header).code(), Code::protocol);
  EXPECT_NE(verify_header(header).text().find("not a frame"), std::string::npos);
  header = example();
  header.version = 9;
  EXPECT_EQ(verify_header(header).code(), Code::version);
  EXPECT_NE(verify_header(header).text().find("version 9"), std::string::npos);
  header = example();
  header.flags = 0x40;
  EXPECT_EQ(verify_header(header).code(), Code::protocol);
  header.flags = frame_payload_checked;
  EXPECT_EQ(verify_header(header).code(), Code::protocol);
  header = example();
  EXPECT_EQ(verify_payload(header, bytes_of("hell")).code(), Code::protocol);
  EXPECT_NE(verify_payload(header, bytes_of("hell")).text().find("announces 5 bytes but brings 4"), std::string::npos);
}

TEST(Frame, kinds) {
  EXPECT_EQ(frame_kind(FrameFamily::relay, 7), 0x37);
  EXPECT_EQ(family_of(example()), FrameFamily::message);
}

}  // namespace
}  // namespace couplet::wire
