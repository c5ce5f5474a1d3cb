// Channel over the simulated network and over a lane that the test plays itself.
#include "channel/channel.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "support/recorder.hpp"
#include "support/sim_channels.hpp"

namespace couplet::channel {
namespace {

using test::message_header;
using test::Recorder;
using test::Sent;
using test::SimChannels;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct Pair {
  explicit Pair(std::uint64_t seed = 1, link::SimOptions options = {}) : sim(seed, options) {
    sim.connect(0, 1, zero.handlers(), one.handlers());
  }
  Channel& to_one() { return sim.channel(0, 1); }
  Channel& to_zero() { return sim.channel(1, 0); }

  Recorder zero;
  Recorder one;
  SimChannels sim;
};

TEST(Channel, frames_arrive_once_in_order_and_with_their_headers) {
  Pair pair;
  std::deque<Sent> sent;
  for (int index = 0; index < 200; ++index) {
    sent.emplace_back(std::string(static_cast<std::size_t>(index) * 37, static_cast<char>('a' + index % 26)), index);
    sent.back().header.first = 1000U + static_cast<unsigned>(index);
    pair.to_one().send(sent.back());
  }
  EXPECT_TRUE(pair.sim.run_until([&] { return pair.one.frames.size() == sent.size(); }));
  for (std::size_t index = 0; index < sent.size(); ++index) {
    EXPECT_EQ(pair.one.frames[index].payload, sent[index].text);
    EXPECT_EQ(pair.one.frames[index].header.tag, static_cast<int>(index));
    EXPECT_EQ(pair.one.frames[index].header.first, 1000 + index);
    ASSERT_EQ(sent[index].outcomes.size(), 1U);
    EXPECT_TRUE(sent[index].outcomes[0].ok());
  }
  EXPECT_FALSE(pair.to_one().sending());
}

TEST(Channel, try_send_takes_a_frame_whole_or_not_at_all) {
  Pair pair(3, {.buffer_bytes = 5000, .partial = 0.5});
  std::vector<std::string> taken;
  for (int index = 0; taken.size() < 300; ++index) {
    std::string text(static_cast<std::size_t>(index * 7 % 900), static_cast<char>('a' + index % 26));
    auto header = message_header(index);
    if (pair.to_one().try_send(header, bytes_of(text))) {
      taken.push_back(text);
      text.assign(text.size(), '!');  // the payload is ours again
    } else {
      pair.sim.poll();
      pair.sim.network().advance_to_next();
    }
  }
  pair.sim.run_out();
  ASSERT_EQ(pair.one.frames.size(), taken.size());
  for (std::size_t index = 0; index < taken.size(); ++index) {
    EXPECT_EQ(pair.one.frames[index].payload, taken[index]);
  }
}

TEST(Channel, try_send_does_not_overtake_what_is_queued) {
  Pair pair(1, {.buffer_bytes = 1000, .partial = 0});
  Sent big(std::string(5000, 'b'));
  pair.to_one().send(big);
  auto header = message_header();
  EXPECT_FALSE(pair.to_one().try_send(header, {}));
  pair.sim.run_out();
  EXPECT_TRUE(pair.to_one().try_send(header, {}));
  const std::string too_big(Channel::try_send_bytes + 1, 'x');
  EXPECT_FALSE(pair.to_one().try_send(header, bytes_of(too_big)));
}

TEST(Channel, place_gives_the_memory_of_the_handler_to_frames_whose_payload_is_not_checked) {
  Pair pair;  // sim checks every payload
  pair.one.use_place = true;
  Sent sent("payload");
  pair.to_one().send(sent);
  pair.sim.run_out();
  EXPECT_EQ(pair.one.places, 0);
  EXPECT_EQ(pair.one.frames.at(0).payload, "payload");
}

TEST(Channel, sends_while_opening_are_queued) {
  Recorder zero;
  Recorder one;
  link::SimNetwork network(1);
  auto lanes = network.connect(0, 1);
  Channel there(1, "endpoint 1", zero.handlers());
  Channel back(0, "endpoint 0", one.handlers());
  Sent sent("early");
  auto header = message_header();
  EXPECT_EQ(there.state(), ChannelState::opening);
  EXPECT_FALSE(there.try_send(header, {}));
  there.send(sent);
  EXPECT_EQ(there.poll(10), 0);
  EXPECT_FALSE(there.ready());
  EXPECT_EQ(there.traits().name, "opening");
  there.attach(std::move(lanes.first));
  back.attach(std::move(lanes.second));
  EXPECT_TRUE(there.ready());
  EXPECT_GT(there.poll(10), 0);
  network.advance(1'000'000);
  EXPECT_TRUE(back.ready());
  back.poll(10);
  EXPECT_EQ(one.frames.size(), 1U);
}

TEST(Channel, budget_bounds_what_one_poll_delivers) {
  Pair pair;
  for (int index = 0; index < 20; ++index) {
    auto header = message_header(index);
    while (!pair.to_one().try_send(header, {})) {
      pair.to_one().poll(1);
    }
  }
  pair.to_one().poll(1);
  pair.sim.network().advance(1'000'000);
  EXPECT_EQ(pair.to_zero().poll(7), 7);
  EXPECT_EQ(pair.one.frames.size(), 7U);
}

TEST(Channel, handlers_may_send_from_inside) {
  Pair pair;
  std::deque<Sent> answers;
  pair.one.on_frame = [&](Channel& from, const Recorder::Frame& frame) {
    answers.emplace_back("answer to " + frame.payload);
    from.send(answers.back());
    EXPECT_EQ(from.poll(10), 0);  // a poll from inside does nothing
    return Status();
  };
  std::deque<Sent> sent;
  for (int index = 0; index < 50; ++index) {
    pair.to_one().send(sent.emplace_back(std::to_string(index)));
  }
  EXPECT_TRUE(pair.sim.run_until([&] { return pair.zero.frames.size() == 50; }));
  EXPECT_EQ(pair.zero.frames.back().payload, "answer to 49");
}

// finished() that sends the next piece must not grow the stack.
TEST(Channel, a_million_frames_sent_from_finished_do_not_grow_the_stack) {
  Pair pair(1, {.bytes_per_us = 0, .buffer_bytes = UINT64_MAX, .partial = 0});
  struct Repeated : Outgoing {
    Channel* channel = nullptr;
    int left = 1'000'000;
    std::uintptr_t lowest = UINTPTR_MAX;
    std::uintptr_t highest = 0;
  } repeated;
  repeated.header = message_header();
  repeated.channel = &pair.to_one();
  repeated.finished = [](Outgoing& outgoing, const Status& status) {
    auto& self = static_cast<Repeated&>(outgoing);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    self.lowest = std::min(self.lowest, here);
    self.highest = std::max(self.highest, here);
    ASSERT_TRUE(status.ok());
    if (--self.left > 0) {
      self.channel->send(self);
    }
  };
  pair.to_one().send(repeated);
  EXPECT_TRUE(pair.sim.run_until([&] {
    pair.one.frames.clear();
    return repeated.left == 0;
  }));
  EXPECT_LT(repeated.highest - repeated.lowest, 100'000U);
}

TEST(Channel, shut_delivers_everything_and_ends_both_sides) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Pair pair(seed, {.buffer_bytes = 700, .partial = 0.5});
    std::deque<Sent> sent;
    for (int index = 0; index < 40; ++index) {
      pair.to_one().send(sent.emplace_back(std::string(200, 'x'), index));
    }
    pair.to_one().shut();
    Sent late("late");
    pair.to_one().send(late);
    EXPECT_EQ(late.outcomes.at(0).code(), Code::state);
    auto header = message_header();
    EXPECT_FALSE(pair.to_one().try_send(header, {}));
    pair.sim.run_out();
    EXPECT_EQ(pair.one.frames.size(), 40U) << seed;
    for (const Recorder* side : {&pair.zero, &pair.one}) {
      ASSERT_EQ(side->losses.size(), 1U) << seed;
      EXPECT_EQ(side->losses[0].code(), Code::end) << side->losses[0].text();
    }
    EXPECT_EQ(sent.back().outcomes.at(0).code(), Code::ok);
    EXPECT_TRUE(pair.to_one().settled());
    EXPECT_FALSE(pair.to_one().ready());
    pair.to_one().release_lanes();
    EXPECT_TRUE(pair.to_one().lanes().empty());
  }
}

TEST(Channel, shut_by_both_at_once) {
  Pair pair;
  pair.to_one().shut();
  pair.to_zero().shut();
  pair.sim.run_out();
  EXPECT_EQ(pair.zero.losses.at(0).code(), Code::end);
  EXPECT_EQ(pair.one.losses.at(0).code(), Code::end);
}

TEST(Channel, shut_from_inside_arrived) {
  Pair pair;
  pair.one.on_frame = [](Channel& from, const Recorder::Frame&) {
    from.shut();
    return Status();
  };
  Sent sent("go");
  pair.to_one().send(sent);
  pair.sim.run_out();
  EXPECT_EQ(pair.zero.losses.at(0).code(), Code::end);
  EXPECT_EQ(pair.one.losses.at(0).code(), Code::end);
}

TEST(Channel, what_is_queued_when_the_peer_ends_is_finished_with_end) {
  Pair pair(1, {.buffer_bytes = 1000, .partial = 0});
  Sent big(std::string(60'000, 'b'));
  pair.to_one().send(big);
  pair.to_zero().shut();
  pair.sim.run_out();
  ASSERT_EQ(big.outcomes.size(), 1U);
  EXPECT_EQ(big.outcomes[0].code(), pair.zero.losses.at(0).code());
  EXPECT_EQ(pair.zero.losses.at(0).code(), Code::end);
}

TEST(Channel, a_peer_that_ends_without_goodbye_is_lost_by_name) {
  Pair pair;
  Sent first("first");
  pair.to_one().send(first);
  pair.sim.run_out();
  pair.sim.kill(0);
  pair.sim.run_out();
  ASSERT_EQ(pair.one.losses.size(), 1U);
  EXPECT_EQ(pair.one.losses[0].code(), Code::peer_lost);
  EXPECT_NE(pair.one.losses[0].text().find("endpoint 0"), std::string::npos) << pair.one.losses[0].text();
}

TEST(Channel, an_error_of_a_handler_fails_the_channel_and_is_told_to_the_peer) {
  Pair pair;
  pair.one.on_frame = [](Channel&, const Recorder::Frame& frame) {
    return frame.header.tag == 2 ? fail(Code::limit, "too many envelopes") : Status();
  };
  std::deque<Sent> sent;
  for (int index = 0; index < 5; ++index) {
    pair.to_one().send(sent.emplace_back("text", index));
  }
  pair.sim.run_out();
  EXPECT_EQ(pair.one.frames.size(), 3U);
  ASSERT_EQ(pair.one.losses.size(), 1U);
  EXPECT_EQ(pair.one.losses[0].code(), Code::limit);
  EXPECT_EQ(pair.one.losses[0].text(), "endpoint 0 over sim: frame 2 was due: too many envelopes");
  ASSERT_EQ(pair.zero.losses.size(), 1U);
  EXPECT_EQ(pair.zero.losses[0].code(), Code::protocol);
  EXPECT_NE(pair.zero.losses[0].text().find("too many envelopes"), std::string::npos) << pair.zero.losses[0].text();
}

TEST(Channel, fail_from_inside_and_from_outside_tells_once) {
  Pair pair;
  pair.one.on_frame = [](Channel& from, const Recorder::Frame&) {
    from.fail(fail(Code::peer_lost, "the hub says that endpoint 0 is gone"));
    from.fail(fail(Code::protocol, "second reason"));
    return fail(Code::protocol, "third reason");
  };
  pair.one.on_lost = [](Channel& from, const Status&) {
    Sent more("more");
    from.send(more);
    EXPECT_EQ(more.outcomes.at(0).code(), Code::peer_lost);
    from.shut();
    from.fail(fail(Code::protocol, "fourth reason"));
  };
  Sent sent("go");
  pair.to_one().send(sent);
  pair.sim.run_out();
  ASSERT_EQ(pair.one.losses.size(), 1U);
  EXPECT_EQ(pair.one.losses[0].text(), "the hub says that endpoint 0 is gone");
  EXPECT_EQ(pair.zero.losses.size(), 1U);
}

TEST(Channel, a_handler_of_several_families_is_told_once_and_unread_families_are_errors) {
  Recorder zero;
  Recorder one;
  auto handlers = one.handlers();
  handlers[static_cast<std::size_t>(wire::FrameFamily::control)] = &one;
  SimChannels sim(1);
  sim.connect(0, 1, zero.handlers(), handlers);
  Sent control("c", 0, wire::FrameFamily::control);
  Sent relay("r", 0, wire::FrameFamily::relay);
  sim.channel(0, 1).send(control);
  sim.channel(0, 1).send(relay);
  sim.run_out();
  EXPECT_EQ(one.frames.size(), 1U);
  ASSERT_EQ(one.losses.size(), 1U);
  EXPECT_EQ(one.losses[0].code(), Code::protocol);
  EXPECT_NE(one.losses[0].text().find("kind 0x31"), std::string::npos) << one.losses[0].text();
}

TEST(Channel, destroying_a_channel_finishes_what_is_queued) {
  Recorder zero;
  Sent sent("never");
  {
    Channel channel(7, "endpoint 7", zero.handlers());
    channel.send(sent);
  }
  ASSERT_EQ(sent.outcomes.size(), 1U);
  EXPECT_EQ(sent.outcomes[0].code(), Code::state);
  EXPECT_TRUE(zero.losses.empty());
}

// A lane that is played by the test: gives the frames it is told to.
struct PlayedLane final : link::Lane {
  [[nodiscard]] const link::LaneTraits& traits() const noexcept override { return own_traits; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) override {
    pushed.push_back(header);
    return push_answer == INT64_MAX ? static_cast<std::int64_t>(wire::frame_header_bytes + payload.size() - offset)
                                    : push_answer;
  }
  [[nodiscard]] int poll(link::FrameReceiver& receiver, int budget) override {
    int count = 0;
    while (count < budget && !frames.empty()) {
      auto [header, payload] = frames.front();
      frames.pop_front();
      std::byte* const place = header.payload_bytes > 0 ? receiver.place(header) : nullptr;
      placed += place != nullptr ? 1 : 0;
      ++count;
      if (place != nullptr) {
        std::memcpy(place, payload.data(), payload.size());
      }
      if (!receiver.arrived(header, place != nullptr ? std::span<const std::byte>(place, payload.size())
                                                     : std::as_bytes(std::span(payload)))) {
        return count;
      }
    }
    return count > 0 || why.ok() ? count : -1;
  }
  [[nodiscard]] bool readable() const noexcept override { return !frames.empty(); }
  void shut() noexcept override { ++shuts; }
  [[nodiscard]] const Status& failure() const noexcept override { return why; }

  link::LaneTraits own_traits{.name = "played", .checked = false, .largest_payload = 1U << 20};
  std::deque<std::pair<wire::FrameHeader, std::string>> frames;
  std::vector<wire::FrameHeader> pushed;
  std::int64_t push_answer = INT64_MAX;
  Status why;
  int shuts = 0;
  int placed = 0;
};

struct Played {
  explicit Played(bool checked = false) {
    auto owned = std::make_unique<PlayedLane>();
    lane = owned.get();
    lane->own_traits.checked = checked;
    channel.attach(std::move(owned));
  }
  void give(std::uint32_t sequence, const std::string& text,
            const std::function<void(wire::FrameHeader&)>& change = {}) {
    auto header = message_header();
    header.sequence = sequence;
    header.payload_bytes = static_cast<std::uint32_t>(text.size());
    if (lane->own_traits.checked) {
      wire::seal_frame(header, bytes_of(text), true);
    }
    if (change) {
      change(header);
    }
    lane->frames.emplace_back(header, text);
  }
  std::string failure() {
    channel.poll(100);
    EXPECT_EQ(recorder.losses.size(), 1U);
    return recorder.losses.empty() ? "" : recorder.losses[0].text();
  }

  Recorder recorder;
  Channel channel{5, "program 'nowcast' rank 0 on host a", recorder.handlers()};
  PlayedLane* lane = nullptr;
};

TEST(ChannelVerifies, loss) {
  Played played;
  played.give(0, "a");
  played.give(2, "c");
  EXPECT_EQ(played.failure(),
            "program 'nowcast' rank 0 on host a over played: frame 1 was due: frame 2 came instead: 1 frame(s) were "
            "lost on "
            "the way");
  EXPECT_EQ(played.recorder.frames.size(), 1U);
  EXPECT_EQ(played.lane->pushed.at(0).kind, 0x01);  // the peer is told
}

TEST(ChannelVerifies, duplication) {
  Played played;
  played.give(0, "a");
  played.give(1, "b");
  played.give(1, "b");
  EXPECT_NE(played.failure().find("frame 2 was due: frame 1 came instead, for the second time"), std::string::npos);
  EXPECT_EQ(played.recorder.frames.size(), 2U);
}

TEST(ChannelVerifies, damage) {
  Played played(true);
  played.give(0, "good");
  played.give(1, "bad", [](wire::FrameHeader& header) { header.tag ^= 4; });
  EXPECT_NE(played.failure().find("frame 1 was damaged"), std::string::npos);
}

TEST(ChannelVerifies, unchecked_frames_on_a_checked_lane) {
  Played played(true);
  played.give(0, "bad", [](wire::FrameHeader& header) { header.flags = 0; });
  EXPECT_NE(played.failure().find("without the check"), std::string::npos);
}

TEST(ChannelVerifies, magic_version_and_length) {
  Played magic;
  magic.give(0, "bad", [](wire::FrameHeader& header) { header.magic = 'G'; });
  EXPECT_NE(magic.failure().find("not a frame"), std::string::npos);
  Played version;
  version.give(0, "bad", [](wire::FrameHeader& header) { header.version = 7; });
  EXPECT_NE(version.failure().find("version 7"), std::string::npos);
  EXPECT_EQ(version.recorder.losses[0].code(), Code::version);
  Played length;
  length.lane->frames.emplace_back(message_header(), "more than announced");
  EXPECT_NE(length.failure().find("announces 0 bytes but brings 19"), std::string::npos);
}

TEST(ChannelVerifies, sequence_wraps) {
  Played played;
  for (std::uint32_t sequence = 0; sequence < 3; ++sequence) {
    played.give(sequence, "x");
  }
  played.channel.poll(100);
  EXPECT_EQ(played.recorder.frames.size(), 3U);
  EXPECT_TRUE(played.recorder.losses.empty());
}

TEST(ChannelVerifies, place_is_asked_only_with_verified_headers) {
  Played played;
  played.recorder.use_place = true;
  played.give(0, "abc");
  played.channel.poll(100);
  EXPECT_EQ(played.lane->placed, 1);
  EXPECT_EQ(played.recorder.frames.at(0).payload, "abc");
  played.give(7, "abc");
  EXPECT_NE(played.failure(), "");
  EXPECT_EQ(played.recorder.places, 1);
}

TEST(ChannelFails, what_had_arrived_before_a_failed_push_is_delivered) {
  Played played;
  played.lane->push_answer = -1;
  played.lane->why = fail(Code::peer_lost, "connection reset");
  for (std::uint32_t sequence = 0; sequence < 30; ++sequence) {
    played.give(sequence, "x");
  }
  Sent sent("y");
  played.channel.send(sent);
  EXPECT_TRUE(sent.outcomes.empty());
  auto header = message_header();
  EXPECT_FALSE(played.channel.try_send(header, {}));
  while (played.channel.poll(10) > 0) {
  }
  EXPECT_EQ(played.recorder.frames.size(), 30U);
  EXPECT_EQ(sent.outcomes.at(0).code(), Code::peer_lost);
  EXPECT_EQ(played.recorder.losses.at(0).text(), "program 'nowcast' rank 0 on host a over played: connection reset");
  EXPECT_EQ(played.lane->shuts, 1);
}

TEST(ChannelFails, try_send_that_finds_a_broken_lane_does_not_call_back) {
  Played played;
  played.lane->push_answer = -1;
  played.lane->why = fail(Code::peer_lost, "connection reset");
  auto header = message_header();
  EXPECT_FALSE(played.channel.try_send(header, {}));
  EXPECT_TRUE(played.recorder.losses.empty());
  EXPECT_TRUE(played.channel.ready());
  played.channel.poll(1);
  EXPECT_EQ(played.recorder.losses.size(), 1U);
}

TEST(ChannelFails, an_end_of_the_lane_without_goodbye_is_a_lost_peer) {
  Played played;
  played.give(0, "x");
  played.lane->why = Status(Code::end);
  played.channel.poll(10);
  EXPECT_NE(played.failure().find("ended after frame 1 without a goodbye"), std::string::npos);
  EXPECT_EQ(played.recorder.losses[0].code(), Code::peer_lost);
}

TEST(ChannelFails, the_reason_of_the_peer_is_shown_without_control_characters) {
  Played played;
  played.give(0, "no\nmore\x1b[2J", [](wire::FrameHeader& header) { header.kind = 0x01; });
  EXPECT_EQ(played.failure(), "program 'nowcast' rank 0 on host a gave up the connection: no?more?[2J");
}

TEST(ChannelFails, garbage_of_the_channel_family) {
  Played kind;
  kind.give(0, "x", [](wire::FrameHeader& header) { header.kind = 0x0F; });
  EXPECT_NE(kind.failure().find("unexpected frame of kind 0x0f"), std::string::npos);
  Played reason;
  reason.give(0, std::string(2000, 'x'), [](wire::FrameHeader& header) { header.kind = 0x01; });
  EXPECT_NE(reason.failure().find("unexpected frame of kind 0x01"), std::string::npos);
}

}  // namespace
}  // namespace couplet::channel
