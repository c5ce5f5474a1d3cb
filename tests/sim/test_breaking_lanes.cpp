// Seeds that break and heal the lanes of channels which may resume: one lane, several with unlike delays, and hybrid
// ones (short frames over one link, long ones over another), each also under `fault` (delays and deaths). Whatever
// breaks: everything arrives, once, unchanged and in order, in both directions, and both sides end in good order. To
// run one seed alone: COUPLET_SIM_SEED=<seed> test_sim --gtest_filter=BreakingLanes.*
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

#include "channel/channel.hpp"
#include "link/fault/fault_lane.hpp"
#include "link/sim/network.hpp"
#include "support/recorder.hpp"

namespace couplet {
namespace {

using channel::Channel;
using channel::ChannelState;
using channel::LaneRule;
using test::message_header;
using test::Recorder;
using test::Sent;

std::string text_of(std::uint64_t seed, std::size_t size) {
  Random random(seed);
  std::string text(size, '\0');
  for (char& character : text) {
    character = static_cast<char>(random.next());
  }
  return text;
}

// Each lane belongs to a network of its own, so that their delays differ.
link::SimOptions options_of(Random& random, std::string_view name) {
  return {.name = name,
          .delay_ns = random.between(0, random.chance(0.3) ? 2'000'000 : 50'000),
          .jitter_ns = random.between(0, 50'000),
          .bytes_per_us = random.between(0, 2000),
          .buffer_bytes = random.between(200, 300'000),
          .partial = 0.05 * static_cast<double>(random.below(20)),
          .death_notice_ns = random.between(0, 1'000'000),
          .silence_limit_ns = 50'000'000,
          .largest_payload = 100'000};
}

struct Side {
  Recorder recorder;
  std::deque<std::string> texts;
  std::deque<Sent> queued;
  std::unique_ptr<Channel> channel;
};

class Story {
 public:
  explicit Story(std::uint64_t seed) : random_(seed), lane_count_(random_.chance(0.5) ? 1 : random_.between(2, 4)) {
    const LaneRule rules[] = {LaneRule::first, LaneRule::by_size, LaneRule::round_robin};
    const channel::LanePolicy policy{.rule = lane_count_ == 1 ? LaneRule::first : rules[random_.below(3)],
                                     .max_short_bytes = random_.below(2000),
                                     .short_link = "short",
                                     .long_link = "long"};
    hybrid_ = policy.rule == LaneRule::by_size && random_.chance(0.7);
    faulty_ = random_.chance(0.3);
    for (std::size_t lane = 0; lane < lane_count_; ++lane) {
      names_.push_back(!hybrid_ ? "sim" : lane % 2 == 0 ? "short" : "long");
      networks_.emplace_back(seed * 100 + lane, options_of(random_, names_.back()));
    }
    for (const std::uint32_t index : {0U, 1U}) {
      sides_[index].channel =
          std::make_unique<Channel>(1 - index, fmt::format("endpoint {}", 1 - index), sides_[index].recorder.handlers(),
                                    channel::ChannelOptions{.session = 100 + index, .policy = policy});
      left_[index] = static_cast<int>(random_.below(60));
    }
    join_all();
  }

  // False: it does not come to its end.
  bool go() {
    for (int round = 0; round < 1'000'000; ++round) {
      const bool over = left_[0] == 0 && left_[1] == 0 && arrived(0) && arrived(1);
      if (over && !sides_[0].channel->shutting()) {
        sides_[0].channel->shut();
      }
      if (sides_[0].channel->settled() && sides_[1].channel->settled()) {
        return true;
      }
      send(0);
      send(1);
      disturb();
      if (poll() == 0) {
        advance();
      }
    }
    return false;
  }

  void check() {
    for (const int side : {0, 1}) {
      const auto& frames = sides_[side].recorder.frames;
      const auto& texts = sides_[1 - side].texts;
      ASSERT_EQ(frames.size(), texts.size());
      for (std::size_t number = 0; number < frames.size(); ++number) {
        ASSERT_EQ(frames[number].header.tag, static_cast<int>(number));
        ASSERT_TRUE(frames[number].payload == texts[number]) << "frame " << number;
      }
      ASSERT_EQ(sides_[side].recorder.losses.size(), 1U);
      EXPECT_EQ(sides_[side].recorder.losses[0].code(), Code::end) << sides_[side].recorder.losses[0].text();
      for (const Sent& sent : sides_[side].queued) {
        ASSERT_EQ(sent.outcomes.size(), 1U);
        ASSERT_TRUE(sent.outcomes[0].ok()) << sent.outcomes[0].text();
      }
    }
  }
  [[nodiscard]] int cuts() const { return cuts_; }
  [[nodiscard]] int retired() const { return retired_; }
  [[nodiscard]] bool several() const { return lane_count_ > 1; }
  [[nodiscard]] bool hybrid() const { return hybrid_; }
  [[nodiscard]] bool under_fault() const { return faulty_; }
  [[nodiscard]] std::string state() const {
    return fmt::format("{} lanes; arrived {} of {} and {} of {}; states {} and {}: {}; {}", lane_count_,
                       sides_[1].recorder.frames.size(), sides_[0].texts.size(), sides_[0].recorder.frames.size(),
                       sides_[1].texts.size(), static_cast<int>(sides_[0].channel->state()),
                       static_cast<int>(sides_[1].channel->state()), sides_[0].channel->failure().text(),
                       sides_[1].channel->failure().text()) +
           lanes(0) + lanes(1);
  }

 private:
  [[nodiscard]] std::string lanes(int side) const {
    std::string text;
    for (const auto& slot : sides_[side].channel->sender().slots()) {
      text += fmt::format("; side {} lane {} over {}: stage {}, {}{}{}", side, slot->id, slot->lane->traits().name,
                          static_cast<int>(slot->stage), slot->push_failed ? "push failed, " : "",
                          slot->notice.pending ? "notice waits, " : "", slot->idle() ? "idle" : "sending");
    }
    return text;
  }
  static constexpr int max_cuts = 40;
  [[nodiscard]] bool arrived(int side) const {
    return sides_[side].recorder.frames.size() == sides_[1 - side].texts.size();
  }
  void join(std::size_t network) {
    auto lanes = networks_[network].connect(0, 1);
    if (faulty_) {
      lanes.first = faulty(std::move(lanes.first), names_[network]);
      lanes.second = faulty(std::move(lanes.second), names_[network]);
    }
    sides_[0].channel->attach(std::move(lanes.first));
    sides_[1].channel->attach(std::move(lanes.second));
  }
  std::unique_ptr<link::Lane> faulty(std::unique_ptr<link::Lane> lane, std::string_view name) {
    const bool dies = cuts_ < max_cuts && random_.chance(0.3);
    cuts_ += dies ? 1 : 0;
    return link::make_fault_lane(
        std::move(lane), {.delay = 0.1, .die_after_frames = dies ? random_.below(30) : UINT64_MAX, .name = name},
        random_.next());
  }
  void join_all() {
    for (std::size_t network = 0; network < lane_count_; ++network) {
      join(network);
    }
  }
  void send(int side) {
    Channel& channel = *sides_[side].channel;
    if (left_[side] == 0 || channel.state() == ChannelState::failed || !random_.chance(0.4)) {
      return;
    }
    --left_[side];
    const std::size_t size = random_.chance(0.1) ? random_.below(100'000) : random_.below(400);
    const auto number = static_cast<std::int32_t>(sides_[side].texts.size());
    sides_[side].texts.push_back(text_of(random_.next(), size));
    const std::string& text = sides_[side].texts.back();
    auto header = message_header(number);
    if (random_.chance(0.5) && channel.try_send(header, std::as_bytes(std::span(text)))) {
      return;
    }
    channel.send(sides_[side].queued.emplace_back(text, number));
  }
  void disturb() {
    if (cuts_ < max_cuts && random_.chance(0.01)) {
      networks_[random_.below(lane_count_)].cut(0, 1);
      ++cuts_;
    }
    Channel& zero = *sides_[0].channel;
    Channel& one = *sides_[1].channel;
    if (zero.state() == ChannelState::broken && one.state() != ChannelState::broken && random_.chance(0.1)) {
      one.break_lanes({Code::peer_lost, "the peer has dialed again"});
    } else if (one.state() == ChannelState::broken && zero.state() != ChannelState::broken && random_.chance(0.1)) {
      zero.break_lanes({Code::peer_lost, "the peer has dialed again"});
    }
    for (Channel* const channel : {&zero, &one}) {
      if (lane_count_ > 1 && channel->state() == ChannelState::open && random_.chance(0.002)) {
        const auto& lanes = channel->lanes();
        channel->break_lanes({Code::peer_lost, "the peer has made another one"},
                             lanes[random_.below(lanes.size())].get());
        ++retired_;
      }
    }
    const bool no_lane = (zero.state() == ChannelState::broken || zero.state() == ChannelState::failed) &&
                         (one.state() == ChannelState::broken || one.state() == ChannelState::failed);
    if (no_lane && random_.chance(0.2)) {
      join(random_.below(lane_count_));
    } else if (lane_count_ > 1 && zero.state() == ChannelState::open && one.state() == ChannelState::open &&
               zero.sender().slots().size() < lane_count_ && one.sender().slots().size() < lane_count_ &&
               random_.chance(0.02)) {
      join(random_.below(lane_count_));
    }
  }
  int poll() {
    const auto first = random_.below(2);
    int work = 0;
    for (const std::uint64_t index : {first, 1 - first}) {
      work += sides_[index].channel->poll(static_cast<int>(random_.between(1, 16)));
      Channel& channel = *sides_[index].channel;
      if (channel.state() == ChannelState::open && random_.chance(0.01)) {
        channel.acknowledge();
      }
    }
    return work;
  }
  void advance() {
    for (link::SimNetwork& network : networks_) {
      network.advance_to_next();
    }
  }

  Random random_;
  std::uint64_t lane_count_;
  std::vector<std::string_view> names_;  // the links' names
  std::deque<link::SimNetwork> networks_;
  bool hybrid_ = false;
  bool faulty_ = false;
  Side sides_[2];
  int left_[2] = {0, 0};
  int cuts_ = 0;
  int retired_ = 0;
};

TEST(BreakingLanes, two_thousand_seeds) {
  const char* const chosen = std::getenv("COUPLET_SIM_SEED");
  const std::uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 0;
  const std::uint64_t count = chosen != nullptr ? 1 : 2000;
  int cuts = 0;
  int retired = 0;
  int several = 0;
  int hybrid = 0;
  int hybrid_under_fault = 0;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Story run(seed);
    ASSERT_TRUE(run.go()) << run.state();
    ASSERT_NO_FATAL_FAILURE(run.check()) << run.state();
    cuts += run.cuts();
    retired += run.retired();
    several += run.several() ? 1 : 0;
    hybrid += run.hybrid() ? 1 : 0;
    hybrid_under_fault += run.hybrid() && run.under_fault() ? 1 : 0;
  }
  if (chosen == nullptr && !HasFailure()) {
    EXPECT_GT(cuts, 2000);
    EXPECT_GT(retired, 500);
    EXPECT_GT(several, 500);
    EXPECT_GT(hybrid, 150);
    EXPECT_GT(hybrid_under_fault, 30);
  }
}

}  // namespace
}  // namespace couplet
