#include "link/shm/shm_link.hpp"

#include <unistd.h>

#include "lane_tests.hpp"
#include "os/clock.hpp"
#include "os/fork.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::link {
namespace {

using test::Child;
using test::TemporaryDirectory;

// One process, as far as shm knows it.
struct Member {
  Member(const std::string& directory, std::uint32_t peer, std::uint32_t incarnation = 1)
      : self{.peer = peer, .incarnation = incarnation, .memory_nonce = 1000 + peer * 10 + incarnation} {
    os::PageOwner owner;
    owner.peer = peer;
    owner.incarnation = incarnation;
    owner.memory_nonce = self.memory_nonce;
    owner.rank_count = 8;
    auto made = os::ProcessPage::create(directory, owner);
    EXPECT_TRUE(made.ok()) << made.status().text();
    page = std::move(*made);
    auto opened = os::Doorbell::open(os::bell_path(directory, peer), page->sleep_flag());
    EXPECT_TRUE(opened.ok()) << opened.status().text();
    doorbell = std::move(*opened);
    auto linked = ShmLink::open(directory, self, {.ring = {.cell_count = 64, .bulk_bytes = 16U << 10U}});
    EXPECT_TRUE(linked.ok()) << linked.status().text();
    link = std::move(*linked);
  }
  ShmPeer self;
  std::unique_ptr<os::ProcessPage> page;
  std::unique_ptr<os::Doorbell> doorbell;
  std::unique_ptr<ShmLink> link;
};

std::vector<std::string> rings_in(const std::string& directory) {
  std::vector<std::string> rings;
  const auto names = os::list_directory(directory);
  for (const auto& name : *names) {
    if (name.find("ring") != std::string::npos) {
      rings.push_back(name);
    }
  }
  return rings;
}

TEST(ShmLink, AKnockIsAnsweredAndTheRingLosesItsName) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 2);
  Member high(directory.path(), 5);
  auto from_low = low.link->connect(high.self);
  ASSERT_TRUE(from_low.ok()) << from_low.status().text();
  EXPECT_EQ(rings_in(directory.path()), std::vector<std::string>{"ring-00000002-00000005-1-1"});
  EXPECT_TRUE(high.page->knocked());
  EXPECT_EQ(high.page->take_knocks(0x80000000), std::vector<std::uint32_t>{2});
  auto from_high = high.link->accept(low.self);
  ASSERT_TRUE(from_high.ok()) << from_high.status().text();
  EXPECT_TRUE(rings_in(directory.path()).empty());
  EXPECT_EQ((*from_low)->traits().name, "shm");
  EXPECT_TRUE((*from_low)->traits().same_memory);
  expect_all_arrive(**from_low, **from_high, true, 200);
  expect_all_arrive(**from_high, **from_low, false, 200);
}

TEST(ShmLink, BothMayConnectAndMeetInOneRing) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 0x80000001);  // a relay
  auto from_high = high.link->connect(low.self);
  auto from_low = low.link->connect(high.self);
  ASSERT_TRUE(from_high.ok() && from_low.ok());
  EXPECT_EQ(low.page->take_knocks(0x80000000), std::vector<std::uint32_t>{0x80000001});
  EXPECT_EQ(low.link->accept(high.self).code(), Code::not_found) << "the knock is out of date";
  expect_all_arrive(**from_low, **from_high, true, 50);
  EXPECT_TRUE(rings_in(directory.path()).empty());
}

TEST(ShmLink, WhatWasPushedBeforeTheOtherCameArrives) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  auto from_low = low.link->connect(high.self);
  ASSERT_TRUE(from_low.ok());
  Sending sending;
  sending.begin(0, 100);
  ASSERT_EQ(sending.push(**from_low), 1);
  (*from_low)->shut();
  auto from_high = high.link->accept(low.self);
  ASSERT_TRUE(from_high.ok());
  CheckingReceiver receiver(true);
  EXPECT_EQ((*from_high)->poll(receiver, 8), 1);
  EXPECT_EQ((*from_high)->poll(receiver, 8), -1);
  EXPECT_EQ((*from_high)->failure().code(), Code::end);
  EXPECT_TRUE(receiver.good);
}

TEST(ShmLink, ALaneThatNobodyJoinedLeavesNothingBehind) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  { auto from_low = low.link->connect(high.self); }
  EXPECT_TRUE(rings_in(directory.path()).empty());
  EXPECT_EQ(high.link->accept(low.self).code(), Code::not_found);
}

