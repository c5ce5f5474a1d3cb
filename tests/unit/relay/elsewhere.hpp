// A reader's process on another node, whose relay is the script of the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/retry.hpp"
#include "relay/remote.hpp"
#include "unit/relay/fixture.hpp"

namespace couplet::relay::testing_fixture {

inline constexpr std::uint64_t patience_ns = 400'000'000;  // the longest gap that LookedTime counts is shorter
static_assert(patience_ns > couplet::LookedTime::max_gap_ns);
inline constexpr std::uint64_t window_steps = 4;

class Elsewhere final : public FakeEnvironment, public message::Channels {
 public:
  explicit Elsewhere(const testing::SeriesWorld& world, channel::PeerId self = 1)
      : FakeEnvironment(world, self, "nowcast"), register_(world, self) {
    node_number = 1;
    begin(0);
  }
  // restart_patience_ns: as in a universe in which something starts another relay. in_calls: the writer is the relay.
  void begin(std::uint64_t restart_patience_ns, bool in_calls = false) {
    RemoteOptions options;
    options.patience_ns = patience_ns;
    options.restart_patience_ns = restart_patience_ns;
    options.in_calls = in_calls;
    options.buffer_bytes = window_steps * wire::series_page_bytes;
    connections.clear();
    remote = std::make_unique<Remote>(*this, static_cast<message::Channels&>(*this), options);
    dispatch = std::make_unique<Dispatch>(nullptr, remote.get());
    start_relay();
  }
  // Starts another relay. The frames go to the newest one.
  void start_relay() {
    connections.push_back(std::make_unique<Connection>(relay_peer, "the relay", *dispatch));
    there = true;
  }
  void kill_relay() {
    connections.back()->die();
    there = false;
    poll();
  }
  Connection& relay() { return *connections.back(); }
  void poll() {
    for (int work = 1; work > 0;) {
      work = 0;
      for (const auto& connection : connections) {
        work += connection->poll();
      }
    }
  }
  // Answers while the reader waits.
  std::function<void()> script = [] {};

  Result<channel::Channel*> channel_to(channel::PeerId /*peer*/) override {
    if (!there) {
      return fail(Code::peer_lost, "the relay of node a is lost");
    }
    return &relay().near_end();
  }
  std::string peer_name(channel::PeerId peer) const override {
    return peer == relay_peer ? "the relay of node a" : FakeEnvironment::peer_name(peer);
  }
  Status alive(channel::PeerId peer, std::uint16_t /*incarnation*/) override {
    return writer_lives ? Status() : fail(Code::peer_lost, "{} has left the universe", peer_name(peer));
  }
  Status wait(const std::function<bool()>& done, std::uint64_t until_ns) override {
    while (!done() && os::now_ns() < until_ns) {
      poll();
      script();
    }
    return {};
  }
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const series::PartSelection& selection,
                                                  std::uint64_t deadline_ns) override {
    return remote->open_part(record, part, selection, deadline_ns);
  }
  universe::SeriesRegistry& registry() noexcept override { return register_; }

  std::unique_ptr<Remote> remote;
  std::unique_ptr<Dispatch> dispatch;
  std::vector<std::unique_ptr<Connection>> connections;
  bool there = false;
  bool writer_lives = true;

 private:
  class Register final : public testing::FileRegistry {
   public:
    Register(const testing::SeriesWorld& world, channel::PeerId self)
        : FileRegistry(world.directory(), self, "nowcast", [](channel::PeerId) { return true; }) {}
    Result<channel::PeerId> relay_of(std::uint16_t node, std::uint64_t) override { return relay_peer + node; }
  };
  Register register_;
};

}  // namespace couplet::relay::testing_fixture
