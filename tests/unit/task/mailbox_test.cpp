// What is kept of task messages that come before their tasks are opened, and of those that do not come to their end.
#include "task/mailbox.hpp"

#include <thread>

#include "world.hpp"

namespace couplet::task {
namespace {

// Issue 8, fault 17: what is kept for tasks that were not opened yet was bounded by its payload only.
TEST(Mailbox, EmptyRequestsToARankThatHasNotOpenedTheTasksAreBounded) {
  constexpr int fit = 100;
  std::atomic<int> refused{0};
  std::atomic<bool> over{false};
  run_programs(
      {{"sim", 1}, {"coupler", 1}, {"worker", 1}},
      [&](const std::string& program, Rank& rank) {
        if (program == "sim") {
          auto tasks = open_requester(rank);
          for (int number = 0; number < 2 * fit && refused == 0; ++number) {
            const Status status = tasks->submit(0, {}, os::deadline_after(0.01), nullptr);
            if (status.code() == Code::limit) {
              EXPECT_NE(status.text().find("rank 1 has not opened the tasks, and already keeps"), std::string::npos)
                  << status.text();
              ++refused;
            }
          }
          over = true;
        } else {
          while (!over) {
            rank.party.engine->poll();
          }
        }
      },
      fit * Mailbox::kept_message_bytes);
  EXPECT_EQ(refused, 1);
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
      while (!is_done) {
        rank.party.engine->poll();
      }
    }
  });
}

class Heard final : public Listener {
 public:
  void message(channel::PeerId source, wire::TaskMessage message) override {
    heard.push_back(fmt::format("rank {}: {} bytes", source, message.payload.size()));
  }
  void lost(channel::PeerId /*peer*/, const Status& /*why*/) override {}
  std::vector<std::string> heard;
};

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
