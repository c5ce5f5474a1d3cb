#include "wire/page.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace couplet::wire {
namespace {

std::vector<std::byte> page_of(const PageHeader& header, std::size_t bytes) {
  std::vector<std::byte> page(bytes);
  std::memcpy(page.data(), &header, sizeof header);
  return page;
}

PageHeader good_header(std::uint32_t ranks) {
  PageHeader header;
  header.page_bytes = page_bytes_for(ranks);
  header.rank_count = ranks;
  header.knock_words = page_knock_words(ranks);
  header.knocks_offset = page_knocks_offset;
  header.counters_offset = page_counters_offset;
  header.counter_count = 10;
  header.run_id = 0x0123456789abcdef;
  header.peer = 7;
  header.memory_nonce = 0x1122334455667788;
  return header;
}

TEST(Page, KeepsWhatWasWritten) {
  const auto header = good_header(3);
  const auto decoded = decode_page_header(page_of(header, header.page_bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status().text();
  EXPECT_EQ(decoded->run_id, header.run_id);
  EXPECT_EQ(decoded->peer, 7U);
  EXPECT_EQ(decoded->memory_nonce, header.memory_nonce);
}

TEST(Page, OffsetsAreThoseOfTheFormatPage) {
  const auto page = page_of(good_header(3), 4096);
  EXPECT_EQ(std::memcmp(page.data(), "CPLTPAGE", 8), 0);
  std::uint32_t number = 0;
  std::memcpy(&number, page.data() + 84, 4);
  EXPECT_EQ(number, 384U);
  std::memcpy(&number, page.data() + 80, 4);
  EXPECT_EQ(number, 1408U);
  std::memcpy(&number, page.data() + 32, 4);
  EXPECT_EQ(number, 7U);
}

TEST(Page, RefusesWhatIsNoPage) {
  auto header = good_header(3);
  EXPECT_EQ(decode_page_header(std::vector<std::byte>(100)).code(), Code::protocol);
  EXPECT_EQ(decode_page_header(std::vector<std::byte>(4096)).code(), Code::protocol);
  EXPECT_EQ(decode_page_header(page_of(header, 8192)).code(), Code::protocol);
  header.version = 2;
  EXPECT_EQ(decode_page_header(page_of(header, 4096)).code(), Code::version);
  header = good_header(3);
  header.rank_count = page_most_ranks + 1;
  EXPECT_EQ(decode_page_header(page_of(header, 4096)).code(), Code::protocol);
  header = good_header(3);
  header.counter_count = page_counter_capacity + 1;
  EXPECT_EQ(decode_page_header(page_of(header, 4096)).code(), Code::protocol);
  header = good_header(3);
  header.program.fill('a');
  EXPECT_EQ(decode_page_header(page_of(header, 4096)).code(), Code::protocol);
}

TEST(Page, TenThousandRanksFitFewPages) {
  EXPECT_EQ(page_bytes_for(1), 4096U);
  EXPECT_LE(page_bytes_for(10'000), 8192U);
}

}  // namespace
}  // namespace couplet::wire
