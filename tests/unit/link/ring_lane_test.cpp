#include <atomic>
#include <thread>

#include "lane_tests.hpp"
#include "link/ring.hpp"
#include "link/self/self_lane.hpp"
#include "os/clock.hpp"

namespace couplet::link {
namespace {

constexpr LaneTraits traits{.name = "ring", .checked = false, .largest_payload = 1U << 20U};

// A pair of lanes over a ring in plain memory.
struct RingPair {
  explicit RingPair(const wire::RingShape& shape = {}, std::uint32_t first_cell = 3)
      : memory(std::make_unique<Memory>(wire::ring_file_bytes(shape))) {
    wire::RingHeader header;
    header.first_cell = first_cell;
    auto laid = wire::RingMap::lay_out(memory->bytes(), shape, header);
    EXPECT_TRUE(laid.ok()) << laid.status().text();
    map = std::make_unique<wire::RingMap>(*laid);
    low = std::make_unique<RingLane>(traits, map->direction(0), map->direction(1), nullptr, "ring of low");
    high = std::make_unique<RingLane>(traits, map->direction(1), map->direction(0), nullptr, "ring of high");
  }
  struct Memory {
    explicit Memory(std::size_t size)
        : data(static_cast<std::byte*>(std::aligned_alloc(wire::ring_alignment, size))), count(size) {
      std::memset(data, 0, size);
    }
    ~Memory() { std::free(data); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    [[nodiscard]] std::span<std::byte> bytes() const { return {data, count}; }
    std::byte* data;
    std::size_t count;
  };
  std::unique_ptr<Memory> memory;
  std::unique_ptr<wire::RingMap> map;
  std::unique_ptr<RingLane> low;
  std::unique_ptr<RingLane> high;
};

TEST(RingLane, FramesOfAllSizesArrivePlacedOrNot) {
  for (const bool places : {true, false}) {
    RingPair pair;
    expect_all_arrive(*pair.low, *pair.high, places, 400);
    expect_all_arrive(*pair.high, *pair.low, places, 400);
  }
}

TEST(RingLane, TheSmallestRingCarriesTheLargestFrames) {
  RingPair pair({.cell_count = wire::least_cells, .bulk_bytes = wire::least_bulk_bytes}, 7);
  expect_all_arrive(*pair.low, *pair.high, false, 300, 1);
}

TEST(RingLane, APushThatDoesNotFitIsTakenInPartAndNothingIsOverwritten) {
  RingPair pair({.cell_count = 16, .bulk_bytes = 4096});
  const auto payload = payload_of(1U << 16U, 0);
  const auto header = header_of(0, 1U << 16U);
  const std::int64_t taken = pair.low->push(header, payload, 0);
  ASSERT_GT(taken, static_cast<std::int64_t>(wire::frame_header_bytes));
  ASSERT_LT(taken, 1 << 16);
  EXPECT_TRUE(pair.low->want_write());
  EXPECT_EQ(pair.low->push(header, payload, static_cast<std::uint64_t>(taken)), 0);
  EXPECT_FALSE(pair.low->writable());
  CheckingReceiver receiver(true);
  EXPECT_EQ(pair.high->poll(receiver, 8), 0);
  EXPECT_TRUE(pair.low->writable()) << "there is room again: the second look must see it";
}

TEST(RingLane, ShortFramesFillTheRingAndOneCellIsKeptForShut) {
  RingPair pair({.cell_count = 8, .bulk_bytes = 4096});
  std::uint32_t pushed = 0;
  Sending sending;
  for (;; ++pushed) {
    sending.begin(pushed, 8);
    if (sending.push(*pair.low) != 1) {
      break;
    }
  }
  EXPECT_EQ(pushed, 7U);
  pair.low->shut();
  EXPECT_EQ(sending.push(*pair.low), -1);
  EXPECT_EQ(pair.low->failure().code(), Code::state);
  CheckingReceiver receiver(false);
  EXPECT_EQ(pair.high->poll(receiver, 100), 7);
  EXPECT_EQ(pair.high->poll(receiver, 100), -1);
  EXPECT_EQ(pair.high->failure().code(), Code::end);
  EXPECT_TRUE(receiver.good);
}

TEST(RingLane, ShutInsideAFrameIsALostPeer) {
  RingPair pair({.cell_count = 16, .bulk_bytes = 4096});
  ASSERT_GT(pair.low->push(header_of(0, 1U << 16U), payload_of(1U << 16U, 0), 0), 0);
  pair.low->shut();
  CheckingReceiver receiver(true);
  EXPECT_EQ(pair.high->poll(receiver, 8), -1);
  EXPECT_EQ(pair.high->failure().code(), Code::peer_lost);
  EXPECT_NE(pair.high->failure().text().find("inside a frame"), std::string::npos);
}

TEST(RingLane, AReceiverThatStopsGetsTheRestLater) {
  RingPair pair;
  Sending sending;
  for (std::uint32_t number = 0; number < 5; ++number) {
    sending.begin(number, 8);
    ASSERT_EQ(sending.push(*pair.low), 1);
  }
  CheckingReceiver receiver(true);
  receiver.stop_at = 2;
  EXPECT_EQ(pair.high->poll(receiver, 100), 2);
  EXPECT_TRUE(pair.high->readable());
  EXPECT_EQ(pair.high->poll(receiver, 100), 3);
  EXPECT_FALSE(pair.high->readable());
  EXPECT_TRUE(receiver.good);
}

// Bytes from outside: whatever is in the cells, the result is a failure, and no access outside the ring.
TEST(RingLane, GarbageIsAProtocolFailure) {
  struct Damage {
    const char* what;
    void (*apply)(wire::RingDirection& out, std::uint32_t position);
  };
  const Damage damages[] = {
      {"unknown control word",
       [](wire::RingDirection& out, std::uint32_t position) {
         out.cells[position % out.cell_count].control.store(0xDEADBEEFDEADBEEF);
       }},
      {"unknown kind",
       [](wire::RingDirection& out, std::uint32_t position) {
         out.cells[position % out.cell_count].control.store(
             wire::cell_control(position, static_cast<wire::CellKind>(9)));
       }},
      {"short frame that is too long",
       [](wire::RingDirection& out, std::uint32_t position) {
         out.cells[position % out.cell_count].header = header_of(0, 17);
         out.cells[position % out.cell_count].control.store(wire::cell_control(position, wire::CellKind::short_frame));
       }},
      {"long frame that is too long",
       [](wire::RingDirection& out, std::uint32_t position) {
         out.cells[position % out.cell_count].header = header_of(0, 0x7FFFFFFF);
         out.cells[position % out.cell_count].control.store(wire::cell_control(position, wire::CellKind::long_frame));
       }},
      {"chunk without a frame",
       [](wire::RingDirection& out, std::uint32_t position) {
         out.cells[position % out.cell_count].control.store(wire::cell_control(position, wire::CellKind::chunk));
       }},
      {"chunk over the end of the area",
       [](wire::RingDirection& out, std::uint32_t position) {
         auto& cell = out.cells[position % out.cell_count];
         cell.header = header_of(0, 1U << 20U);
         const wire::ChunkPlace place{.position = 0, .bytes = out.bulk_bytes + 1};
         std::memcpy(cell.tail.data(), &place, sizeof place);
         cell.control.store(wire::cell_control(position, wire::CellKind::long_frame));
       }},
      {"chunk of no bytes",
       [](wire::RingDirection& out, std::uint32_t position) {
         auto& cell = out.cells[position % out.cell_count];
         cell.header = header_of(0, 4096);
         const wire::ChunkPlace place{};
         std::memcpy(cell.tail.data(), &place, sizeof place);
         cell.control.store(wire::cell_control(position, wire::CellKind::long_frame));
       }},
      {"chunk elsewhere",
       [](wire::RingDirection& out, std::uint32_t position) {
         auto& cell = out.cells[position % out.cell_count];
         cell.header = header_of(0, 4096);
         const wire::ChunkPlace place{.position = 64, .bytes = 64};
         std::memcpy(cell.tail.data(), &place, sizeof place);
         cell.control.store(wire::cell_control(position, wire::CellKind::long_frame));
       }},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    RingPair pair({}, 5);
    auto out = pair.map->direction(0);
    damage.apply(out, 5);
    CheckingReceiver receiver(false);
    EXPECT_EQ(pair.high->poll(receiver, 8), -1);
    EXPECT_EQ(pair.high->failure().code(), Code::protocol) << pair.high->failure().text();
    EXPECT_EQ(receiver.frames, 0U);
  }
}

TEST(RingLane, ImpossibleProgressIsAProtocolFailure) {
  RingPair pair({.cell_count = 8, .bulk_bytes = 4096});
  pair.map->direction(0).reader->cells.store(77);
  Sending sending;
  int answer = 1;
  for (std::uint32_t number = 0; number < 20 && answer == 1; ++number) {
    sending.begin(number, 8);
    answer = sending.push(*pair.low);
  }
  EXPECT_EQ(answer, -1);
  EXPECT_EQ(pair.low->failure().code(), Code::protocol);
}

TEST(RingLane, AHeaderThatLiesIsRefused) {
  const wire::RingShape shape;
  RingPair pair(shape);
  auto expect_refused = [&](auto&& damage, Code code) {
    const std::vector<std::byte> copy(pair.memory->data, pair.memory->data + 4096);
    damage(pair.map->header());
    EXPECT_EQ(wire::RingMap::inspect(pair.memory->bytes()).code(), code);
    std::memcpy(pair.memory->data, copy.data(), copy.size());
  };
  expect_refused([](wire::RingHeader& header) { header.magic = 1; }, Code::protocol);
  expect_refused([](wire::RingHeader& header) { header.version = 99; }, Code::version);
  expect_refused([](wire::RingHeader& header) { header.cell_count = 100; }, Code::protocol);
  expect_refused([](wire::RingHeader& header) { header.cell_count *= 2; }, Code::protocol);
  expect_refused([](wire::RingHeader& header) { header.bulk_bytes = 0; }, Code::protocol);
  expect_refused([](wire::RingHeader& header) { header.first_cell = header.cell_count; }, Code::protocol);
  EXPECT_TRUE(wire::RingMap::inspect(pair.memory->bytes()).ok());
  EXPECT_EQ(wire::RingMap::inspect(pair.memory->bytes().first(100)).code(), Code::protocol);
}

TEST(RingLane, TwoThreadsStreamThroughTheSmallestRing) {
  RingPair pair({.cell_count = 8, .bulk_bytes = 4096});
  constexpr std::uint32_t count = 3000;
  std::atomic<bool> failed{false};
  std::thread writer([&] {
    Sending sending;
    for (std::uint32_t number = 0; number < count; ++number) {
      sending.begin(number, interesting_bytes[number % 18]);
      int answer = 0;
      while ((answer = sending.push(*pair.low)) == 0) {
        std::this_thread::yield();
      }
      if (answer < 0) {
        failed = true;
        return;
      }
    }
  });
  CheckingReceiver receiver(true);
  const std::uint64_t deadline = os::deadline_after(100);
  while (receiver.frames < count && !failed && os::now_ns() < deadline) {
    if (pair.high->poll(receiver, 16) <= 0) {
      std::this_thread::yield();
    }
  }
  writer.join();
  EXPECT_EQ(receiver.frames, count);
  EXPECT_TRUE(receiver.good);
}

TEST(SelfLane, WhatIsPushedIsDeliveredByPollOnly) {
  auto lane = make_self_lane();
  ASSERT_TRUE(lane.ok()) << lane.status().text();
  expect_all_arrive(**lane, **lane, true, 200);
  (*lane)->shut();
  CheckingReceiver receiver(false);
  EXPECT_EQ((*lane)->poll(receiver, 8), -1);
  EXPECT_EQ((*lane)->failure().code(), Code::end);
}

TEST(SelfLane, ShapesOutOfBoundsAreRefused) {
  EXPECT_EQ(make_self_lane({.cell_count = 100, .bulk_bytes = 4096}).code(), Code::limit);
  EXPECT_EQ(make_self_lane({.cell_count = 64, .bulk_bytes = 100}).code(), Code::limit);
}

}  // namespace
}  // namespace couplet::link
