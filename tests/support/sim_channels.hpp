// Channels over the simulated network, for tests of everything above link: endpoints, a channel between any two of them,
// and a loop that polls and lets the virtual clock go on. Same seed, same run.
//
//   SimChannels sim(seed);
//   sim.connect(0, 1, handlers_of_0, handlers_of_1);      // Handlers as channel::Channel takes them
//   sim.channel(0, 1).send(outgoing);                     // endpoint 0's channel to endpoint 1
//   EXPECT_TRUE(sim.run_until([&] { return arrived; }));  // false: nothing moves any more (or 60 virtual seconds)
//
// More than channels can be polled: sim.also([&] { return progress.poll(); }).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "channel/channel.hpp"
#include "link/sim/network.hpp"

namespace couplet::test {

class SimChannels {
 public:
  using WrapLane = std::function<std::unique_ptr<link::Lane>(std::unique_ptr<link::Lane>)>;

  explicit SimChannels(std::uint64_t seed, link::SimOptions options = {}) : network_(seed, options) {}

  // wrap: puts something around each of the two lanes (link/fault).
  void connect(int first, int second, const channel::Handlers& of_first, const channel::Handlers& of_second,
               const WrapLane& wrap = {});
  // Endpoint `from`'s channel to `to`.
  [[nodiscard]] channel::Channel& channel(int from, int to) { return *channels_.at({from, to}); }
  [[nodiscard]] link::SimNetwork& network() noexcept { return network_; }
  // Kills the endpoint: its channels are not polled any more.
  void kill(int endpoint);
  void also(std::function<int()> poll) { others_.push_back(std::move(poll)); }

  // One poll of every channel of living endpoints, in random order; returns the work done.
  int poll();
  // Does any of them say that there is something to do?
  [[nodiscard]] bool ready() const;
  // Polls and advances the clock until done() or nothing moves any more or limit_ns of virtual time have passed; true: done.
  bool run_until(const std::function<bool()>& done, std::uint64_t limit_ns = 60'000'000'000);
  // Until nothing moves any more.
  void run_out() {
    (void)run_until([] { return false; });
  }

 private:
  link::SimNetwork network_;
  std::map<std::pair<int, int>, std::unique_ptr<channel::Channel>> channels_;
  std::vector<std::function<int()>> others_;
};

}  // namespace couplet::test
