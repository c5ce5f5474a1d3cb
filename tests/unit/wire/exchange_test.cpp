#include "wire/exchange.hpp"

#include <gtest/gtest.h>

namespace couplet::wire {
namespace {

std::string bytes(std::initializer_list<int> numbers) {
  std::string made;
  for (const int number : numbers) made.push_back(static_cast<char>(number));
  return made;
}

ExchangeTerms terms() {
  ExchangeTerms made;
  made.edges.push_back(
      {.sends = true, .tag = 3, .bytes = 800, .every = 1, .offset = 0, .title = "ab", .contents = "x"});
  made.edges.push_back({.sends = false, .is_variable = true, .tag = -2, .bytes = 16, .every = 5, .offset = 2});
  return made;
}

TEST(ExchangeTerms, HaveGoldenBytes) {
  EXPECT_EQ(encode_exchange_terms(terms()),
            bytes({'E', 'C', 'T', '2', 0, 2, 0, 0, 0}) +
                bytes({1, 3, 0, 0, 0, 0, 0, 0, 0, 0x20, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}) +
                bytes({0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 'a', 'b', 1, 0, 'x'}) +
                bytes({2, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 16, 0, 0, 0, 0, 0, 0, 0}) +
                bytes({5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(ExchangeTerms, ComeBack) {
  const auto back = decode_exchange_terms(encode_exchange_terms(terms()));
  ASSERT_TRUE(back.ok()) << back.status().text();
  ASSERT_EQ(back->edges.size(), 2U);
  EXPECT_EQ(back->edges[0].title, "ab");
  EXPECT_EQ(back->edges[0].contents, "x");
  EXPECT_TRUE(back->edges[0].sends);
  EXPECT_EQ(back->edges[1].tag, -2);
  EXPECT_TRUE(back->edges[1].is_variable);
  EXPECT_EQ(back->edges[1].every, 5U);
}

TEST(ExchangeTerms, EachCutAndEachWrongValueIsRefused) {
  const std::string image = encode_exchange_terms(terms());
  for (std::size_t length = 0; length < image.size(); ++length) {
    EXPECT_EQ(decode_exchange_terms(image.substr(0, length)).code(), Code::protocol) << length;
  }
  const auto with = [&image](std::size_t place, int value) {
    std::string changed = image;
    changed[place] = static_cast<char>(value);
    return decode_exchange_terms(changed).code();
  };
  EXPECT_EQ(with(0, 'X'), Code::protocol);    // another magic number
  EXPECT_EQ(with(4, 2), Code::protocol);      // no byte order
  EXPECT_EQ(with(7, 0x7F), Code::protocol);   // more edges than bytes
  EXPECT_EQ(with(9, 4), Code::protocol);      // a flag that does not exist
  EXPECT_EQ(with(25, 0x7F), Code::protocol);  // more bytes than an edge may have
  EXPECT_EQ(with(26, 0), Code::protocol);     // every 0
  EXPECT_EQ(decode_exchange_terms(image + 'x').code(), Code::protocol);
}

TEST(ExchangeNotice, HasGoldenBytes) {
  const ExchangeNotice notice{.news = ExchangeNews::failed, .rounds = 7, .code = -2, .text = "why"};
  const std::string image = encode_exchange_notice(notice);
  EXPECT_EQ(image, bytes({'E', 'C', 'N', '1', 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 3, 0}) +
                       std::string("why"));
  const auto back = decode_exchange_notice(image);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->rounds, 7U);
  EXPECT_EQ(back->code, -2);
  EXPECT_EQ(back->text, "why");
}

TEST(ExchangeNotice, WhatIsMalformedIsRefused) {
  const ExchangeNotice notice{.news = ExchangeNews::failed, .rounds = 7, .code = -2, .text = "why"};
  const std::string image = encode_exchange_notice(notice);
  for (std::size_t length = 0; length < image.size(); ++length) {
    EXPECT_EQ(decode_exchange_notice(image.substr(0, length)).code(), Code::protocol) << length;
  }
  EXPECT_EQ(decode_exchange_notice(encode_exchange_notice({.news = ExchangeNews::failed, .code = 3})).code(),
            Code::protocol);
  std::string changed = image;
  changed[4] = 3;
  EXPECT_EQ(decode_exchange_notice(changed).code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::wire
