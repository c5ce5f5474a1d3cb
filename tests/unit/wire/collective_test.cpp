#include "wire/collective.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace couplet::wire {
namespace {

std::string bytes(std::initializer_list<int> numbers) {
  std::string made;
  for (const int number : numbers) made.push_back(static_cast<char>(number));
  return made;
}

constexpr CollectiveHead head = {.kind = 4,
                                 .method = 3,
                                 .type = 10,
                                 .operation = 2,
                                 .root = -1,
                                 .count = 0x0102,
                                 .previous = 0xA0B0C0D0,
                                 .big_endian = false,
                                 .apart = true};

std::string image_of(const CollectiveHead& given) {
  std::array<std::byte, collective_head_bytes> image{};
  encode_collective_head(given, image);
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

TEST(CollectiveHead, HasGoldenBytes) {
  EXPECT_EQ(image_of(head),
            bytes({4, 3, 10, 2, 0xFF, 0xFF, 0xFF, 0xFF, 2, 1, 0, 0, 0, 0, 0, 0, 0xD0, 0xC0, 0xB0, 0xA0, 2, 0, 0, 0}));
}

TEST(CollectiveHead, ComesBack) {
  const auto back = decode_collective_head(image_of(head));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->agrees(head));
  EXPECT_EQ(back->previous, head.previous);
  EXPECT_TRUE(back->apart);
  EXPECT_FALSE(back->big_endian);
  EXPECT_EQ(back->signature(), head.signature());
}

TEST(CollectiveHead, OfAnOperationOfUserCodeKeepsItsMark) {
  CollectiveHead other = head;
  other.operation = 0xFEDCBA98;
  other.uneven = true;
  const std::string image = image_of(other);
  EXPECT_EQ(image.substr(20), bytes({6, 0xBA, 0xDC, 0xFE}));
  const auto back = decode_collective_head(image);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->operation, other.operation);
  EXPECT_TRUE(back->uneven);
  EXPECT_TRUE(back->agrees(other));
  other.operation ^= 0x100U;
  EXPECT_FALSE(back->agrees(other));
  EXPECT_NE(back->signature(), other.signature());
}

TEST(CollectiveHead, WithTooFewBytesOrUnknownFlagsIsRefused) {
  const std::string image = image_of(head);
  for (std::size_t length = 0; length < image.size(); ++length) {
    EXPECT_EQ(decode_collective_head(image.substr(0, length)).code(), Code::protocol);
  }
  std::string flags = image;
  flags[20] = 8;
  EXPECT_EQ(decode_collective_head(flags).code(), Code::protocol);
}

TEST(CollectiveHead, DiffersIfAnyMemberDiffers) {
  for (int which = 0; which < 6; ++which) {
    CollectiveHead other = head;
    if (which == 0) other.kind = 3;
    if (which == 1) other.method = 4;
    if (which == 2) other.type = 9;
    if (which == 3) other.operation = 3;
    if (which == 4) other.root = 0;
    if (which == 5) other.count = 7;
    EXPECT_FALSE(head.agrees(other));
    EXPECT_NE(head.signature(), other.signature());
  }
}

TEST(ShortHead, HasGoldenBytesAndComesBack) {
  for (const bool big_endian : {false, true}) {
    const ShortHead given{.signature = 0xA0B0C0D0, .previous = 0x010203, .big_endian = big_endian};
    std::array<std::byte, short_head_bytes> array{};
    encode_short_head(given, array);
    const std::string image(reinterpret_cast<const char*>(array.data()), array.size());
    EXPECT_EQ(image, bytes({big_endian ? 128 : 0, 3, 2, 1, 0xD0, 0xC0, 0xB0, 0xA0}));
    ASSERT_TRUE(has_short_head(image));
    EXPECT_EQ(decode_short_head(image), given);
    EXPECT_FALSE(has_short_head(image.substr(0, 7)));
  }
  EXPECT_FALSE(has_short_head(image_of(head)));
}

