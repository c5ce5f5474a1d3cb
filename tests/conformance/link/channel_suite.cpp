// What a channel must do over every lane, also over one with delays.
#include <algorithm>
#include <chrono>
#include <deque>

#include "base/random.hpp"
#include "channel/channel.hpp"
#include "link_case.hpp"
#include "support/recorder.hpp"

namespace couplet::conformance {

namespace {

using channel::Channel;
using test::message_header;
using test::Recorder;
using test::Sent;

// Channels over the two ends. Over a loopback there is one channel, and both ends are the same. What is
// sent has to live longer than they: they finish it when they end.
struct Ends {
  explicit Ends(std::unique_ptr<Connection> made) : connection(std::move(made)) {
    const bool loopback = connection->loopback();
    // Several lanes need a session.
    const channel::ChannelOptions options{.session = connection->more.empty() ? 0U : 7U, .policy = connection->policy};
    first =
        std::make_unique<Channel>(1, "the second end", loopback ? at_second.handlers() : at_first.handlers(), options);
    first->attach(std::move(connection->first));
    if (!loopback) {
      second = std::make_unique<Channel>(0, "the first end", at_second.handlers(), options);
      second->attach(std::move(connection->second));
    }
    for (const auto& other : connection->more) {
      first->attach(std::move(other->first));
      second->attach(std::move(other->second));
    }
  }
  [[nodiscard]] Channel& other() { return second ? *second : *first; }
  [[nodiscard]] bool loopback() const { return second == nullptr; }
  [[nodiscard]] std::string reasons() const {
    return first->failure().text() + (second ? "; " + second->failure().text() : "");
  }
  // Returns false if the watchdog has ended the run.
  [[nodiscard]] bool run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      const int work = first->poll(16) + (second ? second->poll(16) : 0);
      if (work == 0) {
        connection->pause();
        for (const auto& other : connection->more) {
          other->pause();
        }
        if (std::chrono::steady_clock::now() > end) {
          return false;
        }
      }
    }
    return true;
  }

  Recorder at_first;
  Recorder at_second;  // everything that `first` sends arrives here
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Channel> first;
  std::unique_ptr<Channel> second;
};

std::string text_of(std::size_t number, std::size_t size) {
  std::string text(size, '\0');
  Random random(number);
  for (char& character : text) {
    character = static_cast<char>(random.next());
  }
  return text;
}

}  // namespace

TEST_P(ChannelConformance, queued_frames_of_many_sizes_arrive_in_order) {
  std::deque<Sent> sent;
  Ends ends(GetParam().make());
  Random random(1);
  const std::size_t largest = ends.first->traits().largest_payload;
  for (int number = 0; number < 300; ++number) {
    const std::size_t bound = number % 50 == 49 ? largest + 1 : number % 3 == 0 ? 20 : 3000;
    sent.emplace_back(text_of(static_cast<std::size_t>(number), random.below(bound)), number);
    ends.first->send(sent.back());
  }
  const auto finished = [&sent] {  // a large frame of a session is finished when the peer has acknowledged it
    return std::all_of(sent.begin(), sent.end(), [](const Sent& each) { return !each.outcomes.empty(); });
  };
  ASSERT_TRUE(ends.run_until([&] { return ends.at_second.frames.size() == sent.size() && finished(); }))
      << ends.reasons();
  for (std::size_t number = 0; number < sent.size(); ++number) {
    EXPECT_EQ(ends.at_second.frames[number].header.tag, static_cast<int>(number));
    EXPECT_TRUE(ends.at_second.frames[number].payload == sent[number].text) << number;
    EXPECT_EQ(sent[number].outcomes.size(), 1U);
  }
}

TEST_P(ChannelConformance, try_send_and_send_keep_their_order) {
  std::deque<Sent> sent;
  Ends ends(GetParam().make());
  std::vector<std::string> texts;
  for (int number = 0; number < 3000; ++number) {
    const std::string text = text_of(static_cast<std::size_t>(number), static_cast<std::size_t>(number) % 700);
    auto header = message_header(number);
    if (!ends.first->try_send(header, std::as_bytes(std::span(text)))) {
      ends.first->send(sent.emplace_back(text, number));
    }
    texts.push_back(text);
    if (number % 64 == 0) {
      ends.other().poll(8);
    }
  }
  ASSERT_TRUE(ends.run_until([&] { return ends.at_second.frames.size() == texts.size(); })) << ends.reasons();
  for (std::size_t number = 0; number < texts.size(); ++number) {
    EXPECT_EQ(ends.at_second.frames[number].header.tag, static_cast<int>(number));
    EXPECT_TRUE(ends.at_second.frames[number].payload == texts[number]) << number;
  }
}

TEST_P(ChannelConformance, answers_from_inside_callbacks) {
  std::deque<Sent> sent;
  std::deque<Sent> answers;
  Ends ends(GetParam().make());
  if (ends.loopback()) {
    GTEST_SKIP() << GetParam().name << " has one end";
  }
  ends.at_second.on_frame = [&](Channel& from, const Recorder::Frame& frame) {
    from.send(answers.emplace_back(frame.payload + "!", frame.header.tag));
    return Status();
  };
  for (int number = 0; number < 400; ++number) {
    ends.first->send(sent.emplace_back(text_of(static_cast<std::size_t>(number), 1000), number));
  }
  ASSERT_TRUE(ends.run_until([&] { return ends.at_first.frames.size() == sent.size(); })) << ends.reasons();
  for (std::size_t number = 0; number < sent.size(); ++number) {
    EXPECT_TRUE(ends.at_first.frames[number].payload == sent[number].text + "!");
  }
}