TEST(ShmLink, WhatWasPushedBeforeTheOtherCameArrivesAfterThePusherHasGone) {
  const TemporaryDirectory directory;
  Member high(directory.path(), 1);
  ShmPeer gone;
  {
    Member low(directory.path(), 0);
    gone = low.self;
    auto from_low = low.link->connect(high.self);
    ASSERT_TRUE(from_low.ok());
    Sending sending;
    sending.begin(0, 100);
    ASSERT_EQ(sending.push(**from_low), 1);
    (*from_low)->shut();
  }
  EXPECT_EQ(rings_in(directory.path()).size(), 1U);
  auto from_high = high.link->accept(gone);
  ASSERT_TRUE(from_high.ok()) << from_high.status().text();
  CheckingReceiver receiver(true);
  EXPECT_EQ((*from_high)->poll(receiver, 8), 1);
  EXPECT_EQ((*from_high)->poll(receiver, 8), -1);
  EXPECT_EQ((*from_high)->failure().code(), Code::end);
  EXPECT_TRUE(receiver.good);
  EXPECT_TRUE(rings_in(directory.path()).empty());
}

TEST(ShmLink, WhatWasPushedForAPeerThatHasDiedIsNotKept) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  std::unique_ptr<Lane> from_low;
  {
    Member high(directory.path(), 1);
    from_low = low.link->connect(high.self).value();
    Sending sending;
    sending.begin(0, 100);
    ASSERT_EQ(sending.push(*from_low), 1);
  }
  from_low.reset();
  EXPECT_TRUE(rings_in(directory.path()).empty());
}

TEST(ShmLink, ARefusalReachesThePusherAndGivesItsFramesBack) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  auto from_low = low.link->connect(high.self);
  ASSERT_TRUE(from_low.ok());
  std::vector<std::size_t> sizes;
  Sending sending;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{100}, std::size_t{5000}}) {
    sending.begin(static_cast<std::uint32_t>(sizes.size()), static_cast<std::uint32_t>(bytes));
    ASSERT_EQ(sending.push(**from_low), 1);
    sizes.push_back(bytes);
  }
  sending.begin(3, 1U << 20U);
  ASSERT_EQ(sending.push(**from_low), 0) << "in part";
  EXPECT_TRUE((*from_low)->refusal().ok());
  ASSERT_TRUE(high.link->refuse(low.self, fail(Code::unsupported, "shm is switched off in B")).ok());
  EXPECT_EQ((*from_low)->refusal().code(), Code::unsupported);
  EXPECT_EQ((*from_low)->refusal().text(), "shm is switched off in B");
  EXPECT_FALSE((*from_low)->joined());
  EXPECT_FALSE((*from_low)->leave_behind());
  std::vector<std::size_t> back;
  (*from_low)->take_back([&back](const wire::FrameHeader& header, std::span<const std::byte> payload) {
    EXPECT_EQ(header.payload_bytes, payload.size());
    back.push_back(payload.size());
  });
  EXPECT_EQ(back, sizes);
  EXPECT_TRUE(rings_in(directory.path()).empty());
  EXPECT_EQ(high.link->accept(low.self).code(), Code::not_found);
}

TEST(ShmLink, WhoIsAboutToEndCannotBeRefused) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  auto from_low = low.link->connect(high.self);
  ASSERT_TRUE(from_low.ok());
  EXPECT_TRUE((*from_low)->leave_behind());
  EXPECT_EQ(high.link->refuse(low.self, fail(Code::unsupported, "shm is switched off in B")).code(), Code::state);
  EXPECT_TRUE((*from_low)->refusal().ok());
  EXPECT_TRUE(high.link->accept(low.self).ok());
}

TEST(ShmLink, RingsGetSmallerBeforeThereIsNoRoomForMore) {
  const ShmOptions options;
  std::uint64_t used = 0;
  std::uint32_t last = options.ring.bulk_bytes;
  int rings = 0;
  while (true) {
    const auto shape = ring_shape_for(options, used);
    if (!shape.ok()) {
      EXPECT_EQ(shape.code(), Code::limit);
      break;
    }
    EXPECT_LE(shape->bulk_bytes, last);
    EXPECT_TRUE(wire::check_ring_shape(*shape).ok());
    last = shape->bulk_bytes;
    used += wire::ring_file_bytes(*shape);
    ++rings;
  }
  EXPECT_EQ(last, wire::least_bulk_bytes);
  EXPECT_LE(used, options.max_ring_bytes);
  EXPECT_GT(rings, 400);
  EXPECT_EQ(ring_shape_for(options, 0)->bulk_bytes, options.ring.bulk_bytes) << "few peers lose nothing";
}

TEST(ShmLink, TheRoomForRingsIsGivenBack) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  const std::uint64_t one = wire::ring_file_bytes({.cell_count = 64, .bulk_bytes = 4096});
  low.link =
      ShmLink::open(directory.path(), low.self, {.ring = {.cell_count = 64, .bulk_bytes = 4096}, .max_ring_bytes = one})
          .value();
  for (int round = 0; round < 3; ++round) {
    Member third(directory.path(), 2);
    auto lane = low.link->connect(high.self);
    ASSERT_TRUE(lane.ok()) << lane.status().text();
    EXPECT_EQ(low.link->connect(third.self).code(), Code::limit);
  }
}

