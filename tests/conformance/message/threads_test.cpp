// Several threads of one process that take turns (threads = 1 at join): a thread that waits lets the others in at once.
// Fault: a blocking send, task calls and agreements never passed the turn, and if it was passed, others waited 96 ms.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "engine/turn.hpp"
#include "message/team.hpp"
#include "support/parties.hpp"

namespace couplet::message {
namespace {

using engine::Turn;
using test::LaneKind;
using test::Parties;
using test::Party;

// One call, as the C interface makes it.
Status in_turn(Turn& turn, const std::function<Status()>& body) {
  COUPLET_TRY(turn.begin());
  Status status = body();
  turn.end();
  return status;
}

struct Threads : ::testing::TestWithParam<LaneKind> {
  Threads() {
    for (const int rank : {0, 1}) {
      turns[rank].serialise();
      EXPECT_TRUE(parties[rank].engine->set_turn(turns[rank]).ok());
    }
  }
  // Both ranks, `count` threads each.
  void run(int count, const std::function<void(Party&, Turn&, int)>& body) {
    std::vector<std::thread> threads;
    for (const int rank : {0, 1}) {
      for (int number = 0; number < count; ++number) {
        threads.emplace_back([&, rank, number] { body(parties[rank], turns[rank], number); });
      }
    }
    for (auto& thread : threads) thread.join();
  }

