#include "wire/file_record.hpp"

#include <gmock/gmock.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <vector>

namespace couplet::wire {
namespace {

using Image = std::vector<std::byte>;

Image bytes_of(const std::vector<int>& values) {
  Image image;
  for (const int value : values) {
    image.push_back(static_cast<std::byte>(value));
  }
  return image;
}

Image encoded(const FileRecord& record, const Image& body) {
  Image image(body.size() + file_record_added_bytes);
  encode_file_record(record, body, image);
  return image;
}

const FileRecord golden_record{.kind = FileRecordKind::data,
                               .incarnation = 0x0102,
                               .sequence = 0x1112131415161718,
                               .run_id = 0x2122232425262728,
                               .read_bytes = 0x3132333435363738};
const Image golden_body = bytes_of({0xAA, 0xBB, 0xCC});

// docs/formats/file.md shows the same bytes.
const Image golden_image = bytes_of({
    'C',  'P',  'L',  'F',  0x01, 0x01, 0x02, 0x01, 0x03, 0x00, 0x00, 0x00, 0x25, 0x64, 0xAB, 0x65, 0x18,
    0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37,
    0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0xAA, 0xBB, 0xCC, 0x45, 0x9E, 0x40, 0x0E, 0x45, 0x78, 0x27, 0xE4,
});

TEST(FileRecord, IsEncodedAsThePageSays) {
  EXPECT_EQ(encoded(golden_record, golden_body), golden_image);
}

TEST(FileRecord, IsDecodedAsItWasEncoded) {
  const auto record = decode_file_record(golden_image);
  ASSERT_TRUE(record.ok()) << record.status().text();
  EXPECT_EQ(record->kind, FileRecordKind::data);
  EXPECT_EQ(record->incarnation, golden_record.incarnation);
  EXPECT_EQ(record->body_bytes, golden_body.size());
  EXPECT_EQ(record->sequence, golden_record.sequence);
  EXPECT_EQ(record->run_id, golden_record.run_id);
  EXPECT_EQ(record->read_bytes, golden_record.read_bytes);
}

TEST(FileRecord, EveryPartOfOneIsNotYetOne) {
  for (std::size_t bytes = 0; bytes < golden_image.size(); ++bytes) {
    EXPECT_EQ(decode_file_record(std::span(golden_image).first(bytes)).code(), Code::not_yet) << bytes;
    // A file system may show the pages of the rest as zeros.
    Image holed = golden_image;
    std::fill(holed.begin() + static_cast<std::ptrdiff_t>(bytes), holed.end(), std::byte{0});
    EXPECT_EQ(decode_file_record(holed).code(), Code::not_yet) << bytes;
  }
}

TEST(FileRecord, AChangedBitIsNoticed) {
  for (std::size_t bit = 0; bit < 8 * golden_image.size(); ++bit) {
    Image changed = golden_image;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_EQ(decode_file_record(changed).code(), Code::not_yet) << bit;
  }
}

TEST(FileRecord, ABodyMayBeEncodedInItsPlace) {
  Image image(golden_body.size() + file_record_added_bytes);
  for (std::size_t index = 0; index < golden_body.size(); ++index) {
    image[file_header_bytes + index] = golden_body[index];
  }
  encode_file_record(golden_record, std::span(image).subspan(file_header_bytes, golden_body.size()), image);
  EXPECT_EQ(image, golden_image);
}

TEST(FileRecord, AnotherVersionIsNamed) {
  Image image = golden_image;
  image[4] = std::byte{2};
  std::fill_n(image.begin() + 12, 4, std::byte{0});
  const auto check = static_cast<std::uint32_t>(XXH3_64bits(image.data(), file_header_bytes));
  for (std::size_t index = 0; index < 4; ++index) {
    image[12 + index] = static_cast<std::byte>(check >> (8 * index));
  }
  const auto record = decode_file_record(image);
  EXPECT_EQ(record.code(), Code::version);
  EXPECT_THAT(record.status().text(), testing::HasSubstr("version 2"));
}

TEST(FileRecord, AKindThatDoesNotExistIsAnError) {
  const Image image = encoded({.kind = static_cast<FileRecordKind>(9)}, {});
  const auto record = decode_file_record(image);
  EXPECT_EQ(record.code(), Code::protocol);
  EXPECT_THAT(record.status().text(), testing::HasSubstr("kind 9"));
}

TEST(FileRecord, ARecordWithoutABodyIsOne) {
  const Image image = encoded({.kind = FileRecordKind::end, .sequence = 7}, {});
  EXPECT_EQ(image.size(), file_record_added_bytes);
  const auto record = decode_file_record(image);
  ASSERT_TRUE(record.ok()) << record.status().text();
  EXPECT_EQ(record->kind, FileRecordKind::end);
  EXPECT_EQ(record->sequence, 7U);
}

}  // namespace
}  // namespace couplet::wire
