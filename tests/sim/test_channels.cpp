// A thousand seeds: endpoints with channels, random traffic, faults, partitions and deaths. Whatever happens: what is
// delivered is a beginning of what was sent, in order and unchanged; all of it, or both sides that live know by name
// why not; every frame that was sent is finished once; the same seed does the same again. A failing seed is printed; to
// run it alone: COUPLET_SIM_SEED=<seed> test_sim --gtest_filter=SimulatedChannels.*
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

#include "link/fault/fault_lane.hpp"
#include "support/recorder.hpp"
#include "support/sim_channels.hpp"

namespace couplet {
namespace {

using test::message_header;
using test::Recorder;
using test::Sent;
using test::SimChannels;

// What one endpoint sends to another.
struct Flow {
  int from = 0;
  int to = 0;
  std::vector<std::string> texts;  // in the order in which they were given to the channel
  std::deque<Sent> sent;
  Recorder receiver;  // at `to`: what came from `from`
  int left = 0;
  Flow* reverse = nullptr;
  bool shut = false;
};

std::string text_of(std::uint64_t seed, std::size_t size) {
  Random random(seed);
  std::string text(size, '\0');
  for (char& character : text) {
    character = static_cast<char>(random.next());
  }
  return text;
}

// One run of one seed.
class Story {
 public:
  explicit Story(std::uint64_t seed) : seed_(seed), sim_(seed, options(seed)) {
    Random& random = sim_.network().random();
    endpoints_ = static_cast<int>(random.between(2, 5));
    faulty_ = random.chance(0.5);
    for (int first = 0; first < endpoints_; ++first) {
      for (int second = first + 1; second < endpoints_; ++second) {
        connect(first, second);
      }
    }
  }

  void go() {
    Random& random = sim_.network().random();
    bool traffic = true;
    for (int round = 0; traffic && round < 100'000; ++round) {
      traffic = false;
      for (Flow& flow : flows_) {
        traffic = step(flow) || traffic;
      }
      disturb(random);
      if (sim_.poll() == 0) {
        sim_.network().advance_to_next();
      }
    }
    heal_all();
    // Nothing may hang: every channel of a living endpoint comes to its end.
    EXPECT_TRUE(sim_.run_until([this] { return all_settled(); })) << "somebody was never told";
  }

  void check() {
    for (Flow& flow : flows_) {
      SCOPED_TRACE(fmt::format("from {} to {}", flow.from, flow.to));
      const auto& frames = flow.receiver.frames;
      ASSERT_LE(frames.size(), flow.texts.size());
      for (std::size_t number = 0; number < frames.size(); ++number) {
        ASSERT_EQ(frames[number].header.tag, static_cast<int>(number));
        ASSERT_TRUE(frames[number].payload == flow.texts[number]) << "frame " << number;
      }
      for (const Sent& sent : flow.sent) {
        ASSERT_EQ(sent.outcomes.size(), sim_.network().alive(flow.from) ? 1U : sent.outcomes.size());
      }
      if (!sim_.network().alive(flow.to)) {
        EXPECT_LE(flow.receiver.losses.size(), 1U);
        continue;
      }
      ASSERT_EQ(flow.receiver.losses.size(), 1U);
      const Status& why = flow.receiver.losses[0];
      const bool complete = frames.size() == flow.texts.size();
      const bool ended_by_peer_first = why.code() == Code::end;
      EXPECT_TRUE(complete || why.error() || ended_by_peer_first);
      EXPECT_NE(why.text().find(fmt::format("endpoint {}", flow.from)), std::string::npos) << why.text();
      if (!disturbed_ && counts_.damaged() == 0) {
        EXPECT_EQ(why.code(), Code::end) << why.text();
        EXPECT_TRUE(complete) << frames.size() << " of " << flow.texts.size();
      }
    }
    both_sides_agree();
  }

  [[nodiscard]] std::uint64_t hash() { return sim_.network().trace_hash(); }
  [[nodiscard]] std::size_t delivered() const {
    std::size_t count = 0;
    for (const Flow& flow : flows_) {
      count += flow.receiver.frames.size();
    }
    return count;
  }
  [[nodiscard]] std::uint64_t damaged() const { return counts_.damaged(); }
  [[nodiscard]] bool killed() const { return killed_; }

