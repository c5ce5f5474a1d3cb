// What is kept of task messages that come before their tasks are opened, and of those that do not come to their end.
#include "task/mailbox.hpp"

#include <thread>

#include "world.hpp"

namespace couplet::task {
namespace {

class Heard final : public Listener {
 public:
  void message(channel::PeerId source, wire::TaskMessage message) override {
    heard.push_back(fmt::format("rank {}: {} bytes", source, message.payload.size()));
    last = message.status();
  }
  void lost(channel::PeerId /*peer*/, const Status& /*why*/) override {}
  std::vector<std::string> heard;
  Status last;
};

// Issue 8, fault 17: what is kept for tasks that were not opened yet was bounded by its payload only. Later fault: what
// a rank says of itself was turned away, too, so that a worker was told that no task comes.
TEST(Mailbox, EmptyRequestsToARankThatHasNotOpenedTheTasksAreBounded) {
  constexpr int fit = 100;
  std::atomic<bool> is_over{false};
  run_programs(
      {{"sim", 1}, {"coupler", 1}, {"worker", 1}},
      [&](const std::string& program, Rank& rank) {
        if (program == "sim") {
          Heard answers;
          ASSERT_TRUE(rank.mailbox.listen(space_of("tasks", "t"), answers).ok());
          for (int number = 0; number < fit + 1; ++number) {
            ASSERT_FINE(rank.mailbox.send(1, of_kind(wire::TaskMessageKind::submit, rank)));
          }
          wire::TaskMessage hello = of_kind(wire::TaskMessageKind::hello, rank);
          hello.numbers = {0};
          ASSERT_FINE(rank.mailbox.send(1, hello));
          while (answers.heard.empty()) {
            rank.party.engine->poll();
          }
          poll_for(rank, 0.1);
          EXPECT_EQ(answers.heard.size(), 1U);
          EXPECT_EQ(answers.last.code(), Code::limit);
          EXPECT_EQ(answers.last.text(),
                    "rank 1 has not opened the tasks, and already keeps 25600 bytes of task messages");
          rank.mailbox.forget(space_of("tasks", "t"));
          is_over = true;
        } else {
          poll_until(rank, [&] { return is_over.load(); });
        }
      },
      fit * Mailbox::kept_message_bytes);
}

// Fault: a request that its requester had given up was kept, as was the word that it is given up.
TEST(Mailbox, ARequestThatWasGivenUpIsNotKept) {
  constexpr int fit = 4;
  std::atomic<bool> is_over{false};
  run_programs(
      {{"sim", 1}, {"coupler", 1}, {"worker", 1}},
      [&](const std::string& program, Rank& rank) {
        if (program == "sim") {
          auto tasks = open_requester(rank);
          for (int number = 0; number < 3 * fit; ++number) {
            const Status status = tasks->submit(0, {}, os::deadline_after(0.02), nullptr);
            EXPECT_EQ(status.code(), Code::timeout) << status.text();
          }
          is_over = true;
        } else {
          poll_until(rank, [&] { return is_over.load(); });
        }
      },
      fit * Mailbox::kept_message_bytes);
}

// Fault: a requester that opened and closed the tasks again and again filled the memory of a coupler that had not
// opened them.
TEST(Mailbox, OfWhatARankSaysOfItselfOnlyTheNewestIsKept) {
  constexpr int times = 50;
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      for (int time = 0; time < times; ++time) {
        ASSERT_FINE(rank.mailbox.send(1, of_kind(wire::TaskMessageKind::submit, rank)));
        ASSERT_FINE(rank.mailbox.send(1, of_kind(wire::TaskMessageKind::closed, rank)));
        poll_for(rank, 0.002);
      }
      poll_for(rank, 0.1);
      is_over = true;
    } else {
      poll_until(rank, [&] { return is_over.load(); });
      Heard heard;
      ASSERT_TRUE(rank.mailbox.listen(space_of("tasks", "t"), heard).ok());
      EXPECT_EQ(heard.heard.size(), times + 1U);
      rank.mailbox.forget(space_of("tasks", "t"));
    }
  });
}

// Fault: a listener got messages in the middle of its own call, which sent to a rank that is gone.
TEST(Mailbox, CallsNoListenerWhileItSends) {
  std::atomic<bool> is_sent{false};
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"worker", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      Heard answers;
      ASSERT_TRUE(rank.mailbox.listen(space_of("tasks", "t"), answers).ok());
      while (!is_sent) {
        std::this_thread::yield();
      }
      rank.environment.gone_ = 2;
      EXPECT_EQ(rank.mailbox.send(2, of_kind(wire::TaskMessageKind::submit, rank)).code(), Code::peer_lost);
      EXPECT_TRUE(answers.heard.empty());
      for (const auto until = soon(); answers.heard.empty() && os::now_ns() < until;) {
        rank.party.engine->poll();
      }
      EXPECT_EQ(answers.heard.size(), 1U);
      rank.mailbox.forget(space_of("tasks", "t"));
      is_over = true;
    } else {
      if (program == "coupler") {
        ASSERT_FINE(rank.mailbox.send(0, of_kind(wire::TaskMessageKind::taken, rank)));
        is_sent = true;
      }
      poll_until(rank, [&] { return is_over.load(); });
    }
  });
}

