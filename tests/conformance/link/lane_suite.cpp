// What every lane must do, however it is implemented (src/link/link.hpp).
#include <chrono>
#include <cstring>
#include <deque>
#include <numeric>

#include "base/random.hpp"
#include "link_case.hpp"

namespace couplet::conformance {

namespace {

using link::Lane;

using Bytes = std::vector<std::byte>;

Bytes content(std::uint32_t number, std::size_t size) {
  Bytes bytes(size);
  Random random(number);
  std::uint64_t word = 0;
  for (std::size_t index = 0; index < size; ++index) {
    if (index % 8 == 0) {
      word = random.next();
    }
    bytes[index] = static_cast<std::byte>(word >> (8 * (index % 8)));
  }
  return bytes;
}

wire::FrameHeader header_of(std::uint32_t number, std::size_t size) {
  wire::FrameHeader header;
  header.kind = wire::frame_kind(wire::FrameFamily::message, static_cast<std::uint8_t>(number % 16));
  header.sequence = number;
  header.payload_bytes = static_cast<std::uint32_t>(size);
  header.tag = -static_cast<std::int32_t>(number);
  header.context = number * 7;
  header.first = std::uint64_t{number} << 32;
  header.second = ~std::uint64_t{number};
  return header;
}

// Receives frames and compares them with what must come.
struct Receiver : link::FrameReceiver {
  std::byte* place(const wire::FrameHeader& header) override {
    places.push_back(header.sequence);
    if (!use_place) {
      return nullptr;
    }
    memory.assign(header.payload_bytes, std::byte{0xEE});
    return memory.data();
  }
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override {
    const auto expected = header_of(next, header.payload_bytes);
    EXPECT_EQ(std::memcmp(&header, &expected, sizeof(header)), 0) << "header of frame " << next;
    EXPECT_EQ(payload.size(), header.payload_bytes);
    const Bytes bytes = content(next, payload.size());
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), bytes.begin())) << "payload of frame " << next;
    if (payload.size() > link::most_unplaced_bytes) {
      EXPECT_TRUE(!places.empty() && places.back() == next) << "place was not asked for frame " << next;
      EXPECT_TRUE(!use_place || payload.data() == memory.data());
    }
    sizes.push_back(payload.size());
    ++next;
    if (on_frame) {
      on_frame();
    }
    return next != stop_at;
  }

  std::uint32_t next = 0;
  std::uint32_t stop_at = UINT32_MAX;
  bool use_place = false;
  std::vector<std::uint32_t> places;
  std::vector<std::size_t> sizes;
  std::function<void()> on_frame;
  Bytes memory;
};

// Sends frames of certain sizes, and continues after a partial push. It overwrites the bytes that were taken.
struct Sender {
  Lane& lane;
  std::deque<std::size_t> sizes;
  std::uint32_t next = 0;
  Bytes payload;
  std::uint64_t taken = 0;
  std::uint64_t partial_pushes = 0;

  // Returns the bytes that were taken, or -1 if the lane has failed.
  std::int64_t go() {
    std::int64_t moved = 0;
    while (!sizes.empty()) {
      const std::size_t size = sizes.front();
      if (taken == 0) {
        payload = content(next, size);
      }
      const auto total = static_cast<std::int64_t>(wire::frame_header_bytes + size);
      const std::int64_t count = lane.push(header_of(next, size), payload, taken);
      EXPECT_LE(count + static_cast<std::int64_t>(taken), total);
      if (count <= 0) {
        return count < 0 ? count : moved;
      }
      moved += count;
      taken += static_cast<std::uint64_t>(count);
      const std::uint64_t header_bytes = wire::frame_header_bytes;
      const std::uint64_t spoiled = taken - std::min(taken, header_bytes);
      std::fill_n(payload.begin(), spoiled, std::byte{0xDD});
      if (static_cast<std::int64_t>(taken) < total) {
        ++partial_pushes;
        continue;
      }
      sizes.pop_front();
      taken = 0;
      ++next;
    }
    return moved;
  }
};

struct Watchdog {
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  [[nodiscard]] bool patient() const { return std::chrono::steady_clock::now() < end; }
};

