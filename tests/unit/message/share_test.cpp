// Large messages that both sides copy.
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
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
  ASSERT_TRUE(
      world[0].isend(world[0].groups().universe(), data.data(), data.size(), COUPLET_UINT32, 1, 3, &sending).ok());
  ASSERT_TRUE(
      world[1].irecv(world[1].groups().universe(), got.data(), got.size(), COUPLET_UINT32, 0, 3, &receiving).ok());
  ASSERT_TRUE(world.finish(1, &receiving).ok());
  ASSERT_TRUE(world.finish(0, &sending).ok());
  EXPECT_EQ(got, data);
  EXPECT_EQ(counters.get(Counter::message_bytes_read_directly), large);
  EXPECT_EQ(counters.get(Counter::message_bytes_written_directly), 0U);
}

// A piece that the sender seems to have claimed, and never copies: the receiver notices, is sent the whole message, and
// asks this sender for no further pieces.
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
        world[0].isend(world[0].groups().universe(), data.data(), data.size(), COUPLET_UINT32, 1, 3, &sending).ok());
    ASSERT_TRUE(
        world[1].irecv(world[1].groups().universe(), got.data(), got.size(), COUPLET_UINT32, 0, 3, &receiving).ok());
    ASSERT_TRUE(world.finish(1, &receiving).ok());
    over = true;
    vandal.join();
    ASSERT_TRUE(world.finish(0, &sending).ok());
    ASSERT_EQ(got, data);
  }
  EXPECT_TRUE(broken);
}

// At the same addresses in every process that this test forks.
std::array<std::uint8_t, 16> nonce_of_child;
std::vector<std::byte> buffer_of_child(1U << 20U);  // NOLINT: an address that is known before the fork

// A process with this nonce, and nothing else in its buffer than zeros.
class Child {
 public:
  Child() {
    nonce_of_child.fill(7);
    process_ = ::fork();
    while (process_ == 0) ::pause();
    nonce_of_child.fill(1);
  }
  ~Child() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] wire::Envelope envelope() const {
    wire::Envelope envelope{.address = reinterpret_cast<std::uintptr_t>(buffer_of_child.data()),
                            .nonce_address = reinterpret_cast<std::uintptr_t>(nonce_of_child.data()),
                            .process = static_cast<std::uint32_t>(process_)};
    envelope.nonce.fill(7);
    return envelope;
  }
  // As when its number belongs to another process, or it has begun to run another program.
  void becomes_another() const { overwrite(nonce_of_child.data(), nonce_of_child.size()); }
  [[nodiscard]] std::size_t written() const {
    std::vector<std::byte> seen(buffer_of_child.size());
    const iovec local{seen.data(), seen.size()};
    const iovec remote{buffer_of_child.data(), buffer_of_child.size()};
    EXPECT_EQ(::process_vm_readv(process_, &local, 1, &remote, 1, 0), static_cast<ssize_t>(seen.size()));
    return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), std::byte{5}));
  }
  void clear() const { overwrite(buffer_of_child.data(), buffer_of_child.size()); }

 private:
  void overwrite(void* place, std::size_t bytes) const {
    std::vector<std::byte> zeros(bytes);
    const iovec local{zeros.data(), bytes};
    const iovec remote{place, bytes};
    EXPECT_EQ(::process_vm_writev(process_, &local, 1, &remote, 1, 0), static_cast<ssize_t>(bytes));
  }
  pid_t process_ = -1;
};