TEST(CollectiveNotice, HasGoldenBytes) {
  CollectiveNotice notice;
  notice.kind = NoticeKind::revoke;
  notice.identity = 0x0807060504030201;
  notice.call = 9;
  notice.creation = 1;
  notice.cause = 7;
  notice.epoch = 0x1F;
  notice.code = -104;
  notice.text = "ab";
  EXPECT_EQ(encode_collective_notice(notice),
            bytes({'C',  'C',  'L',  '4',  3, 0, 0, 0, 1, 2, 3, 4, 5,    6, 7, 8, 9,   0,  0, 0,
                   0,    0,    0,    0,    1, 0, 0, 0, 0, 0, 0, 0, 0x1F, 0, 0, 0, 0,   0,  0, 0,
                   0x98, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 7, 0, 0, 0, 0,    0, 0, 0, 'a', 'b'}));
}

TEST(CollectiveNotice, OfEachKindComesBack) {
  CollectiveNotice notice;
  notice.identity = 5;
  notice.call = 1;
  notice.creation = 77;
  notice.epoch = 8;
  notice.systems = {1, 2, 1};
  notice.head = head;
  notice.text = "why";
  for (const auto kind :
       {NoticeKind::greeting, NoticeKind::epoch, NoticeKind::revoke, NoticeKind::inquiry, NoticeKind::creation}) {
    notice.kind = kind;
    notice.code = kind == NoticeKind::revoke ? -101 : 0;
    const std::string image = encode_collective_notice(notice);
    const auto back = decode_collective_notice(image);
    ASSERT_TRUE(back.ok()) << back.status().text();
    EXPECT_EQ(back->creation, 77U);
    EXPECT_EQ(back->systems.size(), kind == NoticeKind::epoch ? 3U : 0U);
    EXPECT_EQ(back->text, kind == NoticeKind::revoke ? "why" : "");
    EXPECT_EQ(back->head.agrees(head), kind == NoticeKind::inquiry);
    for (std::size_t length = 0; length < image.size(); ++length) {
      EXPECT_EQ(decode_collective_notice(image.substr(0, length)).code(), Code::protocol) << length;
    }
  }
}

TEST(CollectiveNotice, WithATableHasGoldenBytes) {
  CollectiveNotice notice;
  notice.kind = NoticeKind::epoch;
  notice.epoch = 0x1F;
  notice.systems = {7};
  notice.table = {{.kind = 4, .method = 3, .min_systems = 2, .min_size = 8, .max_bytes = 0x1000}};
  notice.origin = "ab";
  const std::string image = encode_collective_notice(notice);
  EXPECT_EQ(image.substr(40),
            bytes({30, 0, 0, 0, 34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7,    0, 0, 0, 1, 0, 0, 0,   4,
                   3,  0, 0, 2, 0,  0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 'a', 'b'}));
  const auto back = decode_collective_notice(image);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->systems, notice.systems);
  EXPECT_EQ(back->table, notice.table);
  EXPECT_EQ(back->origin, "ab");
  for (std::size_t length = 0; length < image.size(); ++length) {
    EXPECT_FALSE(decode_collective_notice(image.substr(0, length)).ok()) << length;
  }
  std::mt19937_64 random(5);
  for (int round = 0; round < 20'000; ++round) {  // it never reads beyond the image
    std::string changed = image;
    for (int change = 0; change < 3; ++change) {
      changed[40 + random() % (changed.size() - 40)] = static_cast<char>(random());
    }
    const auto decoded = decode_collective_notice(changed);
    EXPECT_TRUE(!decoded.ok() || decoded->table.size() <= 1);
  }
}

TEST(CollectiveNotice, OfACreationThatCannotBeIsRefused) {
  for (const std::uint64_t creation : {std::uint64_t{0}, max_creation + 1, UINT64_MAX}) {
    CollectiveNotice notice;
    notice.creation = creation;
    EXPECT_EQ(decode_collective_notice(encode_collective_notice(notice)).code(), Code::protocol) << creation;
  }
}

TEST(CollectiveNotice, IsCutBetweenCharacters) {
  CollectiveNotice notice;
  notice.kind = NoticeKind::revoke;
  notice.code = -1;
  notice.text = "x";
  while (notice.text.size() < 2 * max_notice_text_bytes) notice.text += "\xC3\xA9";
  const auto back = decode_collective_notice(encode_collective_notice(notice));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->text, notice.text.substr(0, max_notice_text_bytes - 1));
}

TEST(CollectiveNotice, ThatRevokesWithAnAnswerIsRefused) {
  CollectiveNotice notice;
  notice.kind = NoticeKind::revoke;
  notice.code = 0;
  EXPECT_EQ(decode_collective_notice(encode_collective_notice(notice)).code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::wire
