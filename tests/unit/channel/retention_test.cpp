// What is kept until it is acknowledged, and what is sent again.
#include "channel/retention.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "channel/reorder.hpp"
#include "wire/session.hpp"

namespace couplet::channel {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const RetainedFrame& frame) {
  return {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()};
}

TEST(Retention, sends_again_in_order_what_a_lost_lane_had) {
  RetentionPool pool;
  Retention retention(pool);
  std::vector<Outgoing> kept(3);
  const std::string text(5000, 'k');
  for (std::uint64_t number = 0; number < 30; ++number) {
    const auto lane = static_cast<std::uint32_t>(1 + number % 2);
    if (number % 10 == 4) {
      Outgoing& outgoing = kept[number / 10];
      outgoing.number = number;
      outgoing.lane = lane;
      outgoing.payload = bytes_of(text);
      retention.keep(outgoing);
    } else {
      const std::string payload = std::to_string(number) + std::string(900, 'c');
      ASSERT_TRUE(retention.make_room(payload.size()));
      retention.copy({}, bytes_of(payload), number, lane);
    }
  }
  EXPECT_FALSE(retention.any_to_send_again());
  retention.lose_lane(1);
  for (std::uint64_t number = 0; number < 30; number += 2) {
    const RetainedFrame frame = retention.first_to_send_again();
    ASSERT_NE(frame.header, nullptr);
    EXPECT_EQ(frame.number, number);
    EXPECT_EQ(text_of(frame).substr(0, 1), number % 10 == 4 ? "k" : std::to_string(number).substr(0, 1));
    retention.send_again_over(frame, 3);
    if (number == 10) {  // acknowledged in between
      retention.drop_copies_below(7);
      EXPECT_EQ(retention.take_kept_below(7), kept.data());
      EXPECT_EQ(retention.take_kept_below(7), nullptr);
    }
  }
  EXPECT_FALSE(retention.any_to_send_again());
  EXPECT_EQ(retention.first_to_send_again().header, nullptr);
  retention.lose_lane(3);
  EXPECT_EQ(retention.first_to_send_again().number, 8U);
  retention.drop_copies_below(30);
  while (retention.take_kept_below(30) != nullptr) {
  }
  EXPECT_TRUE(retention.empty());
  EXPECT_FALSE(retention.any_to_send_again());
  EXPECT_EQ(retention.bytes(), 0U);
  EXPECT_EQ(pool.used_bytes(), 0U);
}

TEST(Retention, is_bounded_for_one_channel_and_for_all) {
  RetentionPool pool(200U << 10);
  const std::string payload(10'000, 'x');
  {
    Retention first(pool);
    Retention second(pool);
    EXPECT_FALSE(first.make_room(max_copied_bytes + 1));
    std::uint64_t number = 0;
    while (first.make_room(payload.size())) {
      first.copy({}, bytes_of(payload), number++, 1);
    }
    EXPECT_EQ(number, 16U);  // one large block
    EXPECT_FALSE(second.make_room(payload.size()));
    EXPECT_TRUE(second.make_room(100));
  }
  EXPECT_EQ(pool.used_bytes(), 0U);
  RetentionPool wide;
  Retention one(wide);
  std::uint64_t number = 0;
  while (one.make_room(payload.size())) {
    one.copy({}, bytes_of(payload), number++, 1);
  }
  EXPECT_LE(one.bytes(), max_retained_bytes);
  EXPECT_GT(one.bytes(), max_retained_bytes - 11'000);
}

// Fault: each large block came from the system and went back to it, with a page fault for every 4 KiB that it took.
TEST(RetentionPool, keeps_blocks_of_both_sizes_for_the_next_copies) {
  RetentionPool pool;
  for (const std::size_t bytes : {std::size_t{100}, max_copied_bytes}) {
    RetentionPool::Block* const block = pool.take(bytes);
    const std::size_t block_bytes = sizeof(RetentionPool::Block) + block->capacity;
    pool.give(block);
    void* const taken_by_others = ::operator new(block_bytes);
    EXPECT_EQ(pool.take(bytes), block);
    pool.give(block);
    ::operator delete(taken_by_others);
  }
}

TEST(Reorder, keeps_each_frame_once_and_is_bounded) {
  Reorder reorder;
  const std::string payload(1U << 20, 'x');
  EXPECT_TRUE(reorder.keep(7, {}, bytes_of("seven")).ok());
  EXPECT_TRUE(reorder.keep(7, {}, bytes_of("again")).ok());
  EXPECT_FALSE(reorder.take(6).has_value());
  EXPECT_EQ(reorder.take(7)->payload.size(), 5U);
  EXPECT_TRUE(reorder.empty());
  std::uint64_t number = 0;
  Status status;
  while ((status = reorder.keep(number, {}, bytes_of(payload))).ok()) {
    ASSERT_LT(++number, 100U);
  }
  EXPECT_EQ(status.code(), Code::limit);
  EXPECT_EQ(number, max_unacknowledged_bytes / payload.size() + 1);
}

// Golden bytes: docs/formats/frame.md.
TEST(SessionNotice, is_24_bytes_and_little_endian) {
  const auto image = wire::encode_session({.session = 0x1122334455667788, .peer_session = 2, .received = 0x0103});
  const std::uint8_t expected[] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 2, 0, 0, 0,
                                   0,    0,    0,    0,    3,    1,    0,    0,    0, 0, 0, 0};
  ASSERT_EQ(image.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(image.data(), expected, sizeof expected), 0);
  const auto decoded = wire::decode_session(image);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->session, 0x1122334455667788U);
  EXPECT_EQ(decoded->peer_session, 2U);
  EXPECT_EQ(decoded->received, 0x0103U);
  EXPECT_EQ(wire::decode_session(std::span(image).first(23)).code(), Code::protocol);
  EXPECT_EQ(wire::decode_session(wire::encode_session({.session = 0})).code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::channel
