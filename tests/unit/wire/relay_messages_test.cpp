// Golden bytes of the frames of the family `relay`, and what their decoders refuse.
#include "wire/relay_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace couplet::wire {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> numbers) {
  std::vector<std::byte> image;
  for (const int number : numbers) {
    image.push_back(static_cast<std::byte>(number));
  }
  return image;
}

Subscribe example() {
  Subscribe subscribe;
  subscribe.incarnation = 0x0102;
  subscribe.mode = 1;
  subscribe.from = 3;
  subscribe.again = true;
  subscribe.from_step = -2;
  subscribe.next = 0x0B;
  subscribe.window = 0x0C;
  subscribe.program = 0x1122334455667788;
  subscribe.series_incarnation = 5;
  subscribe.fields = {{4, {1}, {0x0203}}};
  subscribe.file = "fi";
  subscribe.series = "eta";
  return subscribe;
}

std::vector<std::byte> image_with(std::size_t offset, int value) {
  auto image = encode_subscribe(example());
  image[offset] = static_cast<std::byte>(value);
  return image;
}

TEST(RelayMessages, GoldenSubscription) {
  const auto image = encode_subscribe(example());
  EXPECT_EQ(image, bytes({0x02, 0x01, 1,    3,    1,    1,    2,    3,                                // head
                          0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,                             // from_step
                          0x0B, 0,    0,    0,    0,    0,    0,    0,    0x0C, 0, 0, 0, 0, 0, 0, 0,  // next, window
                          0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,                             // program
                          5,    0,    0,    0,    0,    0,    0,    0,                                // incarnation
                          4,    1,    1,    0,    0,    0,    0,    0,  // field, dimensions, boxes
                          1,    0,    0,    0,    0,    0,    0,    0,    3,    2, 0, 0, 0, 0, 0, 0,  // box
                          'f',  'i',  'e',  't',  'a'}));
  const auto back = decode_subscribe(image);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(encode_subscribe(*back), image);
  EXPECT_EQ(back->file, "fi");
  EXPECT_EQ(back->series, "eta");
  ASSERT_EQ(back->fields.size(), 1U);
  EXPECT_EQ(back->fields[0].field, 4);
  EXPECT_EQ(back->fields[0].stop, std::vector<std::int64_t>{0x0203});
}

TEST(RelayMessages, GoldenSubscriptionOfAReaderWithSeveralParts) {
  Subscribe shared = example();
  shared.reader = 0x01020304;
  auto expected = encode_subscribe(example());
  expected[4] = std::byte{5};
  const auto number = bytes({4, 3, 2, 1, 0, 0, 0, 0});
  expected.insert(expected.begin() + 48, number.begin(), number.end());
  const auto image = encode_subscribe(shared);
  EXPECT_EQ(image, expected);
  const auto back = decode_subscribe(image);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->reader, 0x01020304U);
  EXPECT_EQ(back->file, "fi");
  auto none = image;
  std::fill_n(none.begin() + 48, 8, std::byte{0});
  EXPECT_EQ(decode_subscribe(none).code(), Code::protocol);
  for (std::size_t length = 0; length < image.size(); ++length) {
    EXPECT_EQ(decode_subscribe(std::span(image).first(length)).code(), Code::protocol) << length;
  }
}

TEST(RelayMessages, GoldenSubscriptionOfAReaderWhoseCreditMovesWithAJump) {
  Subscribe jumps = example();
  jumps.jumps = true;
  const auto image = encode_subscribe(jumps);
  EXPECT_EQ(image, image_with(4, 9));
  const auto back = decode_subscribe(image);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_TRUE(back->jumps);
}

TEST(RelayMessages, AFieldMayBeWantedInSeveralBoxes) {
  Subscribe several = example();
  several.fields = {{2, {0, 1, 7, 8}, {4, 5, 9, 10}, 2}, {3, {0}, {6}}};
  const auto back = decode_subscribe(encode_subscribe(several));
  ASSERT_TRUE(back.ok()) << back.status().text();
  ASSERT_EQ(back->fields.size(), 2U);
  EXPECT_EQ(back->fields[0].boxes, 2);
  EXPECT_EQ(back->fields[0].start, (std::vector<std::int64_t>{0, 1, 7, 8}));
  EXPECT_EQ(back->fields[0].stop, (std::vector<std::int64_t>{4, 5, 9, 10}));
  EXPECT_EQ(back->fields[1].boxes, 1);
  EXPECT_EQ(back->file, "fi");
}

