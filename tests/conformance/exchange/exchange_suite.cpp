// What every method has to do, in rounds of several members.
#include <atomic>
#include <numeric>

#include "base/random.hpp"
#include "exchange_case.hpp"

namespace couplet::conformance {
namespace {

using Numbers = std::vector<double>;

double value(int rank, int round, std::size_t place) {
  return rank * 1e6 + round * 1e3 + static_cast<double>(place);
}

void fill(Numbers& data, int rank, int round) {
  for (std::size_t place = 0; place < data.size(); ++place) data[place] = value(rank, round, place);
}

// Returns how many values are wrong.
int wrong(const Numbers& data, int rank, int round) {
  int count = 0;
  for (std::size_t place = 0; place < data.size(); ++place) count += data[place] == value(rank, round, place) ? 0 : 1;
  return count;
}

TEST_P(ExchangeMethod, ARingMovesItsNumbersInEachRound) {
  constexpr int size = 4;
  run(size, [](Member& member) {
    const int right = (member.rank() + 1) % size;
    const int left = (member.rank() + size - 1) % size;
    Numbers to_right(100), to_left(100), from_right(100), from_left(100);
    member.send(right, 0, to_right);
    member.send(left, 1, to_left);
    member.receive(left, 0, from_left);
    member.receive(right, 1, from_right);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 300; ++round) {
      fill(to_right, member.rank(), round);
      fill(to_left, member.rank(), round + 1);
      MUST(member.round());
      ASSERT_EQ(wrong(from_left, left, round), 0) << "round " << round;
      ASSERT_EQ(wrong(from_right, right, round + 1), 0) << "round " << round;
    }
    EXPECT_OK(member.exchange->close());
  });
}

TEST_P(ExchangeMethod, ANeighborThatAppearsTwiceIsToldApartByItsTags) {
  run(2, [](Member& member) {
    const int other = 1 - member.rank();
    Numbers to_right(5), to_left(7), from_right(7), from_left(5);
    member.send(other, 10, to_right);
    member.receive(other, 11, from_right);
    member.send(other, 11, to_left);
    member.receive(other, 10, from_left);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 50; ++round) {
      fill(to_right, member.rank(), round);
      fill(to_left, member.rank(), round + 500);
      MUST(member.round());
      ASSERT_EQ(wrong(from_left, other, round), 0);
      ASSERT_EQ(wrong(from_right, other, round + 500), 0);
    }
  });
}

TEST_P(ExchangeMethod, AnEdgeThatGoesOneWayWaitsForItsReader) {
  run(3, [](Member& member) {  // 0 -> 1 -> 2
    Numbers in(30), out(30);
    if (member.rank() < 2) member.send(member.rank() + 1, 0, out);
    if (member.rank() > 0) member.receive(member.rank() - 1, 0, in);
    MUST(member.exchange->freeze());
    std::uint64_t work = static_cast<std::uint64_t>(member.rank());
    for (int round = 0; round < 300; ++round) {
      fill(out, member.rank(), round);
      if (round % 37 == member.rank() * 7) {  // another member is late
        for (int step = 0; step < 200'000; ++step) work = work * 6364136223846793005U + 1;
      }
      MUST(member.round());
      if (member.rank() > 0) {
        ASSERT_EQ(wrong(in, member.rank() - 1, round), 0) << "round " << round;
      }
    }
    EXPECT_NE(work, 1U);
  });
}

TEST_P(ExchangeMethod, EdgesTakePartInTheRoundsThatTheyName) {
  run(2, [](Member& member) {
    const int other = 1 - member.rank();
    Numbers out(4), in(4), seldom_out(9), seldom_in(9), one_way(3);
    member.send(other, 0, out, {.every = 2});
    member.receive(other, 0, in, {.every = 2});
    member.send(other, 1, seldom_out, {.every = 3, .offset = 1});
    const auto seldom = member.receive(other, 1, seldom_in, {.every = 3, .offset = 1});
    if (member.rank() == 0) member.send(other, 2, one_way, {.every = 5, .offset = 3});
    if (member.rank() == 1) member.receive(other, 2, one_way, {.every = 5, .offset = 3});
    MUST(member.exchange->freeze());
    int last_even = 0;
    int last_seldom = -1;
    for (int round = 0; round < 100; ++round) {
      fill(out, member.rank(), round);
      fill(seldom_out, member.rank(), round);
      if (member.rank() == 0) fill(one_way, 0, round);
      MUST(member.round());
      if (round % 2 == 0) last_even = round;
      const bool is_seldom = round >= 1 && (round - 1) % 3 == 0;
      if (is_seldom) last_seldom = round;
      ASSERT_EQ(wrong(in, other, last_even), 0) << "round " << round;
      if (last_seldom >= 0) {
        ASSERT_EQ(wrong(seldom_in, other, last_seldom), 0) << "round " << round;
      }
      ASSERT_EQ(*member.exchange->arrived(seldom), is_seldom) << "round " << round;
      if (member.rank() == 1 && round >= 3 && (round - 3) % 5 == 0) {
        ASSERT_EQ(wrong(one_way, 0, round), 0);
      }
    }
  });
}

TEST_P(ExchangeMethod, AVariableEdgeMovesAsMuchAsItsSenderSays) {
  run(2, [](Member& member) {
    const int other = 1 - member.rank();
    Numbers out(64), in(64), fixed_out(3), fixed_in(3);
    const auto sent = member.send(other, 0, out, {.is_variable = true});
    const auto received = member.receive(other, 0, in, {.is_variable = true});
    member.send(other, 1, fixed_out);
    member.receive(other, 1, fixed_in);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 130; ++round) {
      const auto length_of = [round](int rank) { return static_cast<std::size_t>((round * 7 + rank * 3) % 65); };
      fill(out, member.rank(), round);
      fill(fixed_out, member.rank(), round);
      std::fill(in.begin(), in.end(), -1);
      MUST(member.exchange->set_length(sent, length_of(member.rank()) * sizeof(double)));
      MUST(member.round());
      const std::size_t length = length_of(other);
      ASSERT_EQ(*member.exchange->length(received), length * sizeof(double));
      for (std::size_t place = 0; place < in.size(); ++place) {
        ASSERT_EQ(in[place], place < length ? value(other, round, place) : -1) << "round " << round;
      }
      ASSERT_EQ(wrong(fixed_in, other, round), 0);
    }
    const Status refused = member.exchange->set_length(sent, 65 * sizeof(double));
    EXPECT_EQ(refused.code(), Code::limit) << refused.text();
  });
}

