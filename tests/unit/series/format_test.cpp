// The header of a series file: golden bytes, and that nothing of a damaged one is believed.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "couplet/couplet.h"
#include "wire/series_format.hpp"

namespace couplet::wire {
namespace {

SeriesGeometry example() {
  SeriesGeometry geometry;
  geometry.name = "eta";
  geometry.program = "ocean";
  geometry.fields = {{"", COUPLET_INT32, 4, {900, 800}, {{{450, 0}, {900, 800}}}}};
  geometry.slot_count = 5;
  geometry.writer_peer = 3;
  geometry.writer_incarnation = 2;
  geometry.writer_rank = 1;
  geometry.writer_count = 2;
  return geometry;
}

// Only the pages before the slots: what a reader looks at.
std::vector<std::byte> file_of(SeriesGeometry& geometry) {
  EXPECT_TRUE(place_series(geometry).ok());
  std::vector<std::byte> bytes(geometry.file_bytes);
  encode_series_header(geometry, bytes);
  return bytes;
}

template <typename Value>
void set(std::vector<std::byte>& bytes, std::size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

Code decode_code(const std::vector<std::byte>& bytes) {
  return decode_series_header(std::span(bytes).first(series_page_bytes), bytes.size()).code();
}

TEST(SeriesFormat, WhatWasWrittenIsRead) {
  SeriesGeometry geometry = example();
  const auto bytes = file_of(geometry);
  const auto read = decode_series_header(std::span(bytes).first(series_page_bytes), bytes.size());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->name, "eta");
  EXPECT_EQ(read->program, "ocean");
  EXPECT_EQ(read->fields[0].shape, geometry.fields[0].shape);
  EXPECT_EQ(read->fields[0].boxes, geometry.fields[0].boxes);
  EXPECT_EQ(read->step_bytes, 450U * 800 * 4);
  EXPECT_EQ(read->slot_stride % series_page_bytes, 0U);
  EXPECT_EQ(read->slots_offset % series_page_bytes, 0U);
  EXPECT_EQ(read->file_bytes, bytes.size());
  EXPECT_EQ(read->writer_peer, 3U);
  EXPECT_EQ(read->writer_incarnation, 2U);
}

TEST(SeriesFormat, SeveralFieldsAndBoxesHaveTheirPlace) {
  SeriesGeometry geometry = example();
  geometry.fields = {{"height", COUPLET_FLOAT, 4, {900, 800}, {{{0, 0}, {10, 10}}, {{20, 0}, {25, 10}}}},
                     {"depth", COUPLET_DOUBLE, 8, {40}, {{{1}, {4}}}},
                     {"ice", COUPLET_INT16, 2, {3, 3, 3}, {}}};
  const auto bytes = file_of(geometry);
  const auto read = decode_series_header(std::span(bytes).first(series_page_bytes), bytes.size());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->fields[0].boxes, geometry.fields[0].boxes);
  EXPECT_EQ(read->fields[1].name, "depth");
  EXPECT_EQ(read->fields[1].shape, std::vector<std::int64_t>{40});
  EXPECT_EQ(read->fields[1].offset_bytes, 640U);  // 150 x 4 = 600, rounded up to a cache line
  EXPECT_EQ(read->fields[1].bytes, 3U * 8);
  EXPECT_EQ(read->fields[2].boxes.size(), 0U);
  EXPECT_EQ(read->fields[2].bytes, 0U);
  EXPECT_EQ(read->step_bytes, 704U);
}

TEST(SeriesFormat, GoldenBytes) {
  SeriesGeometry geometry = example();
  const auto bytes = file_of(geometry);
  const std::vector<unsigned char> expected = {
      'C', 'S', 'E', 'R', 'I', 'E', 'S', '1',  // magic
      4,   3,   2,   1,   3,   0,   0,   0,    // byte order, version
  };
  if (std::endian::native == std::endian::little) {
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0);
  }
  const auto value_at = [&](std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(value_at(24), geometry.file_bytes);
  EXPECT_EQ(value_at(32), 4096U);        // control
  EXPECT_EQ(value_at(40), 8192U);        // readers
  EXPECT_EQ(value_at(48), 12288U);       // slot headers
  EXPECT_EQ(value_at(56), 16384U);       // slots
  EXPECT_EQ(value_at(64), 5U);           // slot count
  EXPECT_EQ(value_at(72), 352U * 4096);  // stride
  EXPECT_EQ(value_at(80), 1440000U);     // step bytes
  EXPECT_EQ(std::memcmp(bytes.data() + 128, "eta", 4), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 256, "ocean", 6), 0);
  EXPECT_EQ(value_at(384 + 72), 0U);          // offset of the field
  EXPECT_EQ(value_at(384 + 80), 1440000U);    // its bytes
  EXPECT_EQ(value_at(384 + 96), 900U);        // its shape
  EXPECT_EQ(value_at(544), 450U);             // its box
  EXPECT_EQ(value_at(4096 + 8), UINT64_MAX);  // nobody sleeps
}

TEST(SeriesFormat, AnotherVersionOrByteOrderIsAVersion) {
  SeriesGeometry geometry = example();
  auto bytes = file_of(geometry);
  set(bytes, 12, std::uint32_t{1});
  EXPECT_EQ(decode_code(bytes), Code::version);
  set(bytes, 12, std::uint32_t{2});
  set(bytes, 8, std::uint32_t{0x04030201});
  EXPECT_EQ(decode_code(bytes), Code::version);
}

