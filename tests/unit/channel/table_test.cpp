// The table of channels: on demand, adopted, failed, forgotten, shut.
#include "channel/table.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <deque>
#include <map>

#include "link/sim/network.hpp"
#include "support/recorder.hpp"

namespace couplet::channel {
namespace {

using test::Recorder;
using test::Sent;

// A member of a simulated network: its connector gives lanes and hands the other end to the peer's table.
struct Member : Connector {
  Member(link::SimNetwork& shared, std::map<PeerId, Member*>& others, PeerId own)
      : network(shared), members(others), id(own), table(*this, recorder.handlers()) {
    members[id] = this;
  }
  Result<std::unique_ptr<link::Lane>> connect(PeerId peer) override {
    ++connects;
    if (!members.contains(peer)) {
      return couplet::fail(Code::not_found, "no rank {}", peer);
    }
    if (later) {
      return Code::not_yet;
    }
    auto lanes = network.connect(static_cast<int>(id), static_cast<int>(peer));
    EXPECT_TRUE(members[peer]->table.adopt(id, std::move(lanes.second)).ok());
    return std::move(lanes.first);
  }
  [[nodiscard]] std::string peer_name(PeerId peer) const override { return fmt::format("rank {}", peer); }

  link::SimNetwork& network;
  std::map<PeerId, Member*>& members;
  PeerId id;
  Recorder recorder;
  bool later = false;
  int connects = 0;
  ChannelTable table;
};

struct World {
  explicit World(PeerId count) {
    for (PeerId id = 0; id < count; ++id) {
      members.emplace_back(network, by_id, id);
    }
  }
  void run() {
    for (int idle = 0; idle < 3;) {
      int work = 0;
      for (Member& member : members) {
        work += member.table.poll_memory(16) + member.table.poll_sockets(16);
      }
      idle = work == 0 && !network.advance_to_next() ? idle + 1 : 0;
    }
  }
  link::SimNetwork network{1};
  std::map<PeerId, Member*> by_id;
  std::deque<Member> members;
};

TEST(ChannelTable, opens_on_demand_and_only_once) {
  World world(4);
  auto& zero = world.members[0];
  EXPECT_EQ(zero.table.find(2), nullptr);
  Channel* const channel = zero.table.find_or_open(2).value();
  EXPECT_EQ(zero.table.find_or_open(2).value(), channel);
  EXPECT_EQ(zero.table.find(2), channel);
  EXPECT_EQ(zero.connects, 1);
  EXPECT_EQ(channel->peer_name(), "rank 2");
  EXPECT_NE(world.members[2].table.find(0), nullptr);  // adopted
  EXPECT_EQ(world.members[3].table.find(0), nullptr);
  Sent sent("hello");
  channel->send(sent);
  world.run();
  EXPECT_EQ(world.members[2].recorder.frames.at(0).payload, "hello");
}

TEST(ChannelTable, an_unreachable_peer_is_an_error_and_leaves_nothing) {
  World world(2);
  EXPECT_EQ(world.members[0].table.find_or_open(77).code(), Code::not_found);
  EXPECT_EQ(world.members[0].table.find(77), nullptr);
  EXPECT_TRUE(world.members[0].table.settled());
}

TEST(ChannelTable, frames_wait_for_a_lane_that_comes_later) {
  World world(2);
  auto& zero = world.members[0];
  zero.later = true;
  Sent sent("early");
  zero.table.find_or_open(1).value()->send(sent);
  world.run();
  EXPECT_TRUE(sent.outcomes.empty());
  auto lanes = world.network.connect(0, 1);
  ASSERT_TRUE(zero.table.adopt(1, std::move(lanes.first)).ok());
  ASSERT_TRUE(world.members[1].table.adopt(0, std::move(lanes.second)).ok());
  world.run();
  EXPECT_EQ(world.members[1].recorder.frames.at(0).payload, "early");
  auto more = world.network.connect(0, 1);
  EXPECT_EQ(zero.table.adopt(1, std::move(more.first)).code(), Code::exists);
}

TEST(ChannelTable, a_connection_that_does_not_come_fails_by_name) {
  World world(2);
  auto& zero = world.members[0];
  zero.later = true;
  Sent sent("never");
  zero.table.find_or_open(1).value()->send(sent);
  zero.table.fail(1, couplet::fail(Code::peer_lost, "rank 1 does not answer"));
  EXPECT_TRUE(zero.table.memory_ready());
  world.run();
  EXPECT_EQ(sent.outcomes.at(0).code(), Code::peer_lost);
  EXPECT_EQ(zero.recorder.losses.at(0).text(), "rank 1 does not answer");
  EXPECT_TRUE(zero.table.settled());
  zero.table.fail(55, Code::peer_lost);  // never opened: nothing
}

TEST(ChannelTable, a_peer_that_comes_again_gets_a_new_channel) {
  World world(2);
  auto& zero = world.members[0];
  Channel* const before = zero.table.find_or_open(1).value();
  zero.table.forget(1, couplet::fail(Code::peer_lost, "rank 1 was restarted"));
  world.members[1].table.forget(0, Code::end);
  Channel* const after = zero.table.find_or_open(1).value();
  EXPECT_NE(before, after);
  world.run();
  EXPECT_EQ(before->state(), ChannelState::failed);  // still there to be asked
  EXPECT_EQ(after->state(), ChannelState::open);
  Sent sent("again");
  after->send(sent);
  world.run();
  EXPECT_EQ(world.members[1].recorder.frames.at(0).payload, "again");
  int count = 0;
  zero.table.for_each([&](Channel&) { ++count; });
  EXPECT_EQ(count, 2);
}

// A peer may return many times, and each of its lives leaves a channel.
TEST(ChannelTable, a_forgotten_channel_keeps_little_memory) {
  World world(2);
  const auto live = [&world](int count) {
    for (int life = 0; life < count; ++life) {
      ASSERT_TRUE(world.members[0].table.find_or_open(1).ok());
      world.run();
      for (const PeerId id : {0U, 1U}) {
        world.members[id].table.forget(1 - id, couplet::fail(Code::peer_lost, "rank {} was started again", 1 - id));
      }
      world.run();
    }
  };
  live(10);
  const std::size_t before = ::mallinfo2().uordblks;  // 0 under a sanitizer, which has a heap of its own
  constexpr int lives = 100;
  live(lives);
  const std::size_t after = ::mallinfo2().uordblks;
  constexpr std::size_t most_bytes = 16'384;  // for the two ends of one life
  EXPECT_LT(after, before + lives * most_bytes);
}

TEST(ChannelTable, shut_ends_all_in_good_order) {
  World world(5);
  std::deque<Sent> sent;
  for (PeerId peer = 1; peer < 5; ++peer) {
    for (int number = 0; number < 20; ++number) {
      world.members[0].table.find_or_open(peer).value()->send(sent.emplace_back(std::string(5000, 'x'), number));
    }
  }
  world.members[0].table.shut();
  world.run();
  EXPECT_TRUE(world.members[0].table.settled());
  for (PeerId peer = 1; peer < 5; ++peer) {
    EXPECT_EQ(world.members[peer].recorder.frames.size(), 20U);
    EXPECT_EQ(world.members[peer].recorder.losses.at(0).code(), Code::end);
    EXPECT_TRUE(world.members[peer].table.settled());
  }
}

// Fault: the lane ended without a goodbye, so that a process which had left in good order was counted as lost.
TEST(ChannelTable, a_peer_that_dials_after_shut_hears_a_goodbye) {
  World world(2);
  world.members[0].table.shut();
  ASSERT_TRUE(world.members[1].table.find_or_open(0).ok());
  world.run();
  EXPECT_TRUE(world.members[0].table.settled());
  ASSERT_EQ(world.members[1].recorder.losses.size(), 1U);
  EXPECT_EQ(world.members[1].recorder.losses[0].code(), Code::end);
}

TEST(ChannelTable, handlers_may_open_channels_from_inside) {
  World world(20);
  std::deque<Sent> sent;
  for (Member& member : world.members) {
    member.recorder.on_frame = [&](Channel&, const Recorder::Frame& frame) {
      const auto next = static_cast<PeerId>(frame.header.tag) + 1;
      if (next < world.members.size()) {
        member.table.find_or_open(next).value()->send(sent.emplace_back("on", static_cast<std::int32_t>(next)));
      }
      return Status();
    };
  }
  world.members[0].table.find_or_open(1).value()->send(sent.emplace_back("on", 1));
  world.run();
  EXPECT_EQ(world.members[19].recorder.frames.size(), 1U);
}

TEST(ChannelTable, shut_and_fail_from_inside_lost) {
  World world(6);
  auto& zero = world.members[0];
  for (PeerId peer = 1; peer < 6; ++peer) {
    ASSERT_TRUE(zero.table.find_or_open(peer).ok());
  }
  zero.recorder.on_lost = [&](Channel&, const Status&) {
    zero.table.fail(5, Code::peer_lost);
    zero.table.shut();
  };
  world.run();
  world.network.kill(3);
  world.run();
  EXPECT_TRUE(zero.table.settled());
  EXPECT_EQ(zero.recorder.losses.size(), 5U);
}

// A lane with a descriptor, played.
struct SocketLane final : link::Lane {
  [[nodiscard]] const link::LaneTraits& traits() const noexcept override { return own; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader&, std::span<const std::byte>, std::uint64_t) override {
    full = true;
    return 0;
  }
  [[nodiscard]] int poll(link::FrameReceiver&, int) override { return broken.ok() ? 0 : -1; }
  [[nodiscard]] bool readable() const noexcept override { return false; }
  [[nodiscard]] bool writable() const noexcept override { return false; }
  [[nodiscard]] int descriptor() const noexcept override { return 42; }
  [[nodiscard]] bool want_write() const noexcept override { return full; }
  void shut() noexcept override {}
  [[nodiscard]] const Status& failure() const noexcept override { return broken; }
  link::LaneTraits own{.name = "socket", .largest_payload = 1U << 16};
  bool full = false;
  Status broken;
};

struct Watched : Watcher {
  Status watch(int descriptor, bool write) override {
    log += fmt::format("{}{} ", descriptor, write ? "rw" : "r");
    return {};
  }
  void unwatch(int descriptor) override { log += fmt::format("{}- ", descriptor); }
  std::string log;
};

TEST(ChannelTable, descriptors_are_watched_for_what_is_wanted_and_unwatched_before_they_close) {
  World world(2);
  auto& table = world.members[0].table;
  Watched watcher;
  table.set_watcher(&watcher);
  auto owned = std::make_unique<SocketLane>();
  SocketLane& lane = *owned;
  Channel* const channel = table.adopt(1, std::move(owned)).value();
  EXPECT_EQ(watcher.log, "42r ");
  table.poll_sockets(10);
  EXPECT_FALSE(table.sockets_ready());
  Sent sent("x");
  channel->send(sent);
  EXPECT_TRUE(table.sockets_ready());  // the watch is not up to date: no sleep before the next poll
  table.poll_sockets(10);
  EXPECT_EQ(watcher.log, "42r 42rw ");
  EXPECT_FALSE(table.sockets_ready());
  lane.broken = couplet::fail(Code::peer_lost, "reset");
  table.poll_sockets(10);
  EXPECT_EQ(watcher.log, "42r 42rw 42- ");
  EXPECT_TRUE(channel->lanes().empty());
  EXPECT_TRUE(table.settled());
}

}  // namespace
}  // namespace couplet::channel