TEST_P(ExchangeMethod, EmptyMessagesStillKeepTheRoundsTogether) {
  std::atomic<int> begun{0};
  run(2, [&](Member& member) {
    const int other = 1 - member.rank();
    Numbers out, in;
    member.send(other, 0, out);
    const auto edge = member.receive(other, 0, in);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 100; ++round) {
      ++begun;
      MUST(member.round());
      ASSERT_GE(begun.load(), 2 * (round + 1));
      ASSERT_TRUE(*member.exchange->arrived(edge));
    }
  });
}

TEST_P(ExchangeMethod, EdgesToOneselfAreCopied) {
  run(2, [](Member& member) {
    const int other = 1 - member.rank();
    Numbers out(20), in(20), far_out(2), far_in(2);
    member.send(member.rank(), 4, out);
    member.receive(member.rank(), 4, in);
    member.send(other, 4, far_out);
    member.receive(other, 4, far_in);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 20; ++round) {
      fill(out, member.rank(), round);
      fill(far_out, member.rank(), round);
      MUST(member.round());
      ASSERT_EQ(wrong(in, member.rank(), round), 0);
      ASSERT_EQ(wrong(far_in, other, round), 0);
    }
  });
}

TEST_P(ExchangeMethod, AMemberWithoutEdgesTakesPartInFreezingOnly) {
  run(3, [](Member& member) {
    Numbers out(8), in(8);
    const int other = 1 - member.rank();
    if (member.rank() < 2) {
      member.send(other, 0, out);
      member.receive(other, 0, in);
    }
    MUST(member.exchange->freeze());
    for (int round = 0; round < 20; ++round) {
      fill(out, member.rank(), round);
      MUST(member.round());
      if (member.rank() < 2) {
        ASSERT_EQ(wrong(in, other, round), 0);
      }
    }
  });
}

TEST_P(ExchangeMethod, LongMessagesArriveWhole) {
  run(2, [](Member& member) {
    const int other = 1 - member.rank();
    Numbers out(400'000), in(400'000);
    member.send(other, 0, out);
    member.receive(other, 0, in);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 4; ++round) {
      fill(out, member.rank(), round);
      MUST(member.round());
      ASSERT_EQ(wrong(in, other, round), 0);
    }
  });
}

