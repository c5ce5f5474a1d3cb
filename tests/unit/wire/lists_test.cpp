#include "wire/lists.hpp"

#include <gtest/gtest.h>

namespace couplet::wire {
namespace {

TEST(Lists, ComeBackAsTheyWere) {
  const std::vector<std::int64_t> numbers{0, -1, 258, INT64_MAX, INT64_MIN};
  const std::string image = encode_list(std::span<const std::int64_t>(numbers));
  EXPECT_EQ(image.substr(16, 8), std::string("\x02\x01\0\0\0\0\0\0", 8));
  EXPECT_EQ(*decode_list<std::int64_t>(image), numbers);
  EXPECT_EQ(decode_list<std::int64_t>(image.substr(1)).code(), Code::protocol);
  EXPECT_TRUE(decode_list<std::int32_t>("")->empty());
}

TEST(Parcels, ComeBackAsTheyWere) {
  std::string image;
  append_parcel({.from = 2, .to = 0, .bytes = "kernel"}, image);
  append_parcel({.from = 1, .to = 2, .bytes = ""}, image);
  EXPECT_EQ(image, std::string("\2\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0kernel\1\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0", 38));
  std::vector<MovingParcel> parcels;
  ASSERT_TRUE(take_parcels(image, 3, parcels).ok());
  ASSERT_EQ(parcels.size(), 2U);
  EXPECT_EQ(parcels[0].from, 2);
  EXPECT_EQ(parcels[0].to, 0);
  EXPECT_EQ(parcels[0].bytes, "kernel");
  EXPECT_EQ(parcels[1].bytes, "");
}

TEST(Parcels, AreRefusedIfTheyAreCutOrOfNoMember) {
  std::string image;
  append_parcel({.from = 2, .to = 0, .bytes = "kernel"}, image);
  std::vector<MovingParcel> parcels;
  EXPECT_EQ(take_parcels(image, 2, parcels).code(), Code::protocol);
  for (std::size_t bytes = 1; bytes < image.size(); ++bytes) {
    EXPECT_EQ(take_parcels(image.substr(0, bytes), 3, parcels).code(), Code::protocol) << bytes;
  }
  image[15] = '\x7F';  // more bytes than there are
  EXPECT_EQ(take_parcels(image, 3, parcels).code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::wire
