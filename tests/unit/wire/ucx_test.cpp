#include "wire/ucx.hpp"

#include <gtest/gtest.h>

namespace couplet::wire {
namespace {

std::string bytes(std::initializer_list<int> numbers) {
  std::string made;
  for (const int number : numbers) made.push_back(static_cast<char>(number));
  return made;
}

std::string text_of(const UcxHeadImage& image) {
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

UcxIntroduction introduction() {
  return {.shares_memory = true, .token = 0x0102030405060708, .node = 0xA0A1, .worker = "where"};
}

TEST(UcxHead, HasGoldenBytes) {
  const UcxHead head{.kind = UcxKind::credit, .token = 0x1122334455667788, .number = 5, .bytes = 0x0100};
  EXPECT_EQ(text_of(encode_ucx_head(head)),
            bytes({3, 1, 0, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}) +
                bytes({5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(UcxHead, ComesBack) {
  for (const UcxKind kind : {UcxKind::hello, UcxKind::data, UcxKind::credit}) {
    const auto back = decode_ucx_head(encode_ucx_head({.kind = kind, .token = 1, .number = 2, .bytes = 3}));
    ASSERT_TRUE(back.ok()) << back.status().text();
    EXPECT_EQ(back->kind, kind);
    EXPECT_EQ(back->token, 1U);
    EXPECT_EQ(back->number, 2U);
    EXPECT_EQ(back->bytes, 3U);
  }
}

TEST(UcxHead, WrongOnesAreRefused) {
  UcxHeadImage image = encode_ucx_head({});
  EXPECT_EQ(decode_ucx_head(std::span(image).first(31)).code(), Code::protocol);
  image[0] = std::byte{4};
  EXPECT_EQ(decode_ucx_head(image).code(), Code::protocol);
  image[0] = std::byte{1};
  image[1] = std::byte{2};
  EXPECT_EQ(decode_ucx_head(image).code(), Code::protocol);
}

TEST(UcxIntroduction, HasGoldenBytesAndComesBack) {
  const std::string image = encode_ucx_introduction(introduction());
  EXPECT_EQ(image, bytes({'C', 'P', 'L', 'U', 1, 1, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0xA1, 0xA0, 0, 0, 0, 0, 0, 0}) +
                       bytes({5, 0, 0, 0, 'w', 'h', 'e', 'r', 'e'}));
  EXPECT_EQ(ucx_introduction_bytes(image).value(), image.size());
  const auto back = decode_ucx_introduction(image);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_TRUE(back->shares_memory);
  EXPECT_EQ(back->token, introduction().token);
  EXPECT_EQ(back->node, introduction().node);
  EXPECT_EQ(back->worker, "where");
}

TEST(UcxIntroduction, CutAndWrongOnesAreRefused) {
  const std::string image = encode_ucx_introduction(introduction());
  for (std::size_t length = 0; length < image.size(); ++length) {
    EXPECT_EQ(decode_ucx_introduction(image.substr(0, length)).code(), Code::protocol) << length;
  }
  EXPECT_EQ(ucx_introduction_bytes(image.substr(0, ucx_introduction_head_bytes - 1)).value(), 0U);
  const auto with = [&image](std::size_t place, int value) {
    std::string changed = image;
    changed[place] = static_cast<char>(value);
    return decode_ucx_introduction(changed).code();
  };
  EXPECT_EQ(with(0, 'X'), Code::protocol);  // another magic number
  EXPECT_EQ(with(4, 2), Code::version);     // a later version
  EXPECT_EQ(with(5, 2), Code::protocol);    // a flag that does not exist
  EXPECT_EQ(with(24, 0), Code::protocol);   // no address
  EXPECT_EQ(with(26, 1), Code::protocol);   // an address that is too long
  std::string without_token = image;
  without_token.replace(8, 8, std::string(8, '\0'));
  EXPECT_EQ(decode_ucx_introduction(without_token).code(), Code::protocol);
  EXPECT_EQ(decode_ucx_introduction(image + 'x').code(), Code::protocol);
}

TEST(UcxVerdict, HasGoldenBytesAndComesBack) {
  EXPECT_EQ(encode_ucx_verdict({.is_reached = true, .why = "not sent"}), bytes({1, 0, 0, 0}));
  const std::string image = encode_ucx_verdict({.is_reached = false, .why = "no\nway"});
  EXPECT_EQ(image, bytes({0, 0, 6, 0}) + "no\nway");
  EXPECT_EQ(ucx_verdict_bytes(image).value(), image.size());
  const auto back = decode_ucx_verdict(image);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_FALSE(back->is_reached);
  EXPECT_EQ(back->why, "no?way");
  EXPECT_EQ(encode_ucx_verdict({.is_reached = false, .why = std::string(10'000, 'x')}).size(),
            ucx_verdict_head_bytes + max_ucx_reason_bytes);
}

TEST(UcxVerdict, WrongOnesAreRefused) {
  EXPECT_EQ(ucx_verdict_bytes("ab").value(), 0U);
  EXPECT_EQ(decode_ucx_verdict(bytes({2, 0, 0, 0})).code(), Code::protocol);
  EXPECT_EQ(decode_ucx_verdict(bytes({0, 1, 0, 0})).code(), Code::protocol);
  EXPECT_EQ(decode_ucx_verdict(bytes({1, 0, 1, 0, 'x'})).code(), Code::protocol);
  EXPECT_EQ(decode_ucx_verdict(bytes({0, 0, 0, 3})).code(), Code::protocol);
  EXPECT_EQ(decode_ucx_verdict(bytes({0, 0, 2, 0, 'x'})).code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::wire
