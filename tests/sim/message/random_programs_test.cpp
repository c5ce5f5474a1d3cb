// Random programs of sends and receives over the simulated network, checked against a simple reference: for one pair of
// ranks, taken in the order of posting, each receive gets the first message that fits it and that no earlier one got. A
// receive from any source is checked as one from the source that it got. Same seed, same trace.
#include <gtest/gtest.h>

#include <deque>

#include "support/sim_messengers.hpp"

namespace couplet::message {
namespace {

using test::SimMessengers;

struct Sent {
  std::int32_t group;
  std::int32_t tag;
  std::vector<std::byte> data;
  Request* request = nullptr;
};

struct Received {
  std::int32_t group;
  std::int32_t source;  // in the universe; may be any
  std::int32_t tag;
  std::vector<std::byte> data;
  Request* request = nullptr;
  couplet_message message{};
  Status status;
};

class Program {
 public:
  explicit Program(std::uint64_t seed)
      : random_(seed * 77 + 5),
        size_(static_cast<int>(random_.between(2, 4))),
        sim_(seed, size_, options(random_), sim_options(random_)),
        received_(static_cast<std::size_t>(size_)) {
    sent_.resize(static_cast<std::size_t>(size_ * size_));
    std::vector<std::int32_t> turned;
    for (int rank = size_; rank-- > 0;) turned.push_back(rank);
    for (int rank = 0; rank < size_; ++rank) {
      groups_.push_back({&sim_[rank].groups().universe(), *sim_[rank].groups().create("turned", turned)});
    }
  }

  void run() {
    const std::uint64_t steps = random_.between(10, 60);
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::uint64_t what = random_.below(10);
      if (what < 4) {
        send();
      } else if (what < 8) {
        receive();
      } else {
        for (std::uint64_t polls = random_.below(20); polls > 0; --polls) {
          if (sim_.poll() == 0) sim_.channels().network().advance_to_next();
        }
      }
    }
    sim_.run_out();
  }

  void check() {
    for (int rank = 0; rank < size_; ++rank) collect(rank);
    for (int to = 0; to < size_; ++to) {
      for (int from = 0; from < size_; ++from) check_pair(from, to);
    }
  }

  [[nodiscard]] std::uint64_t trace_hash() { return sim_.channels().network().trace_hash(); }

 private:
  static MessengerOptions options(Random& random) {
    MessengerOptions options;
    const std::uint64_t credits[] = {0, 100, 5000, largest_payload_credit};
    options.payload_credit_bytes = credits[random.below(4)];
    if (random.chance(0.7)) options.eager_bytes = random.below(20000);
    return options;
  }
  static link::SimOptions sim_options(Random& random) {
    link::SimOptions options;
    options.buffer_bytes = random.between(200, 40000);
    options.largest_payload = static_cast<std::uint32_t>(random.between(1200, 20000));
    options.partial = 0.3;
    return options;
  }
  std::uint64_t length() {
    const std::uint64_t most[] = {1, 64, 2000, 60000};
    return random_.below(most[random_.below(4)]);
  }
  std::deque<Sent>& sent(int from, int to) { return sent_[static_cast<std::size_t>(from * size_ + to)]; }
  Group& group(int rank, std::int32_t which) {
    return *groups_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(which)];
  }

  void send() {
    const int from = static_cast<int>(random_.below(static_cast<std::uint64_t>(size_)));
    int to = static_cast<int>(random_.below(static_cast<std::uint64_t>(size_)));
    if (to == from) to = (to + 1) % size_;
    Sent& made = sent(from, to).emplace_back();
    made.group = random_.chance(0.2) ? 1 : 0;
    made.tag = static_cast<std::int32_t>(random_.below(3));
    made.data.resize(length());
    for (auto& byte : made.data) byte = static_cast<std::byte>(random_.next());
    Group& of = group(from, made.group);
    ASSERT_TRUE(sim_[from]
                    .isend(of, made.data.data(), made.data.size(), COUPLET_BYTE,
                           of.rank_of(static_cast<channel::PeerId>(to)), made.tag, &made.request)
                    .ok());
  }