 private:
  static link::SimOptions options(std::uint64_t seed) {
    Random random(seed * 31 + 1);
    return {.delay_ns = random.between(0, 100'000),
            .jitter_ns = random.between(0, 50'000),
            .bytes_per_us = random.between(0, 2000),
            .buffer_bytes = random.between(100, 30'000),
            .partial = 0.05 * static_cast<double>(random.below(20)),
            .death_notice_ns = random.between(0, 10'000'000),
            .silence_limit_ns = 50'000'000,
            .largest_payload = 16U << 10};
  }

  void connect(int first, int second) {
    Flow& there = flows_.emplace_back();
    Flow& back = flows_.emplace_back();
    there.reverse = &back;
    back.reverse = &there;
    there.from = back.to = first;
    there.to = back.from = second;
    Random& random = sim_.network().random();
    there.left = static_cast<int>(random.below(40));
    back.left = static_cast<int>(random.below(40));
    SimChannels::WrapLane wrap;
    if (faulty_ && random.chance(0.5)) {
      const auto rate = [&] { return random.chance(0.3) ? 0.03 : 0.0; };
      const link::FaultOptions faults{.drop = rate(),
                                      .duplicate = rate(),
                                      .swap = rate(),
                                      .corrupt_header = rate(),
                                      .corrupt_payload = rate(),
                                      .truncate = rate(),
                                      .delay = 0.1};
      wrap = [this, faults](std::unique_ptr<link::Lane> lane) {
        return link::make_fault_lane(std::move(lane), faults, sim_.network().random().next(), &counts_);
      };
    }
    // What arrives at `first` is the flow back.
    sim_.connect(first, second, back.receiver.handlers(), there.receiver.handlers(), wrap);
  }

  // Sends a frame now and then; shuts when both directions have nothing more to say. False: nothing more to do.
  bool step(Flow& flow) {
    auto& channel = sim_.channel(flow.from, flow.to);
    if (!sim_.network().alive(flow.from) || channel.state() == channel::ChannelState::failed || flow.shut) {
      return false;
    }
    Random& random = sim_.network().random();
    if (flow.left > 0) {
      if (random.chance(0.3)) {
        --flow.left;
        send(flow, channel, random);
      }
      return true;
    }
    // The end of either side ends both: wait until the other side's frames are here.
    const Flow& reverse = *flow.reverse;
    const bool all_here = reverse.left == 0 && reverse.receiver.frames.size() == reverse.texts.size();
    const bool gives_up = random.chance(0.001);
    if (all_here || gives_up) {
      disturbed_ = disturbed_ || !all_here;
      channel.shut();
      flow.shut = true;
    }
    return !flow.shut;
  }

  void send(Flow& flow, channel::Channel& channel, Random& random) {
    const auto number = static_cast<std::int32_t>(flow.texts.size());
    const std::size_t size = random.chance(0.1) ? random.below(16U << 10) : random.below(200);
    flow.texts.push_back(text_of(seed_ ^ random.next(), size));
    auto header = message_header(number);
    if (random.chance(0.5) && channel.try_send(header, std::as_bytes(std::span(flow.texts.back())))) {
      return;
    }
    channel.send(flow.sent.emplace_back(flow.texts.back(), number));
  }

  void disturb(Random& random) {
    const auto any = [&] { return static_cast<int>(random.below(static_cast<std::uint64_t>(endpoints_))); };
    if (random.chance(0.0005)) {
      sim_.kill(any());
      disturbed_ = killed_ = true;
    }
    if (random.chance(0.002)) {
      sim_.network().part(any(), any());
      disturbed_ = true;  // may last longer than silence_limit_ns
    }
    if (random.chance(0.01)) {
      heal_all();
    }
    if (random.chance(0.0005) && !flows_.empty()) {
      const Flow& flow = flows_[random.below(flows_.size())];
      sim_.channel(flow.from, flow.to).fail(fail(Code::peer_lost, "endpoint {} is gone, the hub says", flow.to));
      disturbed_ = true;
    }
  }

  void heal_all() {
    for (int first = 0; first < endpoints_; ++first) {
      for (int second = first; second < endpoints_; ++second) {
        sim_.network().heal(first, second);
      }
    }
  }

  bool all_settled() {
    for (const Flow& flow : flows_) {
      auto& channel = sim_.channel(flow.from, flow.to);
      if (!channel.settled() && sim_.network().alive(flow.from)) {
        if (!channel.shutting() && channel.state() == channel::ChannelState::open && sim_.poll() == 0) {
          // Frames that were lost at the very end: the goodbye brings it to light.
          disturbed_ = true;
          channel.shut();
        }
        return false;
      }
    }
    return true;
  }

  // Where one side lost frames, the other side does not believe that all is well and still open.
  void both_sides_agree() {
    for (const Flow& flow : flows_) {
      if (sim_.network().alive(flow.from) && flow.receiver.frames.size() < flow.texts.size()) {
        EXPECT_EQ(sim_.channel(flow.from, flow.to).state(), channel::ChannelState::failed);
      }
    }
  }

  std::uint64_t seed_;
  link::FaultCounts counts_;
  std::deque<Flow> flows_;  // handlers point at them
  SimChannels sim_;
  int endpoints_ = 0;
  bool faulty_ = false;
  bool disturbed_ = false;
  bool killed_ = false;
};

TEST(SimulatedChannels, a_thousand_seeds) {
  const char* const chosen = std::getenv("COUPLET_SIM_SEED");
  const std::uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 0;
  const std::uint64_t count = chosen != nullptr ? 1 : 1000;
  std::size_t delivered = 0;
  std::size_t killed = 0;
  std::size_t damaged = 0;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Story run(seed);
    run.go();
    run.check();
    delivered += run.delivered();
    killed += run.killed() ? 1U : 0U;
    damaged += run.damaged() > 0 ? 1U : 0U;
  }
  if (chosen == nullptr && !HasFailure()) {
    EXPECT_GT(delivered, 50'000U);
    EXPECT_GT(killed, 50U);
    EXPECT_GT(damaged, 100U);
    RecordProperty("delivered", static_cast<int>(delivered));
  }
}

TEST(SimulatedChannels, the_same_seed_gives_the_same_trace) {
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Story run(seed);
    run.go();
    hashes.push_back(run.hash());
    Story again(seed);
    again.go();
    EXPECT_EQ(again.hash(), hashes.back()) << "seed " << seed;
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end()) << "different seeds do different things";
}

TEST(SimulatedChannels, the_trace_can_be_printed) {
  link::SimNetwork network(3);
  network.keep_trace(true);
  auto lanes = network.connect(0, 1);
  wire::FrameHeader header = message_header();
  EXPECT_GT(lanes.first->push(header, {}, 0), 0);
  network.kill(0);
  ASSERT_EQ(network.trace().size(), 3U);
  EXPECT_NE(network.trace()[0].find("connected 0 -> 1"), std::string::npos) << network.trace()[0];
  EXPECT_NE(network.trace()[2].find("killed 0"), std::string::npos) << network.trace()[2];
}

}  // namespace
}  // namespace couplet