TEST(ShmLink, AnotherPairCanMeetAgainAfterALaneHasEnded) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  for (int round = 0; round < 3; ++round) {
    auto from_low = low.link->connect(high.self);
    auto from_high = high.link->accept(low.self);
    ASSERT_TRUE(from_low.ok() && from_high.ok());
    expect_all_arrive(**from_low, **from_high, true, 5);
  }
}

TEST(ShmLink, WithoutProofOfReachThereIsNoLane) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  ShmPeer wrong = high.self;
  wrong.memory_nonce ^= 1;
  EXPECT_EQ(low.link->connect(wrong).code(), Code::unsupported);
  wrong = high.self;
  wrong.incarnation = 2;
  EXPECT_EQ(low.link->connect(wrong).code(), Code::unsupported);
  EXPECT_EQ(low.link->connect({.peer = 7, .incarnation = 1, .memory_nonce = 5}).code(), Code::unsupported);
  EXPECT_EQ(low.link->connect(low.self).code(), Code::argument);
  EXPECT_TRUE(rings_in(directory.path()).empty());
}

TEST(ShmLink, AGarbageRingFileIsRefused) {
  const TemporaryDirectory directory;
  Member low(directory.path(), 0);
  Member high(directory.path(), 1);
  auto file = os::MappedFile::create(directory / "ring-00000000-00000001-1-1", 8192);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(low.link->connect(high.self).code(), Code::protocol);
}

TEST(ShmLink, OptionsOutOfBoundsAreRefused) {
  EXPECT_EQ(ShmLink::open("/nowhere", {}, {.ring = {.cell_count = 3, .bulk_bytes = 4096}}).code(), Code::limit);
}

// A peer that sleeps is woken by every frame, and a writer that waits for room is woken by the reader.
TEST(ShmLink, ProcessesThatSleepBetweenFramesMissNoWakeUp) {
  const TemporaryDirectory directory;
  constexpr std::uint32_t count = 4000;
  constexpr std::uint64_t watchdog_ns = 60'000'000'000;
  Member parent(directory.path(), 0);
  const ShmPeer child_self{.peer = 1, .incarnation = 1, .memory_nonce = 1011};
  auto sleep_until = [](Member& member, const auto& ready_again, const auto& until) {
    const std::uint64_t deadline = os::now_ns() + watchdog_ns;
    while (!until()) {
      member.doorbell->raise_flag();
      if (ready_again()) {
        member.doorbell->lower_flag();
        continue;
      }
      const std::uint64_t before = os::now_ns();
      int ready[4];
      member.doorbell->sleep_for(watchdog_ns, ready, 4);
      if (os::now_ns() - before > watchdog_ns / 2 || os::now_ns() > deadline) {
        return false;  // no peer has rung
      }
    }
    return true;
  };
  Child child([&] {
    Member member(directory.path(), 1);
    if (!test::eventually([&] { return member.page->knocked(); })) {
      return 1;
    }
    auto lane = member.link->accept(parent.self);
    if (!lane.ok()) {
      return 2;
    }
    const auto readable = [&] { return (*lane)->readable(); };
    const auto writable = [&] { return (*lane)->writable(); };
    CheckingReceiver receiver(true);
    Sending sending;
    while (receiver.frames < count) {  // it sends everything back
      const std::uint32_t number = receiver.frames;
      if (!sleep_until(member, readable, [&] { return (*lane)->poll(receiver, 1) != 0; })) {
        return 3;
      }
      if (!receiver.good || receiver.frames != number + 1) {
        return number == receiver.frames ? 0 : 4;
      }
      sending.begin(number, interesting_bytes[number % 21]);
      if (!sleep_until(member, writable, [&] { return sending.push(**lane) == 1; })) {
        return 5;
      }
    }
    return 10;
  });
  ASSERT_TRUE(test::eventually([&] { return os::is_locked(os::page_path(directory.path(), 1)); }));
  ASSERT_TRUE(test::eventually([&] { return ::access(os::bell_path(directory.path(), 1).c_str(), F_OK) == 0; }));
  auto lane = parent.link->connect(child_self);
  ASSERT_TRUE(lane.ok()) << lane.status().text();
  const auto readable = [&] { return (*lane)->readable(); };
  const auto writable = [&] { return (*lane)->writable(); };
  CheckingReceiver receiver(true);
  Sending sending;
  for (std::uint32_t number = 0; number < count; ++number) {
    sending.begin(number, interesting_bytes[number % 21]);
    auto all_sent = [&] { return sending.push(**lane) == 1; };
    ASSERT_TRUE(sleep_until(parent, writable, all_sent)) << "frame " << number << " did not go";
    auto come = [&] { return (*lane)->poll(receiver, 1) != 0 && receiver.frames == number + 1; };
    ASSERT_TRUE(sleep_until(parent, readable, come)) << "frame " << number << " did not come back";
  }
  EXPECT_TRUE(receiver.good);
  EXPECT_EQ(child.join(), 10);
}

}  // namespace
}  // namespace couplet::link
