// Without memory, a message or a loss may cost the connection to its sender, but nobody waits for ever.
#include <climits>
#include <new>

#include "task/coupler.hpp"
#include "unit/message/memory.hpp"
#include "world.hpp"

namespace couplet::task {
namespace {

using test::Armed;
using test::FailingAllocation;

// Returns false if the n-th allocation of the body has failed and was not answered by the body.
template <typename Body>
bool succeeds_without(std::uint64_t n, const Body& body) {
  FailingAllocation failing{.number = n};
  const Armed arm(failing);
  try {
    body();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

struct CountsLosses final : Listener {
  int losses = 0;
  void message(channel::PeerId /*source*/, wire::TaskMessage /*message*/) override {}
  void lost(channel::PeerId /*peer*/, const Status& /*why*/) override { ++losses; }
};

// Fault: a peer that was cut off counted as told before its listeners were told, and they never were.
TEST(TaskMemory, EveryListenerIsToldOfAPeerThatIsCutOff) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"worker", 1}}, [&](const std::string& program, Rank& rank) {
    if (program != "coupler") {
      return;
    }
    CountsLosses one;
    CountsLosses two;
    ASSERT_FINE(rank.mailbox.listen(5, one));
    ASSERT_FINE(rank.mailbox.listen(6, two));
    rank.party.engine->poll();
    for (std::uint64_t n = 1; n < 16; ++n) {
      one.losses = two.losses = 0;
      rank.party.messenger->peer_lost(2, fail(Code::memory, "there is no memory for it"));
      static_cast<void>(succeeds_without(n, [&] { rank.mailbox.poll(0, INT_MAX); }));
      for (int polls = 0; polls < 5; ++polls) {
        rank.party.engine->poll();
      }
      EXPECT_TRUE(one.losses > 0 && two.losses > 0) << "without allocation " << n;
      rank.party.messenger->peer_returned(2);
      rank.mailbox.returned(2);
      rank.party.engine->poll();
    }
    rank.mailbox.forget(5);
    rank.mailbox.forget(6);
  });
}

// Fault: what had been kept for tasks that were opened later was dropped if one message could not be taken.
TEST(TaskMemory, ARequestThatWasKeptIsAnswered) {
  bool succeeded = false;
  for (std::uint64_t n = 1; n < 40 && !succeeded; ++n) {
    std::atomic<bool> is_over{false};
    run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
      if (program == "sim") {
        auto tasks = open_requester(rank);
        Task* task = nullptr;
        const std::vector<double> data(100);
        const Status submitted =
            tasks->submit(any_worker, {{}, data.data(), data.size(), COUPLET_DOUBLE}, soon(), &task);
        EXPECT_NE(submitted.code(), Code::timeout) << "without allocation " << n;
        is_over = true;
      } else {
        poll_for(rank, 0.1);
        std::unique_ptr<Coupler> coupler;
        succeeded = succeeds_without(n, [&] { coupler = open_coupler(rank); });
        if (!succeeded) {
          coupler = open_coupler(rank);
        }
        poll_until(rank, [&] { return is_over.load(); });
      }
    });
  }
  EXPECT_TRUE(succeeded);
}

// Fault: a request for whose place in the queue there was no memory was in no queue, and next() never ended.
TEST(TaskMemory, ARequestIsInAQueueOrRefused) {
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program != "coupler") {
      return;
    }
    auto coupler = open_coupler(rank);
    int failures = 0;
    for (int request = 0; request < 140; ++request) {  // a queue needs memory now and then only
      for (std::uint64_t n = 1; n < 8; ++n) {
        wire::TaskMessage message = of_kind(wire::TaskMessageKind::submit, rank);
        message.worker = any_worker;
        message.type = COUPLET_BYTE;
        failures += succeeds_without(n, [&] { coupler->message(0, std::move(message)); }) ? 0 : 1;
      }
    }
    EXPECT_GT(failures, 0);
    coupler->message(0, of_kind(wire::TaskMessageKind::closed, rank));
    Incoming task;
    Status status;
    while ((status = coupler->next(soon(), task)).ok()) {
      ASSERT_FINE(coupler->complete(task.id, {}));
    }
    EXPECT_NE(status.code(), Code::not_yet);
  });
}

}  // namespace
}  // namespace couplet::task