  Turn turns[2];  // outlive the engines
  Parties parties{GetParam(), 2};
};

TEST_P(Threads, FourThreadsSendAndReceiveAtTheSameTime) {
  constexpr int rounds = 200;
  run(4, [](Party& party, Turn& turn, int number) {
    Messenger& messenger = *party.messenger;
    std::vector<std::uint64_t> out(number == 3 ? 40000 : 1);
    std::vector<std::uint64_t> in(out.size());
    for (int round = 0; round < rounds; ++round) {
      out[0] = static_cast<std::uint64_t>(number * 1000 + round);
      const auto send = [&] {
        return in_turn(turn, [&] {
          return messenger.send(party.group(), out.data(), out.size(), COUPLET_UINT64, 1 - party.rank(), number);
        });
      };
      const auto receive = [&] {
        return in_turn(turn, [&] {
          return messenger.recv(party.group(), in.data(), in.size(), COUPLET_UINT64, 1 - party.rank(), number, nullptr);
        });
      };
      const Status first = party.rank() == 0 ? send() : receive();
      const Status second = party.rank() == 0 ? receive() : send();
      ASSERT_TRUE(first.ok() && second.ok()) << first.text() << second.text();
      ASSERT_EQ(in[0], out[0]);
    }
  });
}

TEST_P(Threads, SomeTestWhileOthersWait) {
  constexpr int rounds = 100;
  run(4, [](Party& party, Turn& turn, int number) {
    Messenger& messenger = *party.messenger;
    for (int round = 0; round < rounds; ++round) {
      std::uint64_t out = static_cast<std::uint64_t>(number * 1000 + round);
      std::uint64_t in = 0;
      Request* requests[2] = {};
      ASSERT_TRUE(in_turn(turn, [&] {
                    return messenger.irecv(party.group(), &in, 1, COUPLET_UINT64, 1 - party.rank(), number,
                                           &requests[0]);
                  }).ok());
      ASSERT_TRUE(in_turn(turn, [&] {
                    return messenger.isend(party.group(), &out, 1, COUPLET_UINT64, 1 - party.rank(), number,
                                           &requests[1]);
                  }).ok());
      if (number % 2 == 0) {
        Status status = Code::not_yet;
        while (status.code() == Code::not_yet) {
          status = in_turn(turn, [&] { return messenger.test(&requests[0], nullptr); });
        }
        ASSERT_TRUE(status.ok()) << status.text();
      }
      ASSERT_TRUE(in_turn(turn, [&] { return messenger.waitall(requests, os::never, nullptr, nullptr); }).ok());
      ASSERT_EQ(in, out);
    }
  });
}

// Before, each call waited a slice of 100 ms here: ten minutes instead of some milliseconds.
TEST_P(Threads, ABlockedCallLetsEveryOtherCallThrough) {
  constexpr int calls = 6000;
  run(2, [](Party& party, Turn& turn, int number) {
    Messenger& messenger = *party.messenger;
    std::uint64_t word = 7;
    if (party.rank() == 1) {
      if (number == 1) return;
      // The blocked thread of the other side is released when its sibling is through.
      ASSERT_TRUE(
          in_turn(turn, [&] { return messenger.recv(party.group(), &word, 1, COUPLET_UINT64, 0, 1, nullptr); }).ok());
      ASSERT_TRUE(in_turn(turn, [&] { return messenger.send(party.group(), &word, 1, COUPLET_UINT64, 0, 2); }).ok());
      return;
    }
    if (number == 0) {
      const Status status =
          in_turn(turn, [&] { return messenger.recv(party.group(), &word, 1, COUPLET_UINT64, 1, 2, nullptr); });
      ASSERT_TRUE(status.ok()) << status.text();
      return;
    }
    const std::uint64_t limit_ns = os::deadline_after(200);
    for (int call = 0; call < calls; ++call) {
      std::uint64_t got = 0;
      ASSERT_TRUE(in_turn(turn, [&] { return messenger.send(party.group(), &word, 1, COUPLET_UINT64, 0, 9); }).ok());
      ASSERT_TRUE(
          in_turn(turn, [&] { return messenger.recv(party.group(), &got, 1, COUPLET_UINT64, 0, 9, nullptr); }).ok());
      ASSERT_LT(os::now_ns(), limit_ns) << "call " << call;
    }
    ASSERT_TRUE(in_turn(turn, [&] { return messenger.send(party.group(), &word, 1, COUPLET_UINT64, 1, 1); }).ok());
  });
}

TEST_P(Threads, ABlockedSendAndAnAgreementLetOthersThrough) {
  std::atomic<bool> through{false};
  run(3, [&](Party& party, Turn& turn, int number) {
    Messenger& messenger = *party.messenger;
    std::vector<std::uint64_t> large(500000, 3);
    std::uint64_t word = 1;
    if (party.rank() == 1) {  // answers nobody until the third thread of the other side is through
      if (number != 0) return;
      ASSERT_TRUE(
          in_turn(turn, [&] { return messenger.recv(party.group(), &word, 1, COUPLET_UINT64, 0, 5, nullptr); }).ok());
      ASSERT_TRUE(through);
      ASSERT_TRUE(in_turn(turn, [&] {
                    return messenger.recv(party.group(), large.data(), large.size(), COUPLET_UINT64, 0, 4, nullptr);
                  }).ok());
      auto team = MessageTeam::open(messenger, party.group(), "pair");
      std::int64_t values[] = {4};
      ASSERT_TRUE(in_turn(turn, [&] { return (*team)->minimum(values, os::deadline_after(100)); }).ok());
      return;
    }
    if (number == 0) {
      const Status sent = in_turn(
          turn, [&] { return messenger.send(party.group(), large.data(), large.size(), COUPLET_UINT64, 1, 4); });
      ASSERT_TRUE(sent.ok()) << sent.text();
    } else if (number == 1) {
      std::int64_t values[] = {2};
      const Status agreed = in_turn(turn, [&] {
        auto team = MessageTeam::open(messenger, party.group(), "pair");
        return (*team)->minimum(values, os::deadline_after(100));
      });
      ASSERT_TRUE(agreed.ok()) << agreed.text();
      ASSERT_EQ(values[0], 2);
    } else {
      for (int call = 0; call < 500; ++call) {
        Request* request = nullptr;
        ASSERT_TRUE(in_turn(turn, [&] {
                      return messenger.irecv(party.group(), &word, 1, COUPLET_UINT64, 0, 6, &request);
                    }).ok());
        ASSERT_TRUE(in_turn(turn, [&] { return messenger.send(party.group(), &word, 1, COUPLET_UINT64, 0, 6); }).ok());
        ASSERT_TRUE(in_turn(turn, [&] { return messenger.wait(&request, os::never, nullptr); }).ok());
      }
      through = true;
      ASSERT_TRUE(in_turn(turn, [&] { return messenger.send(party.group(), &word, 1, COUPLET_UINT64, 1, 5); }).ok());
    }
  });
}

// Fault: leave freed what other threads still waited in.
TEST_P(Threads, LeavingEndsTheWaitsOfOtherThreads) {
  std::atomic<int> waiting{0};
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  Turn& turn = turns[0];
  Party& party = parties[0];
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      std::uint64_t word = 0;
      const Status status = in_turn(turn, [&] {
        ++waiting;
        Status received = party.messenger->recv(party.group(), &word, 1, COUPLET_UINT64, 1, number, nullptr);
        ++ended;
        return received;
      });
      EXPECT_EQ(status.code(), Code::state) << status.text();
    });
  }
  while (waiting < 3) std::this_thread::yield();
  ASSERT_TRUE(turn.begin().ok());
  EXPECT_TRUE(turn.close(os::never));
  EXPECT_EQ(ended, 3) << "close returned while others were inside";
  turn.end();
  EXPECT_EQ(turn.begin().code(), Code::state);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(party.messenger->pending(), 0U);
}

TEST_P(Threads, ASendThatNobodyTakesEndsWhenTheUniverseIsLeft) {
  std::atomic<bool> waiting{false};
  Turn& turn = turns[0];
  Party& party = parties[0];
  std::thread sender([&] {
    const std::vector<std::uint64_t> large(500000, 3);
    const Status status = in_turn(turn, [&] {
      waiting = true;
      return party.messenger->send(party.group(), large.data(), large.size(), COUPLET_UINT64, 1, 4);
    });
    EXPECT_EQ(status.code(), Code::state) << status.text();
  });
  while (!waiting) std::this_thread::yield();
  ASSERT_TRUE(turn.begin().ok());
  EXPECT_FALSE(turn.close(os::now_ns()));
  party.messenger->abandon(engine::error_of(engine::Ending::left));
  EXPECT_TRUE(turn.close(os::never));
  turn.end();
  sender.join();
  EXPECT_EQ(party.messenger->pending(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Links, Threads, ::testing::Values(LaneKind::shm, LaneKind::tcp),
                         [](const auto& lane) { return std::string(test::lane_name(lane.param)); });

}  // namespace
}  // namespace couplet::message