TEST(SeriesFormat, EveryFieldIsChecked) {
  SeriesGeometry geometry = example();
  const auto sound = file_of(geometry);
  ASSERT_EQ(decode_code(sound), Code::ok);
  // offset, and a value that is out of range there
  const std::vector<std::pair<std::size_t, std::uint64_t>> damages = {
      {0, 7},        {24, 1},          {32, 4097},    {40, 64},          {48, UINT64_MAX},      {56, 0},
      {64, 0},       {64, UINT64_MAX}, {64, 6},       {72, 4096},        {80, 1440001},         {88, UINT64_MAX},
      {88, 0},       {92, UINT64_MAX}, {100, 2},      {100, UINT64_MAX}, {112, UINT64_MAX},     {384 + 64, 77},
      {384 + 72, 8}, {384 + 80, 9},    {384 + 88, 0}, {384 + 88, 9},     {384 + 88, 2},         {384 + 92, 2},
      {384 + 92, 0}, {384 + 96, 10},   {544, 901},    {544 + 64, 901},   {384 + 96, UINT64_MAX}};
  for (const auto& [offset, value] : damages) {
    auto bytes = sound;
    set(bytes, offset, value);
    EXPECT_EQ(decode_code(bytes), Code::protocol) << "offset " << offset << " value " << value;
  }
  auto unended = sound;
  std::memset(unended.data() + 128, 'x', series_name_bytes);
  EXPECT_EQ(decode_code(unended), Code::protocol);
  EXPECT_EQ(decode_series_header(std::span(sound).first(100), sound.size()).code(), Code::protocol);
  EXPECT_EQ(decode_series_header(std::span(sound).first(series_page_bytes), sound.size() - 1).code(), Code::protocol);
}

TEST(SeriesFormat, AHeaderOfManyBoxesIsLongerThanAPage) {
  SeriesGeometry geometry = example();
  geometry.slot_count = 2;
  geometry.fields[0].boxes.clear();
  for (std::int64_t row = 0; row < 900; row += 2) {
    geometry.fields[0].boxes.push_back({{row, 0}, {row + 1, 8}});
  }
  const auto bytes = file_of(geometry);
  EXPECT_GT(geometry.control_offset, 10 * series_page_bytes);
  const auto read = decode_series_header(bytes, bytes.size());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->fields[0].boxes, geometry.fields[0].boxes);
  EXPECT_EQ(read->control_offset, geometry.control_offset);
  EXPECT_EQ(decode_code(bytes), Code::protocol);  // one page is not all of it
}

TEST(SeriesFormat, WhateverIsDecodedStaysInsideTheFile) {
  SeriesGeometry geometry = example();
  const auto sound = file_of(geometry);
  std::mt19937 random(4);
  for (int turn = 0; turn < 20000; ++turn) {
    auto page = std::vector<std::byte>(sound.begin(), sound.begin() + series_page_bytes);
    for (auto damages = 1 + random() % 3; damages > 0; --damages) {
      page[random() % 700] = static_cast<std::byte>(random());
    }
    const auto read = decode_series_header(page, sound.size());
    if (read) {
      EXPECT_LE(read->slots_offset + read->slot_count * read->slot_stride, sound.size());
      EXPECT_LE(read->step_bytes, read->slot_stride);
      EXPECT_LE(read->readers_offset + read->reader_entries * sizeof(SeriesReaderEntry), read->slot_headers_offset);
    }
  }
}

TEST(SeriesFormat, LimitsAreNamed) {
  SeriesGeometry geometry = example();
  geometry.slot_count = std::uint64_t{1} << 61;
  EXPECT_EQ(place_series(geometry).code(), Code::limit);
  geometry = example();
  geometry.reader_entries = 0;
  EXPECT_EQ(place_series(geometry).code(), Code::limit);
  geometry.reader_entries = series_largest_reader_table + 1;
  EXPECT_EQ(place_series(geometry).code(), Code::limit);
  geometry = example();
  geometry.name.assign(series_name_bytes, 'n');
  EXPECT_EQ(place_series(geometry).code(), Code::limit);
  geometry = example();
  geometry.fields[0].name.assign(series_field_name_bytes, 'n');
  EXPECT_EQ(place_series(geometry).code(), Code::limit);
  geometry = example();
  geometry.fields.resize(series_most_fields + 1, geometry.fields[0]);
  EXPECT_EQ(place_series(geometry).code(), Code::limit);
  geometry = example();
  geometry.fields[0].boxes.resize(series_most_boxes + 1, geometry.fields[0].boxes[0]);
  EXPECT_EQ(place_series(geometry).code(), Code::limit);
  geometry.fields[0].boxes.resize(series_most_boxes);
  EXPECT_TRUE(place_series(geometry).ok());
  EXPECT_EQ(geometry.control_offset % series_page_bytes, 0U);
  EXPECT_GE(geometry.control_offset, series_page_bytes + series_most_boxes * sizeof(SeriesBoxImage));
}

}  // namespace
}  // namespace couplet::wire
