// Large messages that both sides copy.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "os/clock.hpp"
#include "support/parties.hpp"

namespace couplet::message {
namespace {

using counters::Counter;
using test::LaneKind;
using test::Parties;
using test::Party;

constexpr std::uint64_t large = (std::uint64_t{64} << 20U) + 1000;  // the last piece is a short one
constexpr std::uint64_t count = wire::shared_piece_count(large);

std::vector<std::uint32_t> numbers(std::uint64_t bytes, std::uint32_t first) {
  std::vector<std::uint32_t> data(bytes / 4);
  std::iota(data.begin(), data.end(), first);
  return data;
}

// A message of the first party to the second, both in blocking calls.
void pass(Parties& parties, const std::vector<std::uint32_t>& data, std::vector<std::uint32_t>& got) {
  parties.run(
      [&](Party& party) {
        const Status status =
            party.rank() == 0
                ? party.messenger->send(party.group(), data.data(), data.size(), COUPLET_UINT32, 1, 3)
                : party.messenger->recv(party.group(), got.data(), got.size(), COUPLET_UINT32, 0, 3, nullptr);
        ASSERT_TRUE(status.ok()) << status.text();
      },
      false);
}

TEST(Share, BothSidesCopyAndEveryPieceOnce) {
  counters::Counters counters;
  Parties parties(LaneKind::shm, 2, MessengerOptions{.counters = &counters});
  const std::uint64_t deadline_ns = os::deadline_after(30);
  std::uint32_t round = 0;
  std::vector<std::uint32_t> got(large / 4);
  // One side alone may be quick enough at times, on a machine that has little time for the other one.
  while (counters.get(Counter::message_bytes_written_directly) == 0 && os::now_ns() < deadline_ns) {
    const auto data = numbers(large, ++round);
    pass(parties, data, got);
    ASSERT_EQ(got, data);
    ASSERT_EQ(
        counters.get(Counter::message_bytes_read_directly) + counters.get(Counter::message_bytes_written_directly),
        round * large);
  }
  EXPECT_GT(counters.get(Counter::message_bytes_written_directly), 0U);
  EXPECT_GT(counters.get(Counter::message_bytes_read_directly), 0U);
}

TEST(Share, WhereRanksExceedCoresTheReceiverCopiesAlone) {
  counters::Counters counters;
  Parties parties(LaneKind::shm, 2, MessengerOptions{.spin_rounds = 0, .counters = &counters});
  std::vector<std::uint32_t> got(large / 4);
  const auto data = numbers(large, 5);
  pass(parties, data, got);
  EXPECT_EQ(got, data);
  EXPECT_EQ(counters.get(Counter::message_bytes_written_directly), 0U);
}

TEST(Share, ASenderThatDoesNotLookLeavesAllToTheReceiver) {
  counters::Counters counters;
  test::LaneMessengers world(LaneKind::shm, 2, MessengerOptions{.counters = &counters});  // one thread
  std::vector<std::uint32_t> got(large / 4);
  const auto data = numbers(large, 6);
  Request* sending = nullptr;
  Request* receiving = nullptr;
  ASSERT_TRUE(world[0].isend(world[0].universe_group(), data.data(), data.size(), COUPLET_UINT32, 1, 3, &sending).ok());
  ASSERT_TRUE(world[1].irecv(world[1].universe_group(), got.data(), got.size(), COUPLET_UINT32, 0, 3, &receiving).ok());
  ASSERT_TRUE(world.finish(1, &receiving).ok());
  ASSERT_TRUE(world.finish(0, &sending).ok());
  EXPECT_EQ(got, data);
  EXPECT_EQ(counters.get(Counter::message_bytes_read_directly), large);
  EXPECT_EQ(counters.get(Counter::message_bytes_written_directly), 0U);
}

// A piece that the sender seems to have claimed, and never copies: the receiver notices, is sent the whole message, and
// asks this sender for no more pieces.
TEST(Share, AMissingPieceIsNoticed) {
  counters::Counters counters;
  Parties parties(LaneKind::shm, 2, MessengerOptions{.counters = &counters});
  const std::uint64_t deadline_ns = os::deadline_after(30);
  std::atomic<std::uint64_t>& word = *parties[0].channel(1).shared_word(link::Way::outgoing);
  std::vector<std::uint32_t> got(large / 4);
  std::uint32_t round = 0;
  bool taken = false;
  while (!taken && os::now_ns() < deadline_ns) {
    const std::uint64_t before = counters.get(Counter::message_bytes_written_directly);
    std::atomic<bool> over = false;
    std::thread thief([&] {
      while (!over && counters.get(Counter::message_bytes_written_directly) == before) std::this_thread::yield();
      std::uint64_t seen = word.load();
      while (!over && !taken && seen != 0 && wire::unpack_shared_pieces(seen).taken() < count) {
        taken = word.compare_exchange_strong(seen, seen + 1);
      }
    });
    std::fill(got.begin(), got.end(), 0);
    const auto data = numbers(large, ++round);
    pass(parties, data, got);
    over = true;
    thief.join();
    ASSERT_EQ(got, data);
  }
  ASSERT_TRUE(taken);
  const std::uint64_t written = counters.get(Counter::message_bytes_written_directly);
  pass(parties, numbers(large, 9), got);
  EXPECT_EQ(got, numbers(large, 9));
  EXPECT_EQ(counters.get(Counter::message_bytes_written_directly), written);
}

// Somebody writes into the word what does not belong there: what has been copied so far is not taken for all.
TEST(Share, ABrokenWordIsNoticed) {
  test::LaneMessengers world(LaneKind::shm, 2, MessengerOptions{});  // one thread
  const std::uint64_t deadline_ns = os::deadline_after(30);
  std::atomic<std::uint64_t>& word = *world.channel(0, 1).shared_word(link::Way::outgoing);
  bool broken = false;
  for (std::uint32_t round = 0; !broken && os::now_ns() < deadline_ns; ++round) {
    std::atomic<bool> over = false;
    std::thread vandal([&] {
      while (!over && !broken) {
        std::uint64_t seen = word.load();
        auto pieces = wire::unpack_shared_pieces(seen);
        ++pieces.round;
        broken = seen != 0 && word.compare_exchange_strong(seen, wire::pack(pieces));
      }
    });
    std::vector<std::uint32_t> got(large / 4);
    const auto data = numbers(large, round);
    Request* sending = nullptr;
    Request* receiving = nullptr;
    ASSERT_TRUE(
        world[0].isend(world[0].universe_group(), data.data(), data.size(), COUPLET_UINT32, 1, 3, &sending).ok());
    ASSERT_TRUE(
        world[1].irecv(world[1].universe_group(), got.data(), got.size(), COUPLET_UINT32, 0, 3, &receiving).ok());
    ASSERT_TRUE(world.finish(1, &receiving).ok());
    over = true;
    vandal.join();
    ASSERT_TRUE(world.finish(0, &sending).ok());
    ASSERT_EQ(got, data);
  }
  EXPECT_TRUE(broken);
}

}  // namespace
}  // namespace couplet::message
