// A channel outlives its lanes: resumed over another one, with nothing lost, nothing twice and in order.
#include <gtest/gtest.h>

#include <deque>

#include "base/random.hpp"
#include "channel/channel.hpp"
#include "support/pipe_lane.hpp"
#include "support/recorder.hpp"

namespace couplet::channel {
namespace {

using test::message_header;
using test::Pipe;
using test::Recorder;
using test::Sent;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Two channels that may resume; each new pipe joins them.
struct Resumed {
  explicit Resumed(RetentionPool* pool = nullptr)
      : zero(1, "endpoint 1", at_zero.handlers(), {.session = 11, .policy = {}, .retention = pool}),
        one(0, "endpoint 0", at_one.handlers(), {.session = 22, .policy = {}, .retention = pool}) {}
  Pipe join() {
    Pipe pipe;
    zero.attach(pipe.take_first());
    one.attach(pipe.take_second());
    return pipe;
  }
  // Until nothing moves.
  void run() {
    for (int idle = 0; idle < 3;) {
      idle = zero.poll(16) + one.poll(16) > 0 ? 0 : idle + 1;
    }
  }
  // A new pipe whenever both have noticed the break.
  void run_and_join() {
    run();
    while (zero.state() == ChannelState::broken && one.state() == ChannelState::broken) {
      join();
      run();
    }
  }

