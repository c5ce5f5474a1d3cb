// The seeds of the fuzzers of `wire` get beyond the decoders.
#include "support/fuzz_seeds.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "couplet/couplet.h"
#include "wire/collective.hpp"
#include "wire/file_record.hpp"
#include "wire/message.hpp"
#include "wire/page.hpp"
#include "wire/series_format.hpp"
#include "wire/task_message.hpp"

namespace couplet::wire {
namespace {

using test::Seeds;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string header_of(SeriesGeometry geometry) {
  geometry.name = "eta";
  geometry.program = "ocean";
  geometry.slot_count = 3;
  EXPECT_TRUE(place_series(geometry).ok());
  std::vector<std::byte> file(geometry.file_bytes);
  encode_series_header(geometry, file);
  EXPECT_TRUE(decode_series_header(std::span(file).first(series_page_bytes), file.size()).ok());
  std::string header = text_of(std::span(file).first(series_page_bytes));
  header.resize(header.find_last_not_of('\0') + 1);  // the fuzzer puts zeros behind it
  return header;
}

// These two formats have the byte order of the host: the seeds are those of a little-endian one.
TEST(FuzzSeeds, OfSeriesHeadersAreSoundFiles) {
  if (own_big_endian) GTEST_SKIP() << "the seeds are files of a little-endian host";
  SeriesGeometry one;
  one.fields = {{"", COUPLET_INT32, 4, {9, 8}, {{{4, 0}, {9, 8}}}}};
  SeriesGeometry two;
  two.writer_count = 2;
  two.writer_rank = 1;
  two.fields = {{"u", COUPLET_DOUBLE, 8, {20}, {{{0}, {5}}, {{10}, {15}}}},
                {"v", COUPLET_FLOAT, 4, {4, 3, 2}, {{{0, 0, 0}, {4, 3, 1}}}}};
  test::check_seeds("series_header", {{"one_field", header_of(one)}, {"two_fields", header_of(two)}});
}

TEST(FuzzSeeds, OfPagesAreAPageAndAnEnvelope) {
  if (own_big_endian) GTEST_SKIP() << "the seeds are pages of a little-endian host";
  constexpr std::uint32_t ranks = 12'000;  // their page has the size that the fuzzer's has
  PageHeader header;
  header.page_bytes = page_bytes_for(ranks);
  header.rank_count = ranks;
  header.knock_words = page_knock_words(ranks);
  header.knocks_offset = page_knocks_offset;
  header.counters_offset = page_counters_offset;
  header.counter_count = 10;
  std::vector<std::byte> page(8192);
  std::memcpy(page.data(), &header, sizeof header);
  EXPECT_TRUE(decode_page_header(page).ok());
  std::array<std::byte, envelope_bytes> envelope{};
  encode_envelope({.address = 4096, .nonce_address = 8192, .nonce = {1, 2, 3}, .process = 77}, envelope);
  EXPECT_TRUE(decode_envelope(envelope).ok());
  test::check_seeds("pages", {{"page", '\0' + text_of(std::span(page).first(sizeof header))},
                              {"envelope", '\1' + text_of(envelope)}});
}

template <typename Decode>
void expect_accepted(const std::string& fuzzer, const Decode& decode) {
  for (const auto& [name, bytes] : test::seeds_of(fuzzer)) {
    const auto decoded = decode(bytes);
    EXPECT_TRUE(decoded.ok()) << fuzzer << "/" << name << ": " << decoded.status().text();
  }
}

TEST(FuzzSeeds, OfOtherFormatsAreAccepted) {
  expect_accepted("collective_notice", decode_collective_notice);
  expect_accepted("task_message", decode_task_message);
  expect_accepted("file_record", [](const std::string& text) { return decode_file_record(bytes_of(text)); });
}

}  // namespace
}  // namespace couplet::wire
