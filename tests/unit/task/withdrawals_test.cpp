// Which couplers a process may send a request to.
#include "task/withdrawals.hpp"

#include "world.hpp"

namespace couplet::task {
namespace {

wire::TaskMessage heard(std::uint64_t number) {
  wire::TaskMessage message;
  message.kind = wire::TaskMessageKind::heard;
  message.number = number;
  return message;
}

// Fault: what an earlier life of the coupler had answered counted until the next poll, and what came late from it for
// longer.
TEST(Withdrawals, AnAnswerCountsForTheLifeThatHasGivenIt) {
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program != "sim") {
      return;
    }
    constexpr std::uint64_t space = 7;
    Withdrawals& withdrawals = rank.mailbox.withdrawals;
    const std::uint64_t first = rank.mailbox.next_number();
    EXPECT_FALSE(withdrawals.may_ask(1));
    EXPECT_TRUE(withdrawals.answered(1));
    ASSERT_FINE(withdrawals.send(1, space, first));
    EXPECT_FALSE(withdrawals.answered(1));
    EXPECT_TRUE(withdrawals.take(1, heard(first + 1000)));
    EXPECT_FALSE(withdrawals.may_ask(1));
    EXPECT_TRUE(withdrawals.take(1, heard(first)));
    EXPECT_TRUE(withdrawals.may_ask(1));
    rank.mailbox.lost(1, fail(Code::peer_lost, "rank 1 is lost"));
    EXPECT_FALSE(withdrawals.may_ask(1));
    EXPECT_TRUE(withdrawals.answered(1));
    rank.mailbox.returned(1);
    EXPECT_TRUE(withdrawals.take(1, heard(first)));
    EXPECT_FALSE(withdrawals.may_ask(1));
    ASSERT_FINE(withdrawals.ask(1, space));
    EXPECT_FALSE(withdrawals.answered(1));
  });
}

// Fault: a withdrawal that could not be sent counted as one, and all later requests to its coupler ended with TIMEOUT.
TEST(Withdrawals, WhatCouldNotBeSentIsSentWhenTheAnswerIsWanted) {
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program != "sim") {
      poll_until(rank, [&] { return is_over.load(); });
      return;
    }
    Withdrawals& withdrawals = rank.mailbox.withdrawals;
    rank.environment.gone_ = 1;  // then nothing can be sent
    EXPECT_EQ(withdrawals.ask(1, 7).code(), Code::peer_lost);
    EXPECT_FALSE(withdrawals.answered(1));
    rank.environment.gone_ = -1;
    ASSERT_FINE(withdrawals.ask(1, 7));
    const std::uint64_t end_ns = soon();
    poll_until(rank, [&] { return withdrawals.answered(1) || os::now_ns() >= end_ns; });
    EXPECT_TRUE(withdrawals.may_ask(1));
    is_over = true;
  });
}

}  // namespace
}  // namespace couplet::task
