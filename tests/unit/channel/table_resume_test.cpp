// The table of channels: broken channels get new lanes or fail by name; silent sockets cost nothing.
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "channel/table.hpp"
#include "support/pipe_lane.hpp"
#include "support/recorder.hpp"

namespace couplet::channel {
namespace {

using test::Pipe;
using test::Recorder;
using test::Sent;

constexpr std::uint64_t second_ns = 1'000'000'000;

// Gives lanes over pipes; answers to reconnect() as the test says.
struct Dialer : Connector {
  Result<std::unique_ptr<link::Lane>> connect(PeerId) override {
    pipes.emplace_back();
    return pipes.back().take_first();
  }
  Result<std::unique_ptr<link::Lane>> reconnect(PeerId peer, const Status& why) override {
    asked.push_back(fmt::format("{}: {}", peer, why.text()));
    if (!refusal.ok()) {
      return refusal;
    }
    return connect(peer);
  }
  [[nodiscard]] std::string peer_name(PeerId peer) const override { return fmt::format("rank {}", peer); }

  std::deque<Pipe> pipes;
  std::vector<std::string> asked;
  Status refusal;
};

struct World {
  explicit World(const TableOptions& options = {.resume = true}) : table(dialer, recorder.handlers(), options) {
    peer = std::make_unique<Channel>(0, "rank 0", at_peer.handlers(), ChannelOptions{.session = 5});
  }
  void run() {
    for (int idle = 0; idle < 3;) {
      idle = table.poll_memory(16) + table.poll_sockets(16) + peer->poll(16) > 0 ? 0 : idle + 1;
    }
  }
  Dialer dialer;
  Recorder recorder;
  Recorder at_peer;
  std::unique_ptr<Channel> peer;
  ChannelTable table;
};

TEST(ChannelTableResumes, a_broken_channel_asks_once_for_a_lane_and_goes_on_over_it) {
  World world;
  Channel& channel = *world.table.find_or_open(7).value();
  world.peer->attach(world.dialer.pipes[0].take_second());
  std::deque<Sent> sent;
  channel.send(sent.emplace_back("first", 0));
  world.run();
  world.dialer.refusal = Code::not_yet;
  world.dialer.pipes[0].break_now();
  channel.send(sent.emplace_back("second", 1));
  world.run();
  world.table.tick(second_ns);
  world.run();
  ASSERT_EQ(world.dialer.asked.size(), 1U);
  EXPECT_EQ(world.dialer.asked[0], "7: rank 7 over pipe: pipe: broken");
  int broken = 0;
  world.table.for_each_broken([&](Channel&) { ++broken; });
  EXPECT_EQ(broken, 1);
  Pipe next;
  ASSERT_TRUE(world.table.adopt(7, next.take_first()).ok());
  world.peer->attach(next.take_second());
  world.run();
  ASSERT_EQ(world.at_peer.frames.size(), 2U);
  EXPECT_EQ(world.at_peer.frames[1].payload, "second");
  next.break_now();  // a second loss is asked for again
  world.run();
  EXPECT_EQ(world.dialer.asked.size(), 2U);
}

TEST(ChannelTableResumes, a_refusal_of_the_connector_fails_the_channel) {
  World world;
  Channel& channel = *world.table.find_or_open(7).value();
  world.dialer.refusal = couplet::fail(Code::peer_lost, "rank 7 is gone: the hub says so");
  world.dialer.pipes[0].break_now();
  world.run();
  EXPECT_EQ(channel.state(), ChannelState::failed);
  ASSERT_EQ(world.recorder.losses.size(), 1U);
  EXPECT_EQ(world.recorder.losses[0].text(), "rank 7 is gone: the hub says so");
  EXPECT_TRUE(world.table.settled());
}

TEST(ChannelTableResumes, patience_counts_only_time_in_which_somebody_waits) {
  World world({.resume = true, .patience_ns = 10 * second_ns});
  Channel& channel = *world.table.find_or_open(7).value();
  world.dialer.refusal = Code::not_yet;
  world.dialer.pipes[0].break_now();
  world.run();
  std::uint64_t now_ns = 100 * second_ns;
  world.table.tick(now_ns);
  now_ns += 600 * second_ns;  // a long computation counts as one second
  world.table.tick(now_ns);
  EXPECT_EQ(channel.state(), ChannelState::broken);
  for (int tick = 0; tick < 89; ++tick) {
    world.table.tick(now_ns += second_ns / 10);
  }
  EXPECT_EQ(channel.state(), ChannelState::broken);
  world.table.tick(now_ns += second_ns);
  EXPECT_EQ(channel.state(), ChannelState::failed);
  world.run();
  ASSERT_EQ(world.recorder.losses.size(), 1U);
  EXPECT_EQ(world.recorder.losses[0].text(), "rank 7: no new connection within 10 s: rank 7 over pipe: pipe: broken");
}

TEST(ChannelTableResumes, a_new_lane_over_which_nobody_answers_does_not_stop_the_patience) {
  World world({.resume = true, .patience_ns = 3 * second_ns});
  Channel& channel = *world.table.find_or_open(7).value();
  world.dialer.pipes[0].break_now();
  world.run();
  EXPECT_EQ(channel.state(), ChannelState::open);
  EXPECT_TRUE(channel.resuming());
  for (std::uint64_t tick = 1; tick < 6; ++tick) {
    world.table.tick(tick * second_ns);
  }
  EXPECT_EQ(channel.state(), ChannelState::failed);
}

TEST(ChannelTableResumes, replace_takes_the_lane_of_a_peer_that_has_noticed_the_break_first) {
  World world;
  Channel& channel = *world.table.find_or_open(7).value();
  world.peer->attach(world.dialer.pipes[0].take_second());
  std::deque<Sent> sent;
  channel.send(sent.emplace_back("first", 0));
  world.run();
  world.peer->break_lanes({Code::peer_lost, "reset"});
  Pipe next;
  EXPECT_EQ(world.table.adopt(7, Pipe().take_first()).code(), Code::exists);
  ASSERT_TRUE(world.table.replace(7, next.take_first()).ok());
  world.peer->attach(next.take_second());
  channel.send(sent.emplace_back("second", 1));
  world.run();
  EXPECT_EQ(world.at_peer.frames.size(), 2U);
  EXPECT_TRUE(world.dialer.asked.empty());
}

TEST(ChannelTableResumes, add_lane_gives_an_open_channel_one_more) {
  World world;
  Channel& channel = *world.table.find_or_open(7).value();
  world.peer->attach(world.dialer.pipes[0].take_second());
  world.run();
  Pipe more;
  ASSERT_TRUE(world.table.add_lane(7, more.take_first()).ok());
  world.peer->attach(more.take_second());
  world.run();
  EXPECT_EQ(channel.lanes().size(), 2U);
  world.dialer.pipes[0].break_now();
  std::deque<Sent> sent;
  channel.send(sent.emplace_back("over the other one", 0));
  world.run();
  EXPECT_EQ(channel.state(), ChannelState::open);
  EXPECT_EQ(channel.lanes().size(), 1U);
  EXPECT_EQ(world.at_peer.frames.size(), 1U);
  EXPECT_TRUE(world.dialer.asked.empty());
}

// A lane with a descriptor that counts how often it is polled.
struct CountingLane final : link::Lane {
  CountingLane(int number, int& polls) : number_(number), polls_(polls) {}
  [[nodiscard]] const link::LaneTraits& traits() const noexcept override { return own; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader&, std::span<const std::byte> payload,
                                  std::uint64_t offset) override {
    return static_cast<std::int64_t>(wire::frame_header_bytes + payload.size() - offset);
  }
  [[nodiscard]] int poll(link::FrameReceiver&, int) override {
    ++polls_;
    return 0;
  }
  [[nodiscard]] bool readable() const noexcept override { return false; }
  [[nodiscard]] int descriptor() const noexcept override { return number_; }
  void shut() noexcept override {}
  [[nodiscard]] const Status& failure() const noexcept override { return fine; }
  link::LaneTraits own{.name = "counting", .largest_payload = 1U << 16};
  int number_;
  int& polls_;
  Status fine;
};

struct Watching : Watcher {
  Status watch(int, bool) override { return {}; }
  void unwatch(int) override {}
};

// Fault 11: each wake-up polled all sockets: 8.6 us with 1 peer, 118 us with 250.
TEST(ChannelTableResumes, of_10000_sockets_only_those_that_talk_are_polled) {
  constexpr int peers = 10'000;
  int polls = 0;
  Dialer dialer;
  Recorder recorder;
  Watching watching;
  ChannelTable table(dialer, recorder.handlers());
  table.set_watcher(&watching);
  for (int peer = 0; peer < peers; ++peer) {
    ASSERT_TRUE(table.adopt(static_cast<PeerId>(peer), std::make_unique<CountingLane>(peer + 3, polls)).ok());
  }
  for (int round = 0; round < 200; ++round) {
    table.poll_sockets(16);
  }
  polls = 0;
  for (int round = 0; round < 100; ++round) {
    table.poll_sockets(16);
    table.poll_memory(16);
  }
  EXPECT_EQ(polls, 0);
  EXPECT_FALSE(table.any_socket_polled());
  for (const int descriptor : {10, 20, 30, 40, 50}) {
    table.poll_descriptor(descriptor, 16);
  }
  EXPECT_EQ(polls, 5);
  table.poll_sockets(16);  // what was woken is looked at for a while
  EXPECT_EQ(polls, 10);
  polls = 0;
  table.tick(second_ns);
  EXPECT_GT(polls, 0);  // some of the silent ones, now and then
  EXPECT_LT(polls, 100);
  polls = 0;
  table.find(77)->fail(Code::peer_lost);
  table.poll_sockets(16);
  EXPECT_LT(polls, 100);
  EXPECT_EQ(recorder.losses.size(), 1U);
}

}  // namespace
}  // namespace couplet::channel