// Sends and receives until `frames` frames have arrived.
void transfer(Connection& connection, Sender& sender, Lane& to, Receiver& receiver, std::uint32_t frames) {
  const Watchdog watchdog;
  while (receiver.next < frames && watchdog.patient() && !testing::Test::HasFailure()) {
    const std::int64_t sent = sender.go();
    static_cast<void>(sender.lane.poll(receiver, 0));  // it may hold the end of the last frame
    const int taken = to.poll(receiver, 16);
    ASSERT_TRUE(sent >= 0 && taken >= 0) << sender.lane.failure().text() << "; " << to.failure().text();
    if (sent == 0 && taken == 0) {
      connection.pause();
    }
  }
  EXPECT_EQ(receiver.next, frames);
}

// Polls until the result is not 0.
int poll_until(Connection& connection, Lane& lane, Receiver& receiver, int budget = 64) {
  const Watchdog watchdog;
  int answer = 0;
  while ((answer = lane.poll(receiver, budget)) == 0 && watchdog.patient()) {
    connection.pause();
  }
  return answer;
}

std::size_t largest(const Lane& lane) {
  return lane.traits().largest_payload;
}

}  // namespace

TEST_P(LaneConformance, traits_make_sense) {
  const auto connection = GetParam().make();
  const auto& traits = connection->first->traits();
  EXPECT_FALSE(traits.name.empty());
  EXPECT_GE(traits.largest_payload, 4096U);
  EXPECT_GT(traits.eager_bytes, 0U);
  EXPECT_TRUE(connection->first->failure().ok());
}

TEST_P(LaneConformance, frames_of_all_sizes_arrive_in_order_and_unchanged) {
  for (const bool use_place : {false, true}) {
    const auto connection = GetParam().make();
    Sender sender{*connection->first, {}};
    for (std::size_t size = 0; size < 300; ++size) {
      sender.sizes.push_back(size);
    }
    for (std::size_t power = 512; power <= largest(*connection->first); power *= 2) {
      for (const std::size_t size : {power - 41, power - 40, power - 1, power, power + 1}) {
        if (size <= largest(*connection->first)) {
          sender.sizes.push_back(size);
        }
      }
    }
    Receiver receiver;
    receiver.use_place = use_place;
    const auto sizes = sender.sizes;
    transfer(*connection, sender, connection->other(), receiver, static_cast<std::uint32_t>(sizes.size()));
    EXPECT_TRUE(std::equal(sizes.begin(), sizes.end(), receiver.sizes.begin(), receiver.sizes.end()));
  }
}

TEST_P(LaneConformance, many_small_frames) {
  const auto connection = GetParam().make();
  Sender sender{*connection->first, {}};
  Random random(5);
  constexpr std::uint32_t frames = 20'000;
  for (std::uint32_t number = 0; number < frames; ++number) {
    sender.sizes.push_back(random.below(40));
  }
  Receiver receiver;
  transfer(*connection, sender, connection->other(), receiver, frames);
}

TEST_P(LaneConformance, megabytes_through_back_pressure_in_parts) {
  const auto connection = GetParam().make();
  Sender sender{*connection->first, {}};
  const std::size_t frames = std::max<std::size_t>(8, (std::size_t{24} << 20) / largest(*connection->first));
  sender.sizes.assign(frames, largest(*connection->first));
  // If the other side does not read, the lane takes a bounded amount.
  std::uint64_t pushed = 0;
  for (int idle = 0; idle < 3;) {
    const std::int64_t count = sender.go();
    ASSERT_GE(count, 0) << connection->first->failure().text();
    pushed += static_cast<std::uint64_t>(count);
    idle = count == 0 ? idle + 1 : 0;
  }
  EXPECT_LT(pushed, frames * largest(*connection->first)) << "the lane queues without limit";
  EXPECT_FALSE(connection->first->writable());
  if (connection->first->descriptor() >= 0) {
    EXPECT_TRUE(connection->first->want_write());
  }
  Receiver receiver;
  receiver.use_place = true;
  transfer(*connection, sender, connection->other(), receiver, static_cast<std::uint32_t>(frames));
  EXPECT_GT(sender.partial_pushes, 0U);
}