  void receive() {
    const int at = static_cast<int>(random_.below(static_cast<std::uint64_t>(size_)));
    Received& made = received_[static_cast<std::size_t>(at)].emplace_back();
    made.group = random_.chance(0.2) ? 1 : 0;
    made.source = random_.chance(0.4) ? COUPLET_ANY_SOURCE
                                      : static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(size_)));
    if (made.source == at) made.source = (at + 1) % size_;
    made.tag = random_.chance(0.3) ? COUPLET_ANY_TAG : static_cast<std::int32_t>(random_.below(3));
    const bool may_truncate = made.source != COUPLET_ANY_SOURCE && random_.chance(0.2);
    made.data.resize(may_truncate ? length() : 60000);
    Group& of = group(at, made.group);
    const std::int32_t source =
        made.source == COUPLET_ANY_SOURCE ? COUPLET_ANY_SOURCE : of.rank_of(static_cast<channel::PeerId>(made.source));
    ASSERT_TRUE(
        sim_[at].irecv(of, made.data.data(), made.data.size(), COUPLET_BYTE, source, made.tag, &made.request).ok());
  }

  void collect(int rank) {
    for (Received& made : received_[static_cast<std::size_t>(rank)]) {
      made.status = sim_[rank].test(&made.request, &made.message);
      if (made.source == COUPLET_ANY_SOURCE && made.status.ok()) {
        made.source = static_cast<std::int32_t>(group(rank, made.group).peer(made.message.source));
      }
    }
  }

  static bool fits(const Received& receive, const Sent& message) {
    return receive.group == message.group && (receive.tag == COUPLET_ANY_TAG || receive.tag == message.tag);
  }

  void check_pair(int from, int to) {
    if (from == to) return;
    std::deque<Sent>& messages = sent(from, to);
    std::vector<bool> taken(messages.size());
    for (Received& receive : received_[static_cast<std::size_t>(to)]) {
      if (receive.source != from && receive.source != COUPLET_ANY_SOURCE) continue;
      std::size_t expected = 0;
      while (expected < messages.size() && (taken[expected] || !fits(receive, messages[expected]))) ++expected;
      if (expected == messages.size()) {
        if (receive.source == from) {
          EXPECT_EQ(receive.status.code(), Code::not_yet) << receive.status.text();
        }
        continue;
      }
      ASSERT_NE(receive.source, COUPLET_ANY_SOURCE)
          << "message " << expected << " from " << from << " was not delivered";
      taken[expected] = true;
      const Sent& message = messages[expected];
      if (message.data.size() > receive.data.size()) {
        EXPECT_EQ(receive.status.code(), Code::truncated);
      } else {
        ASSERT_TRUE(receive.status.ok()) << receive.status.text();
        EXPECT_EQ(receive.message.tag, message.tag);
        ASSERT_EQ(receive.message.bytes, message.data.size());
        EXPECT_TRUE(std::equal(message.data.begin(), message.data.end(), receive.data.begin()));
      }
      Request* request = messages[expected].request;
      EXPECT_TRUE(sim_[from].test(&request, nullptr).ok());
    }
  }

  Random random_;
  int size_;
  SimMessengers sim_;
  std::vector<std::array<Group*, 2>> groups_;
  std::vector<std::deque<Sent>> sent_;
  std::vector<std::deque<Received>> received_;
};

TEST(message_sim, a_thousand_random_programs_match_the_reference) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Program program(seed);
    program.run();
    program.check();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(message_sim, the_same_seed_gives_the_same_trace) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Program first(seed);
    Program second(seed);
    Program other(seed + 1000);
    first.run();
    second.run();
    other.run();
    EXPECT_EQ(first.trace_hash(), second.trace_hash()) << "seed " << seed;
    EXPECT_NE(first.trace_hash(), other.trace_hash()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace couplet::message