TEST_P(ExchangeMethod, MessagesOfAllShortSizesArrive) {
  run(2, [](Member& member) {
    const int other = 1 - member.rank();
    std::vector<std::vector<char>> out, in;
    for (std::size_t bytes = 1; bytes <= 130; ++bytes) {
      out.emplace_back(bytes);
      in.emplace_back(bytes);
    }
    // One edge takes part in each round, so that the message has each size.
    for (std::size_t index = 0; index < out.size(); ++index) {
      const Edge terms{.every = out.size(), .offset = index};
      member.send(other, static_cast<std::int64_t>(index), out[index], terms);
      member.receive(other, static_cast<std::int64_t>(index), in[index], terms);
    }
    MUST(member.exchange->freeze());
    for (std::size_t round = 0; round < 2 * out.size(); ++round) {
      auto& now = out[round % out.size()];
      std::fill(now.begin(), now.end(), static_cast<char>(round + static_cast<std::size_t>(member.rank())));
      MUST(member.round());
      for (const char one : in[round % out.size()]) {
        ASSERT_EQ(one, static_cast<char>(round + static_cast<std::size_t>(other)));
      }
    }
  });
}

TEST_P(ExchangeMethod, TestEndsARoundWithoutBlocking) {
  run(2, [](Member& member) {
    const int other = 1 - member.rank();
    Numbers out(10), in(10);
    member.send(other, 0, out);
    member.receive(other, 0, in);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 50; ++round) {
      fill(out, member.rank(), round);
      MUST(member.exchange->start());
      bool is_done = false;
      const std::uint64_t deadline_ns = os::deadline_after(30);
      while (!is_done && os::now_ns() < deadline_ns) MUST(member.exchange->test(is_done));
      ASSERT_TRUE(is_done);
      ASSERT_EQ(wrong(in, other, round), 0);
    }
  });
}

// Any plan: each pair of members has some edges with random regions, frequencies and lengths.
TEST_P(ExchangeMethod, RandomPlansGiveWhatTheyShould) {
  constexpr int size = 3;
  struct Drawn {
    int from, to;
    std::int64_t tag;
    std::vector<std::int64_t> out_offsets, in_offsets;  // places in arrays of the two
    std::size_t run = 1;
    Edge terms;
  };
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    std::vector<Drawn> plan;
    std::vector<std::int64_t> used(size, 0);
    for (int number = 0; number < 14; ++number) {
      Drawn one{.from = static_cast<int>(random.below(size)),
                .to = static_cast<int>(random.below(size)),
                .tag = number,
                .out_offsets = {},
                .in_offsets = {},
                .run = 1 + random.below(4),
                .terms = {}};
      one.terms.every = 1 + random.below(3);
      one.terms.offset = random.below(3);
      const std::uint64_t runs = random.below(12);
      for (std::uint64_t run = 0; run < runs; ++run) {
        one.out_offsets.push_back(static_cast<std::int64_t>(random.below(500)));
        one.in_offsets.push_back(used[static_cast<std::size_t>(one.to)]);
        used[static_cast<std::size_t>(one.to)] += static_cast<std::int64_t>(one.run + random.below(2));
      }
      plan.push_back(std::move(one));
    }
    run(size, [&](Member& member) {
      Numbers out(600), in(2000, -1);
      for (const Drawn& one : plan) {
        const auto add = [&](Direction direction, int peer, Numbers& data, const std::vector<std::int64_t>& offsets) {
          Edge edge = one.terms;
          edge.direction = direction;
          edge.peer = peer;
          edge.tag = one.tag;
          Region region{.memory = reinterpret_cast<std::byte*>(data.data()), .run_bytes = one.run * sizeof(double)};
          for (const std::int64_t offset : offsets) region.offsets.push_back(offset * 8);
          if (!offsets.empty()) edge.regions = {region};
          EXPECT_OK(member.exchange->add(edge).status());
        };
        if (one.from == member.rank()) add(Direction::out, one.to, out, one.out_offsets);
        if (one.to == member.rank()) add(Direction::in, one.from, in, one.in_offsets);
      }
      MUST(member.exchange->freeze());
      Numbers expected = in;
      for (int round = 0; round < 40; ++round) {
        fill(out, member.rank(), round);
        MUST(member.round());
        for (const Drawn& one : plan) {
          if (one.to != member.rank() || !one.terms.takes_part(static_cast<std::uint64_t>(round))) continue;
          for (std::size_t run = 0; run < one.out_offsets.size(); ++run) {
            for (std::size_t place = 0; place < one.run; ++place) {
              expected[static_cast<std::size_t>(one.in_offsets[run]) + place] =
                  value(one.from, round, static_cast<std::size_t>(one.out_offsets[run]) + place);
            }
          }
        }
        ASSERT_EQ(in, expected) << "seed " << seed << " round " << round;
      }
    });
  }
}

}  // namespace
}  // namespace couplet::conformance
