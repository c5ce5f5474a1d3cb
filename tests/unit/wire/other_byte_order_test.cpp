// What a process of the other byte order makes: mapped files are refused with that reason, and messages say in which
// order their numbers are. The files of the tests are those of this process with the bytes of each number reversed.
// Whole programs of both byte orders meet in tests/cross (make test-cross).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "couplet/couplet.h"
#include "wire/collective.hpp"
#include "wire/message.hpp"
#include "wire/page.hpp"
#include "wire/ring.hpp"
#include "wire/series_format.hpp"
#include "wire/task_message.hpp"

namespace couplet::wire {
namespace {

void reverse(std::vector<std::byte>& image, std::size_t offset, std::size_t bytes) {
  const auto begin = image.begin() + static_cast<std::ptrdiff_t>(offset);
  std::reverse(begin, begin + static_cast<std::ptrdiff_t>(bytes));
}

void expect_refused(const Status& status) {
  EXPECT_EQ(status.code(), Code::version);
  EXPECT_NE(status.text().find("the other byte order"), std::string::npos) << status.text();
}

TEST(OtherByteOrder, OfAProcessPageIsNamed) {
  PageHeader header;
  header.page_bytes = page_bytes_for(3);
  header.rank_count = 3;
  header.knock_words = page_knock_words(3);
  header.knocks_offset = page_knocks_offset;
  header.counters_offset = page_counters_offset;
  std::vector<std::byte> page(header.page_bytes);
  std::memcpy(page.data(), &header, sizeof header);
  ASSERT_TRUE(decode_page_header(page).ok());
  for (std::size_t offset = 8; offset < 96; offset += 4) {
    const bool wide = offset == 24 || (offset >= 48 && offset < 72);
    reverse(page, offset, wide ? 8 : 4);
    offset += wide ? 4 : 0;
  }
  expect_refused(decode_page_header(page).status());
}

TEST(OtherByteOrder, OfARingIsNamed) {
  const RingShape shape{.cell_count = 8, .bulk_bytes = 4096};
  const std::size_t bytes = ring_file_bytes(shape);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(ring_alignment, bytes)), &std::free);
  std::memset(memory.get(), 0, bytes);
  ASSERT_TRUE(RingMap::lay_out({memory.get(), bytes}, shape, RingHeader()).ok());
  ASSERT_TRUE(RingMap::inspect({memory.get(), bytes}).ok());
  std::reverse(memory.get(), memory.get() + 8);
  for (std::size_t offset = 8; offset < 32; offset += 4) std::reverse(memory.get() + offset, memory.get() + offset + 4);
  expect_refused(RingMap::inspect({memory.get(), bytes}).status());
}

TEST(OtherByteOrder, OfASeriesFileIsNamed) {
  SeriesGeometry geometry;
  geometry.name = "eta";
  geometry.program = "ocean";
  geometry.fields = {{"", COUPLET_INT32, 4, {9, 8}, {{{4, 0}, {9, 8}}}}};
  geometry.slot_count = 2;
  geometry.writer_count = 1;
  ASSERT_TRUE(place_series(geometry).ok());
  std::vector<std::byte> file(geometry.file_bytes);
  encode_series_header(geometry, file);
  const auto decoded = [&] { return decode_series_header(std::span(file).first(series_page_bytes), file.size()); };
  ASSERT_TRUE(decoded().ok());
  reverse(file, 0, 8);
  for (std::size_t offset = 8; offset < 16; offset += 4) reverse(file, offset, 4);
  for (std::size_t offset = 16; offset < 112; offset += 8) reverse(file, offset, 8);
  expect_refused(decoded().status());
}

// The bytes below are those that a big-endian host sends, whatever the host that runs the test.
TEST(OtherByteOrder, OfAMessageIsInItsKind) {
  EXPECT_EQ(message_frame_kind(MessageKind::eager, true), 0x18);
  EXPECT_EQ(message_frame_kind(MessageKind::envelope, true), 0x19);
  EXPECT_EQ(message_frame_kind(MessageKind::eager, own_big_endian), own_big_endian ? 0x18 : 0x10);
  EXPECT_EQ(own_big_endian, std::endian::native == std::endian::big);
}

TEST(OtherByteOrder, OfACollectiveCallIsInItsHead) {
  const CollectiveHead head = {.kind = 4, .method = 3, .type = 10, .operation = 2, .count = 258, .big_endian = true};
  std::array<std::byte, collective_head_bytes> image{};
  encode_collective_head(head, image);
  EXPECT_EQ(image[20], std::byte{1});  // the flags
  EXPECT_EQ(image[8], std::byte{2});   // the head itself is little-endian on every host
  EXPECT_EQ(image[9], std::byte{1});
  const auto back = decode_collective_head({reinterpret_cast<const char*>(image.data()), image.size()});
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->big_endian);
  EXPECT_TRUE(back->agrees(head));
}

TEST(OtherByteOrder, OfATaskMessageIsInItsHead) {
  TaskMessage message;
  message.kind = TaskMessageKind::work;
  message.type = COUPLET_INT16;
  message.big_endian = true;
  message.numbers = {0x0102};
  message.payload = std::string("\x01\x02\x03\x04", 4);
  const std::string image = encode_task_message(message);
  EXPECT_EQ(image[5], 1);
  EXPECT_EQ(image.substr(image.size() - 4), message.payload);  // as it is in the sender's memory
  EXPECT_NE(image.find(std::string("\x02\x01\x00\x00\x00\x00\x00\x00", 8)), std::string::npos);
  const auto back = decode_task_message(image);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->big_endian);
  EXPECT_EQ(back->numbers, message.numbers);
}

}  // namespace
}  // namespace couplet::wire