  Recorder at_zero;
  Recorder at_one;
  Channel zero;
  Channel one;
};

void expect_all(const Recorder& recorder, const std::deque<Sent>& sent) {
  ASSERT_EQ(recorder.frames.size(), sent.size());
  for (std::size_t number = 0; number < sent.size(); ++number) {
    ASSERT_EQ(recorder.frames[number].header.tag, sent[number].header.tag);
    ASSERT_TRUE(recorder.frames[number].payload == sent[number].text) << number;
    ASSERT_EQ(sent[number].outcomes.size(), 1U);
    ASSERT_TRUE(sent[number].outcomes[0].ok());
  }
}

TEST(ChannelResumes, after_a_break_at_every_byte_of_what_was_sent) {
  const std::size_t sizes[] = {0, 5, 1, 300, 0, 2000, 7};
  std::uint64_t bytes = 64;  // the session frame
  for (const std::size_t size : sizes) {
    bytes += wire::frame_header_bytes + size;
  }
  for (std::uint64_t position = 1; position <= bytes; ++position) {
    SCOPED_TRACE(fmt::format("broken after byte {}", position));
    Resumed pair;
    pair.at_one.use_place = true;
    Pipe pipe;
    pipe.there().break_after = position;
    pipe.there().largest_push = 1 + position % 97;
    pair.zero.attach(pipe.take_first());
    pair.one.attach(pipe.take_second());
    std::deque<Sent> sent;
    for (std::size_t number = 0; number < std::size(sizes); ++number) {
      pair.zero.send(sent.emplace_back(std::string(sizes[number], static_cast<char>('a' + number)),
                                       static_cast<std::int32_t>(number)));
    }
    pair.run_and_join();
    ASSERT_NO_FATAL_FAILURE(expect_all(pair.at_one, sent)) << pair.zero.failure().text();
    EXPECT_TRUE(pair.at_one.losses.empty());
    pair.zero.ask_acknowledgement();
    pair.run();
    EXPECT_FALSE(pair.zero.sending());
  }
}

TEST(ChannelResumes, after_a_break_at_every_byte_of_the_way_back) {
  for (std::uint64_t position = 1; position <= 64 + 40 + 5 * 60; ++position) {
    SCOPED_TRACE(fmt::format("broken after byte {}", position));
    Resumed pair;
    Pipe pipe;
    pipe.back().break_after = position;
    pair.zero.attach(pipe.take_first());
    pair.one.attach(pipe.take_second());
    std::deque<Sent> sent;
    std::deque<Sent> answers;
    pair.at_one.on_frame = [&](Channel& from, const Recorder::Frame& frame) {
      from.send(answers.emplace_back(std::string(20, 'r'), frame.header.tag));
      return Status();
    };
    for (int number = 0; number < 5; ++number) {
      pair.zero.send(sent.emplace_back(std::string(100, 'x'), number));
    }
    pair.run_and_join();
    ASSERT_NO_FATAL_FAILURE(expect_all(pair.at_one, sent));
    ASSERT_NO_FATAL_FAILURE(expect_all(pair.at_zero, answers));
  }
}

TEST(ChannelResumes, many_times_with_breaks_during_resumption_in_both_directions) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    Resumed pair;
    std::deque<Sent> there;
    std::deque<Sent> back;
    std::deque<std::string> texts;
    for (int number = 0; number < 40; ++number) {
      there.emplace_back(std::string(random.below(random.chance(0.1) ? 200'000 : 500), 't'), number);
      back.emplace_back(std::string(random.below(500), 'b'), number);
    }
    std::size_t given = 0;
    for (int breaks = 0; breaks < 30 || given < there.size(); ++breaks) {
      Pipe pipe;
      if (breaks < 30) {
        (random.chance(0.5) ? pipe.there() : pipe.back()).break_after =
            random.between(1, random.chance(0.3) ? 64 : 4000);
      }
      pipe.there().largest_push = random.between(1, 100'000);
      pair.zero.attach(pipe.take_first());
      pair.one.attach(pipe.take_second());
      for (std::uint64_t more = random.below(5); more > 0 && given < there.size(); --more, ++given) {
        pair.zero.send(there[given]);
        pair.one.send(back[given]);
      }
      pair.run();
      if (breaks < 30) {
        pipe.break_now();
        pair.run();
        ASSERT_EQ(pair.zero.state(), ChannelState::broken) << pair.zero.failure().text();
        ASSERT_EQ(pair.one.state(), ChannelState::broken) << pair.one.failure().text();
      }
    }
    pair.run_and_join();
    ASSERT_NO_FATAL_FAILURE(expect_all(pair.at_one, there));
    ASSERT_NO_FATAL_FAILURE(expect_all(pair.at_zero, back));
  }
}

TEST(ChannelResumes, what_is_sent_while_broken_waits) {
  Resumed pair;
  const Pipe pipe = pair.join();
  pair.run();
  pipe.break_now();
  pair.run();
  ASSERT_EQ(pair.zero.state(), ChannelState::broken);
  EXPECT_NE(pair.zero.broken_why().text().find("endpoint 1 over pipe"), std::string::npos);
  EXPECT_FALSE(pair.zero.ready());
  EXPECT_EQ(pair.zero.traits().name, "pipe");
  auto header = message_header();
  EXPECT_FALSE(pair.zero.try_send(header, {}));
  std::deque<Sent> sent;
  pair.zero.send(sent.emplace_back("later"));
  EXPECT_TRUE(pair.zero.sending());
  EXPECT_TRUE(sent[0].outcomes.empty());
  pair.join();
  pair.run();
  expect_all(pair.at_one, sent);
}

TEST(ChannelResumes, small_frames_are_finished_at_once_and_large_ones_when_the_peer_has_them) {
  Resumed pair;
  pair.join();
  Sent small(std::string(1000, 's'));
  Sent large(std::string(300'000, 'l'));
  pair.zero.send(small);
  pair.zero.send(large);
  EXPECT_EQ(small.outcomes.size(), 1U);
  pair.zero.poll(16);
  EXPECT_TRUE(large.outcomes.empty());
  pair.one.poll(16);
  EXPECT_TRUE(large.outcomes.empty());
  pair.run();
  EXPECT_EQ(large.outcomes.size(), 1U);
  EXPECT_FALSE(pair.zero.sending());
}

TEST(ChannelResumes, a_frame_that_was_placed_in_part_is_placed_again) {
  struct Placing final : FrameHandler {
    std::byte* place(Channel&, const wire::FrameHeader& header) override {
      memories.emplace_back(header.payload_bytes);
      return memories.back().data();
    }
    Status arrived(Channel&, const wire::FrameHeader&, std::span<const std::byte> payload) override {
      EXPECT_EQ(payload.data(), memories.back().data());
      text.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
      return {};
    }
    void unplaced(Channel&, const wire::FrameHeader& header) override { taken_back.push_back(header.tag); }
    void lost(Channel&, const Status&) override {}
    std::deque<std::vector<std::byte>> memories;
    std::vector<std::int32_t> taken_back;
    std::string text;
  } placing;
  Handlers handlers{};
  handlers[static_cast<std::size_t>(wire::FrameFamily::message)] = &placing;
  Recorder recorder;
  Channel zero(1, "endpoint 1", recorder.handlers(), {.session = 1});
  Channel one(0, "endpoint 0", handlers, {.session = 2});
  Pipe pipe;
  pipe.there().break_after = 64 + 40 + 150'000;
  zero.attach(pipe.take_first());
  one.attach(pipe.take_second());
  Sent large(std::string(300'000, 'l'), 7);
  zero.send(large);
  for (int round = 0; round < 5; ++round) {
    one.poll(4);
    zero.poll(4);
  }
  ASSERT_EQ(one.state(), ChannelState::broken);
  EXPECT_EQ(placing.taken_back, std::vector<std::int32_t>{7});
  large.text[0] = 'X';  // what was placed before does not count
  Pipe next;
  zero.attach(next.take_first());
  one.attach(next.take_second());
  for (int round = 0; round < 5; ++round) {
    one.poll(4);
    zero.poll(4);
  }
  EXPECT_EQ(placing.memories.size(), 2U);
  EXPECT_EQ(placing.text, large.text);
  EXPECT_EQ(large.outcomes.size(), 1U);
}

TEST(ChannelResumes, a_peer_that_has_given_its_channel_up_is_named) {
  Resumed pair;
  const Pipe pipe = pair.join();
  std::deque<Sent> sent;
  pair.zero.send(sent.emplace_back("first"));
  pair.run();
  pipe.break_now();
  pair.run();
  Recorder at_other;
  Channel other(0, "endpoint 0", at_other.handlers(), {.session = 33});  // the peer's next channel
  Pipe next;
  pair.zero.attach(next.take_first());
  other.attach(next.take_second());
  for (int round = 0; round < 5; ++round) {
    pair.zero.poll(4);
    other.poll(4);
  }
  ASSERT_EQ(pair.at_zero.losses.size(), 1U);
  EXPECT_NE(pair.at_zero.losses[0].text().find("endpoint 1"), std::string::npos);
  EXPECT_NE(pair.at_zero.losses[0].text().find("given up this connection"), std::string::npos)
      << pair.at_zero.losses[0].text();
  EXPECT_EQ(other.state(), ChannelState::failed);
  EXPECT_TRUE(at_other.frames.empty());
}

TEST(ChannelResumes, a_channel_that_failed_tells_the_peer_that_resumes_why) {
  Resumed pair;
  const Pipe pipe = pair.join();
  pair.run();
  pipe.break_now();
  pair.run();
  pair.one.fail(couplet::fail(Code::limit, "too many envelopes"));
  pair.run();
  ASSERT_EQ(pair.zero.state(), ChannelState::broken);
  pair.join();
  pair.run();
  ASSERT_EQ(pair.at_zero.losses.size(), 1U);
  EXPECT_NE(pair.at_zero.losses[0].text().find("too many envelopes"), std::string::npos)
      << pair.at_zero.losses[0].text();
}

TEST(ChannelResumes, a_goodbye_over_a_break_at_every_byte) {
  for (const bool there : {true, false}) {
    for (std::uint64_t position = 1; position <= 64 + 3 * 60 + 40; ++position) {
      SCOPED_TRACE(fmt::format("broken after byte {} {}", position, there ? "there" : "back"));
      Resumed pair;
      Pipe pipe;
      (there ? pipe.there() : pipe.back()).break_after = position;
      pair.zero.attach(pipe.take_first());
      pair.one.attach(pipe.take_second());
      std::deque<Sent> sent;
      for (int number = 0; number < 3; ++number) {
        pair.zero.send(sent.emplace_back(std::string(20, 'x'), number));
      }
      pair.zero.shut();
      pair.run();
      for (int joins = 0; joins < 3 && !(pair.zero.settled() && pair.one.settled()); ++joins) {
        pair.join();
        pair.run();
      }
      ASSERT_NO_FATAL_FAILURE(expect_all(pair.at_one, sent));
      ASSERT_EQ(pair.at_zero.losses.size(), 1U);
      ASSERT_EQ(pair.at_one.losses.size(), 1U);
      EXPECT_EQ(pair.at_zero.losses[0].code(), Code::end) << pair.at_zero.losses[0].text();
      EXPECT_EQ(pair.at_one.losses[0].code(), Code::end) << pair.at_one.losses[0].text();
    }
  }
}

TEST(ChannelResumes, flush_means_that_the_peer_has_it) {
  Resumed pair;
  pair.join();
  pair.run();
  auto header = message_header();
  const std::string text = "eight by";
  ASSERT_TRUE(pair.zero.try_send(header, bytes_of(text)));
  pair.run();
  EXPECT_EQ(pair.at_one.frames.size(), 1U);
  EXPECT_TRUE(pair.zero.sending());  // nobody has said yet that it is there
  pair.zero.ask_acknowledgement();
  pair.zero.ask_acknowledgement();
  pair.run();
  EXPECT_FALSE(pair.zero.sending());
  ASSERT_TRUE(pair.zero.try_send(header, bytes_of(text)));
  pair.one.poll(16);
  pair.one.acknowledge();
  pair.run();
  EXPECT_FALSE(pair.zero.sending());
}

// A waiting process asks its channels before it sleeps: one that has something to do for ever lets nobody sleep.
TEST(ChannelResumes, over_a_lane_that_does_not_break_nothing_is_left_to_do) {
  Resumed pair;
  Pipe pipe;
  pipe.state->traits.may_break = false;
  pair.zero.attach(pipe.take_first());
  pair.one.attach(pipe.take_second());
  auto header = message_header();
  for (int count = 0; count < 600; ++count) {  // more than are told without being asked
    ASSERT_TRUE(pair.zero.try_send(header, bytes_of("eight by")));
    pair.run();
  }
  EXPECT_EQ(pair.at_one.frames.size(), 600U);
  EXPECT_FALSE(pair.one.ready());
  EXPECT_FALSE(pair.zero.ready());
}

TEST(ChannelResumes, when_no_copy_can_be_kept_frames_are_kept_where_they_are) {
  RetentionPool pool(16U << 10);  // one block for both channels
  Resumed pair(&pool);
  const Pipe pipe = pair.join();
  std::deque<Sent> sent;
  int at_once = 0;
  auto header = message_header();
  std::deque<std::string> tried;
  for (int number = 0; number < 200; ++number) {
    header.tag = number;
    const std::string text(500, 'x');
    if (!pair.zero.try_send(header, bytes_of(text))) {
      pair.zero.send(sent.emplace_back(text, number));
    } else {
      ++at_once;
    }
  }
  EXPECT_GT(at_once, 10);
  EXPECT_LT(at_once, 40);
  EXPECT_LE(pool.used_bytes(), 16U << 10);
  EXPECT_TRUE(sent.back().outcomes.empty());  // finished when the peer has it
  pipe.break_now();
  pair.run_and_join();
  ASSERT_EQ(pair.at_one.frames.size(), 200U);
  for (int number = 0; number < 200; ++number) {
    EXPECT_EQ(pair.at_one.frames[static_cast<std::size_t>(number)].header.tag, number);
  }
  for (const Sent& frame : sent) {
    EXPECT_EQ(frame.outcomes.size(), 1U);
  }
  EXPECT_EQ(pool.used_bytes(), 0U);
}

TEST(ChannelResumes, copies_are_bounded_and_given_back) {
  RetentionPool pool;
  Resumed pair(&pool);
  pair.join();
  auto header = message_header();
  const std::string text(2000, 'x');
  int taken = 0;
  while (pair.zero.try_send(header, bytes_of(text))) {
    ++taken;
  }
  EXPECT_GT(taken, 400);
  EXPECT_LE(pool.used_bytes(), max_retained_bytes + (256U << 10));
  pair.run();
  EXPECT_EQ(pair.at_one.frames.size(), static_cast<std::size_t>(taken));
  pair.zero.ask_acknowledgement();
  pair.run();
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_TRUE(pair.zero.try_send(header, bytes_of(text)));
}

// Fault: a process that only sent ran out of room for copies, and each frame then waited for its own acknowledgement.
TEST(ChannelResumes, a_poll_makes_room_before_a_copy_has_to_wait) {
  Resumed pair;
  pair.join();
  pair.run();
  auto header = message_header();
  const std::string text(max_copied_bytes, 'x');
  int taken = 0;
  for (; !pair.zero.sender().retention().is_full(); ++taken) {
    ASSERT_TRUE(pair.zero.try_send(header, bytes_of(text)));
  }
  EXPECT_GT(taken, 10);
  EXPECT_FALSE(pair.zero.try_send(header, bytes_of(text)));
  pair.one.poll(64);
  pair.zero.poll(64);
  EXPECT_FALSE(pair.zero.sender().retention().is_full());
  EXPECT_TRUE(pair.zero.try_send(header, bytes_of(text)));
}

// An acknowledgement costs the receiver a system call.
TEST(ChannelResumes, a_stream_is_acknowledged_now_and_then_and_a_ping_pong_more_seldom) {
  Resumed pair;
  const Pipe pipe = pair.join();
  pair.run();
  const auto frames_back = [&, before = pipe.back().taken] {
    return (pipe.back().taken - before) / wire::frame_header_bytes;
  };
  auto header = message_header();
  const std::string large(max_copied_bytes, 'x');
  for (int number = 0; number < 64; ++number) {
    ASSERT_TRUE(pair.zero.try_send(header, bytes_of(large)));
    pair.one.poll(1);
    pair.zero.poll(1);
  }
  EXPECT_EQ(frames_back(), 16U);
  for (int number = 0; number < 255; ++number) {
    ASSERT_TRUE(pair.zero.try_send(header, {}));
    pair.one.poll(1);
    ASSERT_TRUE(pair.one.try_send(header, {}));
    pair.zero.poll(1);
  }
  EXPECT_EQ(frames_back(), 16U + 255U);
}

TEST(ChannelResumes, break_lanes_lets_an_open_channel_go_on_over_another_lane) {
  Resumed pair;
  Pipe first = pair.join();
  std::deque<Sent> sent;
  pair.zero.send(sent.emplace_back("first", 0));
  pair.run();
  pair.one.break_lanes({Code::peer_lost, "the peer has dialed again"});
  EXPECT_EQ(pair.one.state(), ChannelState::broken);
  pair.zero.send(sent.emplace_back("second", 1));
  first.break_now();
  pair.run_and_join();
  expect_all(pair.at_one, sent);
}

TEST(ChannelResumes, a_mute_channel_takes_everything_and_sends_nothing) {
  Resumed pair;
  const Pipe pipe = pair.join();
  pair.run();
  std::deque<Sent> sent;
  for (int number = 0; number < 300; ++number) pair.zero.send(sent.emplace_back(std::string(2000, 'x'), number));
  pair.one.mute();
  const std::uint64_t sent_back = pipe.back().taken;
  Sent answer("too late");
  pair.one.send(answer);
  auto header = message_header();
  EXPECT_FALSE(pair.one.try_send(header, {}));
  pair.one.shut();
  while (pair.one.poll(16) > 0) {
  }
  EXPECT_FALSE(pair.one.ready());
  EXPECT_EQ(pair.at_one.frames.size(), 300U);
  EXPECT_EQ(pipe.back().taken, sent_back);
  EXPECT_TRUE(answer.outcomes.empty());
  pair.one.fail({Code::peer_lost, "it has left"});
  pair.one.poll(1);
  ASSERT_EQ(answer.outcomes.size(), 1U);
  EXPECT_EQ(answer.outcomes[0].code(), Code::peer_lost);
}

TEST(ChannelResumes, acknowledgements_of_what_was_never_sent_are_an_error) {
  Recorder recorder;
  Channel channel(5, "program 'nowcast' rank 0 on host a", recorder.handlers(), {.session = 9});
  Pipe pipe;
  channel.attach(pipe.take_first());
  const auto other = pipe.take_second();
  const auto push = [&](std::uint8_t kind, std::uint64_t first, std::span<const std::byte> payload) {
    wire::FrameHeader header;
    header.kind = kind;
    header.first = first;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    wire::seal_frame(header, payload, false);
    ASSERT_GT(other->push(header, payload, 0), 0);
  };
  push(wire::channel_session, 0, wire::encode_session({.session = 4, .peer_session = 0, .received = 0}));
  push(wire::channel_acknowledge, 3, {});
  channel.poll(10);
  ASSERT_EQ(recorder.losses.size(), 1U);
  EXPECT_EQ(recorder.losses[0].code(), Code::protocol);
  EXPECT_NE(recorder.losses[0].text().find("3 frames are acknowledged, but only 0 were sent"), std::string::npos)
      << recorder.losses[0].text();
}

TEST(ChannelResumes, a_frame_before_the_session_is_an_error) {
  Recorder recorder;
  Channel channel(5, "rank 5", recorder.handlers(), {.session = 9});
  Pipe pipe;
  channel.attach(pipe.take_first());
  auto header = message_header();
  wire::seal_frame(header, {}, false);
  ASSERT_GT(pipe.take_second()->push(header, {}, 0), 0);
  channel.poll(10);
  ASSERT_EQ(recorder.losses.size(), 1U);
  EXPECT_EQ(recorder.losses[0].code(), Code::protocol);
}

TEST(ChannelResumes, without_a_session_a_lost_lane_fails_the_channel) {
  Recorder recorder;
  Channel channel(5, "rank 5", recorder.handlers());
  Pipe pipe;
  channel.attach(pipe.take_first());
  pipe.break_now();
  channel.poll(10);
  ASSERT_EQ(recorder.losses.size(), 1U);
  EXPECT_EQ(recorder.losses[0].code(), Code::peer_lost);
}

}  // namespace
}  // namespace couplet::channel