// Fault: between the news that a rank is back and the end of its old connection, that connection was taken for a failed
// one of the new life, and a group of workers was given the task again that it had in hand (simulator, seed 48008874).
TEST(Mailbox, AConnectionToAnEarlierLifeIsNoneThatHasFailed) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"worker", 2}}, [](const std::string& program, Rank& rank) {
    if (program != "coupler") {
      return;
    }
    const auto lose = [&](channel::PeerId peer) {
      const Status why = fail(Code::peer_lost, "rank {} was killed", peer);
      rank.party.messenger->peer_lost(peer, why);
      rank.environment.gone_ = static_cast<int>(peer);
      rank.mailbox.lost(peer, why);
      rank.party.engine->poll();
    };
    lose(2);
    rank.environment.gone_ = -1;  // the membership knows that it is back
    lose(3);
    EXPECT_FALSE(rank.mailbox.is_cut_off(2));
    EXPECT_FALSE(rank.mailbox.is_cut_off(3));
    rank.party.messenger->peer_returned(2);
    rank.mailbox.returned(2);
    rank.party.messenger->peer_lost(2, fail(Code::memory, "there is no memory for it"));
    rank.party.engine->poll();
    EXPECT_TRUE(rank.mailbox.is_cut_off(2)) << "it lives, and its connection has failed";
  });
}

// Fault: its receiver dropped it, and the requester waited for ever, or was told that the coupler makes no call.
TEST(Mailbox, ARequestThatIsTooLargeIsRefusedByItsRequester) {
  std::atomic<bool> is_done{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"worker", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      const double first = 0;  // nothing is looked at
      const Status status = tasks->submit(0, {{}, &first, std::uint64_t{1} << 27, COUPLET_DOUBLE}, soon(), nullptr);
      EXPECT_EQ(status.code(), Code::limit);
      EXPECT_NE(status.text().find("134217728 elements of 8 bytes, which is more than the 1072693248 bytes"),
                std::string::npos)
          << status.text();
      is_done = true;
    } else {
      poll_until(rank, [&] { return is_done.load(); });
    }
  });
}

// Found with requesters that were stopped while they sent a large payload: the process that received it got no other
// message of tasks and areas. Here the requester computes.
TEST(Mailbox, AMessageThatDoesNotEndHoldsUpOnlyItsSender) {
  constexpr std::uint64_t space = 7;
  constexpr std::size_t large = 20'000'000;
  std::atomic<bool> has_begun{false};
  std::atomic<bool> is_done{false};
  std::atomic<int> stage{0};
  const auto send = [](Rank& rank, std::size_t bytes) {
    wire::TaskMessage message;
    message.space = space;
    message.source = rank.party.rank();
    message.type = COUPLET_BYTE;
    message.payload.assign(bytes, 'x');
    EXPECT_TRUE(rank.mailbox.send(0, message).ok());
  };
  const auto until = [](Rank& rank, const std::function<bool()>& done) {
    const std::uint64_t deadline_ns = soon();
    while (!done() && os::now_ns() < deadline_ns) {
      rank.party.engine->poll();
    }
    return done();
  };
  const auto act = [&](const std::string& program, Rank& rank) {
    if (program == "owner") {
      Heard listener;
      ASSERT_FINE(rank.mailbox.listen(space, listener));
      EXPECT_TRUE(until(rank, [&] { return has_begun.load(); }));
      for (int round = 0; round < 1000; ++round) {
        rank.party.engine->poll();  // matches the large message, and asks for its data
      }
      stage = 1;
      EXPECT_TRUE(until(rank, [&] { return listener.heard.size() == 2; })) << listener.heard.size();
      stage = 2;
      EXPECT_TRUE(until(rank, [&] { return listener.heard.size() == 5; })) << listener.heard.size();
      const std::vector<std::string> expected = {"rank 2: 1 bytes", "rank 2: 2 bytes", "rank 1: 20000000 bytes",
                                                 "rank 1: 3 bytes", "rank 1: 4 bytes"};
      EXPECT_EQ(listener.heard, expected);
      rank.mailbox.forget(space);
      is_done = true;
    } else if (program == "slow") {
      send(rank, large);
      send(rank, 3);
      send(rank, 4);
      has_begun = true;
      while (stage < 2) {
        std::this_thread::yield();  // computes
      }
      EXPECT_TRUE(until(rank, [&] { return is_done.load(); }));
    } else {
      EXPECT_TRUE(until(rank, [&] { return stage.load() == 1; }));
      send(rank, 1);
      send(rank, 2);
      EXPECT_TRUE(until(rank, [&] { return is_done.load(); }));
    }
  };
  // Over shared memory, a receiver takes a large payload from the memory of a sender that computes.
  run_programs({{"owner", 1}, {"slow", 1}, {"quick", 1}}, act, Mailbox::largest_kept_bytes, test::LaneKind::tcp);
}

}  // namespace
}  // namespace couplet::task
