// Channels over the simulated network, for tests of everything above link: endpoints, a channel between any two of
// them, and a loop that polls and advances the virtual clock. The same seed gives the same run.
//
//   SimChannels sim(seed);
//   sim.connect(0, 1, handlers_of_0, handlers_of_1);      // Handlers as channel::Channel takes them
//   sim.channel(0, 1).send(outgoing);                     // endpoint 0's channel to endpoint 1
//   EXPECT_TRUE(sim.run_until([&] { return arrived; }));  // false: nothing moves any longer (or 60 virtual seconds)
//
// Other objects can be polled, too: sim.also([&] { return progress.poll(); }).
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
  // Returns endpoint `from`'s channel to `to`.
  [[nodiscard]] channel::Channel& channel(int from, int to) { return *channels_.at({from, to}); }
  [[nodiscard]] link::SimNetwork& network() noexcept { return network_; }
  // Kills the endpoint: its channels are no longer polled.
  void kill(int endpoint);
  void also(std::function<int()> poll) { others_.push_back(std::move(poll)); }

  // Polls every channel of living endpoints once, in random order, and returns the work done.
  int poll();
  // Returns true if any of them says that there is something to do.
  [[nodiscard]] bool ready() const;
  // Polls and advances the clock until done(), until nothing moves any longer, or until limit_ns of virtual time have
  // passed. Returns true if it is done.
  bool run_until(const std::function<bool()>& done, std::uint64_t limit_ns = 60'000'000'000);
  // Runs until nothing moves any longer.
  void run_out() {
    (void)run_until([] { return false; });
  }

 private:
  link::SimNetwork network_;
  std::map<std::pair<int, int>, std::unique_ptr<channel::Channel>> channels_;
  std::vector<std::function<int()>> others_;
};

}  // namespace couplet::test