TEST_P(ChannelConformance, shut_delivers_what_is_queued_and_both_are_told_the_end) {
  std::deque<Sent> sent;
  Ends ends(GetParam().make());
  for (int number = 0; number < 100; ++number) {
    ends.first->send(sent.emplace_back(text_of(static_cast<std::size_t>(number), 10'000), number));
  }
  ends.first->shut();
  ASSERT_TRUE(ends.run_until([&] { return ends.first->settled() && ends.other().settled(); })) << ends.reasons();
  EXPECT_EQ(ends.at_second.frames.size(), sent.size());
  ASSERT_EQ(ends.at_second.losses.size(), 1U);
  EXPECT_EQ(ends.at_second.losses[0].code(), Code::end) << ends.reasons();
  EXPECT_EQ(ends.first->failure().code(), Code::end) << ends.reasons();
}

TEST_P(ChannelConformance, a_channel_that_goes_without_shut_is_a_lost_peer) {
  std::deque<Sent> sent;
  Ends ends(GetParam().make());
  if (ends.loopback()) {
    GTEST_SKIP() << GetParam().name << " has one end";
  }
  if (ends.first->may_resume()) {
    GTEST_SKIP() << GetParam().name << " has a session, so the channel waits for another lane";
  }
  for (int number = 0; number < 20; ++number) {
    ends.first->send(sent.emplace_back("text", number));
  }
  ASSERT_TRUE(ends.run_until([&] { return !ends.first->sending(); }));
  Recorder nobody;
  ends.first = std::make_unique<Channel>(1, "nobody", nobody.handlers());
  Sent pending(text_of(1, 100));
  ASSERT_TRUE(ends.run_until([&] { return ends.second->settled(); }));
  EXPECT_EQ(ends.at_second.frames.size(), sent.size());
  ASSERT_EQ(ends.at_second.losses.size(), 1U);
  EXPECT_EQ(ends.at_second.losses[0].code(), Code::peer_lost) << ends.reasons();
  EXPECT_NE(ends.at_second.losses[0].text().find("the first end"), std::string::npos);
  ends.second->send(pending);
  EXPECT_EQ(pending.outcomes.at(0).code(), Code::peer_lost);
}

// Under every kind of damage, what is delivered is a prefix of what was sent, and the loss is reported with the peer's
// name, unless everything has arrived. The damages come one at a time, and then all together.
TEST_P(FaultDetection, whatever_happens_nothing_wrong_is_delivered) {
  const link::FaultOptions kinds[] = {
      {.drop = 0.05},
      {.duplicate = 0.05},
      {.swap = 0.05},
      {.corrupt_header = 0.05},
      {.corrupt_payload = 0.05},
      {.truncate = 0.05},
      {.die_after_frames = 17},
      {.drop = 0.01,
       .duplicate = 0.01,
       .swap = 0.01,
       .corrupt_header = 0.01,
       .corrupt_payload = 0.01,
       .truncate = 0.01,
       .delay = 0.2},
  };
  const bool loopback = GetParam().make()->loopback();
  int detected = 0;
  std::uint64_t damaged = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
      SCOPED_TRACE(fmt::format("seed {}, kind of damage {}", seed, kind));
      link::FaultCounts counts;
      std::deque<Sent> sent;
      if (loopback && kinds[kind].die_after_frames != UINT64_MAX) {
        continue;  // no other process could be lost
      }
      Ends ends(with_faults(GetParam(), "faulty", kinds[kind], seed * 1000 + kind, &counts).make());
      for (int number = 0; number < 60; ++number) {
        ends.first->send(sent.emplace_back(text_of(static_cast<std::size_t>(number) + seed, 1 + seed * 100), number));
      }
      ends.first->shut();
      ASSERT_TRUE(ends.run_until([&] { return ends.first->settled() && ends.other().settled(); }))
          << counts.damaged() << " " << ends.reasons();
      ASSERT_LE(ends.at_second.frames.size(), sent.size());
      for (std::size_t number = 0; number < ends.at_second.frames.size(); ++number) {
        ASSERT_EQ(ends.at_second.frames[number].header.tag, static_cast<int>(number));
        ASSERT_TRUE(ends.at_second.frames[number].payload == sent[number].text);
      }
      for (const Sent& frame : sent) {
        ASSERT_EQ(frame.outcomes.size(), 1U);
      }
      ASSERT_EQ(ends.at_second.losses.size(), 1U);
      const Status& why = ends.at_second.losses[0];
      const bool complete = ends.at_second.frames.size() == sent.size();
      EXPECT_TRUE(complete || why.error()) << why.text();
      if (counts.damaged() + counts.died == 0) {
        EXPECT_TRUE(complete && why.code() == Code::end) << why.text();
      }
      if (!ends.loopback() && why.error()) {
        EXPECT_NE(why.text().find("the first end"), std::string::npos) << why.text();
      }
      detected += why.error() ? 1 : 0;
      damaged += counts.damaged() + counts.died;
    }
  }
  EXPECT_GT(damaged, 60U);
  EXPECT_GT(detected, 50);
}

}  // namespace couplet::conformance