// The sender asks the system whether the receiver is still there only if it has heard nothing from it lately.
TEST(Share, NothingIsWrittenIntoTheMemoryOfAnotherProcess) {
  const Child child;
  test::LaneMessengers world(LaneKind::shm, 2, MessengerOptions{});  // one thread; nobody polls the receiver
  const std::vector<std::byte> data(buffer_of_child.size(), std::byte{5});
  Request* sending = nullptr;
  ASSERT_TRUE(
      world[0].isend(world[0].groups().universe(), data.data(), data.size(), COUPLET_BYTE, 1, 3, &sending).ok());
  std::atomic<std::uint64_t>& word = *world.channel(0, 1).shared_word(link::Way::outgoing);
  const auto share = [&](std::uint32_t round, std::uint64_t sent_ns) {
    word = wire::pack({.round = round});
    wire::FrameHeader header;
    header.kind = wire::message_frame_kind(wire::MessageKind::share);
    header.payload_bytes = wire::envelope_bytes;
    header.context = round;
    header.tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(sent_ns / 1000));
    header.second = sending->cookie;
    std::array<std::byte, wire::envelope_bytes> image;
    wire::encode_envelope(child.envelope(), image);
    ASSERT_TRUE(world.channel(1, 0).try_send(header, image));
    world.channel(0, 1).poll(1);
  };
  constexpr std::uint64_t second_ns = 1'000'000'000;
  share(1, os::now_ns() - second_ns);
  ASSERT_EQ(wire::unpack_shared_pieces(word).taken(), wire::shared_piece_count(data.size()));
  EXPECT_EQ(child.written(), data.size());
  child.clear();
  child.becomes_another();
  share(2, os::now_ns() - second_ns);
  EXPECT_EQ(wire::unpack_shared_pieces(word).taken(), 1U);  // it was claimed, but not written
  EXPECT_EQ(child.written(), 0U);

  wire::FrameHeader done;
  done.kind = wire::message_frame_kind(wire::MessageKind::done);
  done.second = sending->cookie;
  ASSERT_TRUE(world.channel(1, 0).try_send(done, {}));
  EXPECT_TRUE(world[0].wait(&sending, os::deadline_after(30), nullptr).ok());
}

// The receiver asks once, after all was read, whether it has read the memory of the sender. In the loop the sender
// seems to have copied the last piece, so that the receiver asks after a piece that was not the last one.
TEST(Share, NothingIsReceivedFromTheMemoryOfAnotherProcess) {
  const std::uint64_t deadline_ns = os::deadline_after(30);
  const std::uint64_t pieces = wire::shared_piece_count(buffer_of_child.size());
  bool helped = false;
  while (!helped && os::now_ns() < deadline_ns) {
    const Child child;
    test::LaneMessengers world(LaneKind::shm, 2, MessengerOptions{});  // one thread; nobody polls the sender
    std::vector<std::byte> got(buffer_of_child.size(), std::byte{1});
    const auto receive = [&] {
      Request* receiving = nullptr;
      EXPECT_TRUE(
          world[1].irecv(world[1].groups().universe(), got.data(), got.size(), COUPLET_BYTE, 0, 3, &receiving).ok());
      wire::FrameHeader header;
      header.kind = wire::message_frame_kind(wire::MessageKind::envelope);
      header.payload_bytes = wire::envelope_bytes;
      header.tag = receiving->tag;
      header.context = receiving->context;
      header.first = got.size();
      std::array<std::byte, wire::envelope_bytes> image;
      wire::encode_envelope(child.envelope(), image);
      EXPECT_TRUE(world.channel(0, 1).try_send(header, image));
      world.channel(1, 0).poll(1);
      return receiving;
    };
    Request* first = receive();
    ASSERT_TRUE(first->done);
    ASSERT_TRUE(world.finish(1, &first).ok());
    ASSERT_EQ(std::count(got.begin(), got.end(), std::byte{0}), static_cast<long>(got.size()));

    child.becomes_another();
    std::atomic<std::uint64_t>& word = *world.channel(1, 0).shared_word(link::Way::incoming);
    std::atomic<bool> over = false;
    std::uint16_t left = 0;
    std::thread helper([&] {
      while (!over && !helped) {
        std::uint64_t seen = word.load();
        auto taken = wire::unpack_shared_pieces(seen);
        left = static_cast<std::uint16_t>(pieces - taken.taken());
        taken.from_front = static_cast<std::uint16_t>(taken.from_front + left);
        helped = seen != 0 && taken.from_back > 0 && left > 0 && word.compare_exchange_strong(seen, wire::pack(taken));
      }
    });
    Request* second = receive();
    over = true;
    helper.join();
    wire::FrameHeader shared;  // the sender has copied its pieces
    shared.kind = wire::message_frame_kind(wire::MessageKind::shared);
    shared.first = left;
    shared.second = second->cookie;
    if (helped) {
      ASSERT_TRUE(world.channel(0, 1).try_send(shared, {}));
      world.channel(1, 0).poll(1);
    }
    EXPECT_FALSE(second->done);
    world.kill(0);
    EXPECT_FALSE(world.finish(1, &second).ok());
  }
  EXPECT_TRUE(helped);
}

}  // namespace
}  // namespace couplet::message