TEST(RelayMessages, SubscriptionsThatCannotBeAreRefused) {
  EXPECT_EQ(decode_subscribe(image_with(50, 0)).code(), Code::protocol);  // boxes
  EXPECT_EQ(decode_subscribe(image_with(50, 2)).code(), Code::protocol);
  EXPECT_EQ(decode_subscribe(image_with(51, 0x7F)).code(), Code::protocol);
  EXPECT_TRUE(decode_subscribe(encode_subscribe(example())).ok());
  EXPECT_EQ(decode_subscribe({}).code(), Code::protocol);
  EXPECT_EQ(decode_subscribe(image_with(2, 2)).code(), Code::protocol);   // mode
  EXPECT_EQ(decode_subscribe(image_with(3, 4)).code(), Code::protocol);   // from
  EXPECT_EQ(decode_subscribe(image_with(4, 16)).code(), Code::protocol);  // flags
  EXPECT_EQ(decode_subscribe(image_with(5, 0)).code(), Code::protocol);   // fields
  EXPECT_EQ(decode_subscribe(image_with(5, 2)).code(), Code::protocol);
  EXPECT_EQ(decode_subscribe(image_with(5, 65)).code(), Code::protocol);
  EXPECT_EQ(decode_subscribe(image_with(49, 0)).code(), Code::protocol);  // dimensions
  EXPECT_EQ(decode_subscribe(image_with(49, 9)).code(), Code::protocol);
  EXPECT_EQ(decode_subscribe(image_with(6, 129)).code(), Code::protocol);  // names
  EXPECT_EQ(decode_subscribe(image_with(7, 0)).code(), Code::protocol);
  EXPECT_EQ(decode_subscribe(image_with(7, 4)).code(), Code::protocol);
  auto longer = encode_subscribe(example());
  longer.push_back(std::byte{0});
  EXPECT_EQ(decode_subscribe(longer).code(), Code::protocol);
  const auto whole = encode_subscribe(example());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(decode_subscribe(std::span(whole).first(length)).code(), Code::protocol) << length;
  }
}

TEST(RelayMessages, AFileIsANameInTheNodeDirectoryAndNothingElse) {
  for (const std::string name : {"", ".", "..", ".hidden", "a/b", "/etc/passwd", "../page-00000000"}) {
    auto subscribe = example();
    subscribe.file = name;
    EXPECT_EQ(decode_subscribe(encode_subscribe(subscribe)).code(), Code::protocol) << name;
  }
}

TEST(RelayMessages, GoldenAnswer) {
  std::array<std::byte, accepted_bytes> image{};
  encode_accepted({true, 0x0102, 0x0304, 7}, image);
  EXPECT_EQ(std::vector<std::byte>(image.begin(), image.end()),
            bytes({1, 0, 0, 0, 7, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0}));
  const auto back = decode_accepted(image);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->big_endian);
  EXPECT_EQ(back->published, 0x0102U);
  EXPECT_EQ(back->step_bytes, 0x0304U);
  EXPECT_EQ(back->writer_incarnation, 7);
  image[0] = std::byte{2};
  EXPECT_EQ(decode_accepted(image).code(), Code::protocol);
  image[0] = std::byte{0};
  image[6] = std::byte{1};
  EXPECT_EQ(decode_accepted(image).code(), Code::protocol);
  EXPECT_EQ(decode_accepted(std::span(image).first(23)).code(), Code::protocol);
}

TEST(RelayMessages, ACreditSaysWhichStepsAreWanted) {
  const auto again = [](const WantedSteps& wanted) {
    const auto decoded = decode_wanted(encode_wanted(wanted));
    EXPECT_TRUE(decoded.ok()) << decoded.status().text();
    return std::pair{decoded->share, decoded->every};
  };
  using Wanted = std::pair<std::uint32_t, std::uint64_t>;
  EXPECT_EQ(encode_wanted({}), 0);
  EXPECT_EQ(encode_wanted({26000, 1}), 26000);
  EXPECT_EQ(encode_wanted({whole_share, 10}), -10);
  EXPECT_EQ(again({}), Wanted(whole_share, 1));
  EXPECT_EQ(again({min_share, 1}), Wanted(min_share, 1));
  EXPECT_EQ(again({whole_share, 2}), Wanted(whole_share, 2));
  EXPECT_EQ(again({whole_share, INT32_MAX}), Wanted(whole_share, INT32_MAX));
  EXPECT_EQ(again({whole_share, std::uint64_t{INT32_MAX} + 1}), Wanted(whole_share, 1));  // all are sent
  EXPECT_EQ(again({whole_share, UINT64_MAX}), Wanted(whole_share, 1));
  EXPECT_EQ(decode_wanted(INT32_MIN)->every, std::uint64_t{1} << 31U);
  for (const std::int32_t wrong : {-1, 1, 511, 65537}) {
    EXPECT_EQ(decode_wanted(wrong).status().code(), Code::protocol) << wrong;
  }
}

TEST(RelayMessages, KindsSayWhoSendsThem) {
  EXPECT_EQ(relay_frame_kind(RelayKind::subscribe), 0x30);
  EXPECT_EQ(relay_frame_kind(RelayKind::accepted), 0x38);
  EXPECT_EQ(relay_frame_kind(RelayKind::evicted), 0x3F);
  EXPECT_TRUE(from_reader(RelayKind::unsubscribe));
  EXPECT_EQ(relay_frame_kind(RelayKind::time), 0x34);
  EXPECT_FALSE(from_reader(RelayKind::accepted));
  EXPECT_FALSE(from_reader(RelayKind::time));
  EXPECT_FALSE(from_reader(RelayKind::unsubscribed));
}

}  // namespace
}  // namespace couplet::wire