TEST_P(LaneConformance, both_directions_at_once) {
  const auto connection = GetParam().make();
  if (connection->loopback()) {
    GTEST_SKIP() << GetParam().name << " has one end";
  }
  Sender there{*connection->first, {}};
  Sender back{*connection->second, {}};
  Random random(9);
  constexpr std::uint32_t frames = 500;
  for (std::uint32_t number = 0; number < frames; ++number) {
    there.sizes.push_back(random.below(20'000));
    back.sizes.push_back(random.below(20'000));
  }
  Receiver at_first;
  Receiver at_second;
  const Watchdog watchdog;
  while ((at_first.next < frames || at_second.next < frames) && watchdog.patient() && !HasFailure()) {
    const bool moved = (there.go() > 0) | (back.go() > 0) | (connection->first->poll(at_first, 3) > 0) |
                       (connection->second->poll(at_second, 3) > 0);
    if (!moved) {
      connection->pause();
    }
  }
  EXPECT_EQ(at_first.next, frames);
  EXPECT_EQ(at_second.next, frames);
}

TEST_P(LaneConformance, budget_and_stop) {
  const auto connection = GetParam().make();
  Sender sender{*connection->first, std::deque<std::size_t>(30, 20)};
  ASSERT_GT(sender.go(), 0);
  ASSERT_TRUE(sender.sizes.empty());
  Receiver receiver;
  const Watchdog watchdog;
  while (receiver.next < 10 && watchdog.patient()) {
    const std::uint32_t before = receiver.next;
    const int taken = connection->other().poll(receiver, 3);
    EXPECT_LE(taken, 3);
    EXPECT_EQ(receiver.next - before, static_cast<std::uint32_t>(taken));
    if (taken == 0) {
      connection->pause();
    }
  }
  // arrived() returns false: no further frame comes in this poll.
  receiver.stop_at = receiver.next + 1;
  EXPECT_EQ(poll_until(*connection, connection->other(), receiver), 1);
  EXPECT_EQ(receiver.next, receiver.stop_at);
  receiver.stop_at = UINT32_MAX;
  transfer(*connection, sender, connection->other(), receiver, 30);
}

TEST_P(LaneConformance, frames_may_be_pushed_from_inside_arrived) {
  const auto connection = GetParam().make();
  if (connection->loopback()) {
    GTEST_SKIP() << GetParam().name << " has one end";
  }
  Sender there{*connection->first, std::deque<std::size_t>(50, 30)};
  Sender back{*connection->second, {}};
  Receiver at_first;
  Receiver at_second;
  at_second.on_frame = [&] {
    back.sizes.push_back(at_second.next);
    back.go();
  };
  const Watchdog watchdog;
  while (at_first.next < 50 && watchdog.patient() && !HasFailure()) {
    there.go();
    back.go();
    const bool moved = (connection->first->poll(at_first, 10) > 0) | (connection->second->poll(at_second, 10) > 0);
    if (!moved) {
      connection->pause();
    }
  }
  EXPECT_EQ(at_first.next, 50U);
}

// A process that checks once more before it sleeps finds what is there.
TEST_P(LaneConformance, second_look) {
  const auto connection = GetParam().make();
  Lane& to = connection->other();
  EXPECT_FALSE(to.readable());
  EXPECT_TRUE(connection->first->writable());
  Receiver receiver;
  EXPECT_EQ(to.poll(receiver, 10), 0);
  Sender sender{*connection->first, std::deque<std::size_t>(40, 100)};
  const Watchdog watchdog;
  while (receiver.next < 40 && watchdog.patient() && !HasFailure()) {
    sender.go();
    if (to.descriptor() < 0) {
      // Whenever poll would deliver a frame, this check must have said so.
      const bool readable = to.readable();
      const int taken = to.poll(receiver, 1);
      EXPECT_TRUE(readable || taken == 0);
      if (taken == 0) {
        connection->pause();
      }
    } else if (to.poll(receiver, 1) == 0) {
      // It sleeps on the descriptor. A missing wake-up would take 1 ms for each frame, and not fail.
      connection->pause();
    } else if (receiver.next < 40 && sender.sizes.empty() && to.readable()) {
      EXPECT_GT(to.poll(receiver, 1), 0) << "readable, but nothing was there";
    }
  }
  EXPECT_EQ(receiver.next, 40U);
  EXPECT_FALSE(to.readable());
}

TEST_P(LaneConformance, shut_in_good_order) {
  const auto connection = GetParam().make();
  Sender sender{*connection->first, std::deque<std::size_t>(10, 500)};
  ASSERT_GT(sender.go(), 0);
  ASSERT_TRUE(sender.sizes.empty());
  connection->first->shut();
  connection->first->shut();  // the second call does nothing
  EXPECT_EQ(connection->first->push(header_of(10, 0), {}, 0), -1);
  EXPECT_TRUE(connection->first->failure().error() || connection->first->failure().code() == Code::end);
  Receiver receiver;
  int answer = 0;
  while ((answer = poll_until(*connection, connection->other(), receiver)) > 0) {
  }
  EXPECT_EQ(answer, -1);
  EXPECT_EQ(receiver.next, 10U);
  EXPECT_EQ(connection->other().failure().code(), Code::end) << connection->other().failure().text();
  EXPECT_EQ(connection->other().poll(receiver, 10), -1);
  EXPECT_EQ(connection->other().failure().code(), Code::end);
}

TEST_P(LaneConformance, the_other_direction_goes_on_after_shut) {
  const auto connection = GetParam().make();
  if (connection->loopback()) {
    GTEST_SKIP() << GetParam().name << " has one end";
  }
  connection->first->shut();
  Sender back{*connection->second, std::deque<std::size_t>(10, 500)};
  Receiver receiver;
  const Watchdog watchdog;
  while (receiver.next < 10 && watchdog.patient()) {
    ASSERT_GE(back.go(), 0) << connection->second->failure().text();
    if (connection->first->poll(receiver, 10) == 0) {
      connection->pause();
    }
  }
  EXPECT_EQ(receiver.next, 10U);
}

TEST_P(LaneConformance, a_lane_that_goes_is_noticed_after_what_had_arrived) {
  const auto connection = GetParam().make();
  if (connection->loopback()) {
    GTEST_SKIP() << GetParam().name << " has one end";
  }
  Sender sender{*connection->first, std::deque<std::size_t>(10, 500)};
  ASSERT_GT(sender.go(), 0);
  ASSERT_TRUE(sender.sizes.empty());
  connection->first.reset();
  Receiver receiver;
  int answer = 0;
  while ((answer = poll_until(*connection, *connection->second, receiver)) > 0) {
  }
  EXPECT_EQ(answer, -1);
  EXPECT_EQ(receiver.next, 10U);
  EXPECT_TRUE(connection->second->failure().code() == Code::peer_lost ||
              connection->second->failure().code() == Code::end)
      << connection->second->failure().text();
  EXPECT_FALSE(connection->second->failure().text().empty());
}

TEST_P(LaneConformance, a_lane_that_goes_in_the_middle_of_a_frame_delivers_no_part_of_it) {
  const auto connection = GetParam().make();
  if (connection->loopback()) {
    GTEST_SKIP() << GetParam().name << " has one end";
  }
  const std::size_t size = largest(*connection->first);
  Sender sender{*connection->first, std::deque<std::size_t>(64, size)};
  for (int idle = 0; idle < 3;) {
    idle = sender.go() == 0 ? idle + 1 : 0;
  }
  const bool in_frame = sender.taken > 0;
  const std::uint32_t whole = sender.next;
  connection->first.reset();
  Receiver receiver;
  int answer = 0;
  while ((answer = poll_until(*connection, *connection->second, receiver)) > 0) {
  }
  EXPECT_EQ(answer, -1);
  EXPECT_LE(receiver.next, whole);
  EXPECT_TRUE(!in_frame || connection->second->failure().error()) << connection->second->failure().text();
}

}  // namespace couplet::conformance
