// For which workers a coupler waits, and whose word counts, while ranks are lost, come back, and leave.
#include <climits>

#include "task/coupler.hpp"
#include "world.hpp"

namespace couplet::task {
namespace {

// Lets the coupler run until its requesters have closed. between: called between its short runs.
template <typename Between>
Status run_in_slices(Coupler& coupler, const Between& between) {
  Status status = Code::not_yet;
  while (status.code() == Code::not_yet) {
    between();
    status = coupler.run(os::deadline_after(0.02));
  }
  return status;
}

// A requester that submits one task when it may, and returns how that ended.
Status request_one(Rank& rank, const std::atomic<bool>& may_begin, std::atomic<bool>& has_begun) {
  auto tasks = open_requester(rank);
  poll_until(rank, [&] { return may_begin.load(); });
  Task* task = nullptr;
  const Status submitted = tasks->submit(any_worker, {}, soon(), &task);
  has_begun = true;
  return submitted.ok() ? tasks->wait(&task, soon()) : submitted;
}

void work_once(Rank& rank) {
  auto worker = open_worker(rank);
  Incoming task;
  ASSERT_FINE(worker->next({}, soon(), task));
  ASSERT_FINE(worker->complete({}));
  EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
}

// Fault: it waited for the rank for ever, since it had once been back.
TEST(CouplerAndWorkers, DoesNotWaitForARankThatCameBackAndHasLeft) {
  std::atomic<bool> has_left{false};
  std::atomic<bool> has_begun{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      EXPECT_EQ(request_one(rank, has_left, has_begun).code(), Code::not_found);
    } else if (program == "coupler") {
      rank.environment.gone_ = 2;
      auto coupler = open_coupler(rank);
      EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);
      rank.environment.restarted_ = 2;
      rank.environment.gone_ = -1;
      rank.mailbox.returned(2);
      EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);
      rank.environment.has_left_ = true;
      rank.environment.gone_ = 2;
      rank.mailbox.lost(2, Code::end);
      EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);
      has_left = true;
      ASSERT_FINE(run_in_slices(*coupler, [] {}));
    }
  });
}

// Fault: a hello of before, whose sender was lost, took the rank from those for which the coupler waits.
TEST(CouplerAndWorkers, WaitsForARankThatIsBackAndThatAKeptHelloNames) {
  std::atomic<bool> has_greeted{false};
  std::atomic<bool> is_back{false};
  std::atomic<bool> has_begun{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      EXPECT_TRUE(request_one(rank, is_back, has_begun).ok());
    } else if (program == "coupler") {
      poll_until(rank, [&] { return has_greeted.load(); });
      poll_for(rank, 0.1);
      rank.environment.gone_ = 2;
      auto coupler = open_coupler(rank);
      EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);
      rank.environment.gone_ = -1;
      rank.environment.restarted_ = 3;
      rank.mailbox.returned(2);
      rank.mailbox.returned(3);
      is_back = true;
      ASSERT_FINE(run_in_slices(*coupler, [] {}));
    } else {
      if (rank.environment.self() == 2) {
        wire::TaskMessage hello = of_kind(wire::TaskMessageKind::hello, rank);
        hello.numbers = {2, 3};
        ASSERT_FINE(rank.mailbox.send(1, hello));
        has_greeted = true;
      }
      poll_until(rank, [&] { return has_begun.load(); });
      poll_for(rank, 0.2);
      rank.environment.restarted_ = 3;
      work_once(rank);
    }
  });
}

// Fault: the coupler waited for it only if it had looked between the loss and the return.
TEST(CouplerAndWorkers, WaitsForARankWhoseLossIsToldWhenItIsBack) {
  std::atomic<bool> has_closed{false};
  std::atomic<bool> is_back{false};
  std::atomic<bool> has_begun{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      EXPECT_TRUE(request_one(rank, is_back, has_begun).ok());
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      ASSERT_FINE(run_in_slices(*coupler, [&] {
        if (!has_closed || is_back) {
          return;
        }
        EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes the goodbye
        rank.environment.restarted_ = 3;
        rank.mailbox.lost(3, fail(Code::peer_lost, "rank 3 was killed"));
        rank.mailbox.returned(3);
        EXPECT_EQ(coupler->run(os::deadline_after(0.02)).code(), Code::not_yet);
        is_back = true;
      }));
    } else {
      if (rank.environment.self() == 2) {
        open_worker(rank).reset();
        has_closed = true;
      }
      poll_until(rank, [&] { return has_begun.load(); });
      poll_for(rank, 0.2);
      rank.environment.restarted_ = 3;
      work_once(rank);
    }
  });
}

// Fault: the hello of a group names the next life of a rank that is lost. After the goodbye of the group, that life
// counted as one that had opened the tasks.
TEST(CouplerAndWorkers, WaitsForALifeThatAHelloHasNamedBeforeItWasThere) {
  std::atomic<bool> has_closed{false};
  std::atomic<bool> is_back{false};
  std::atomic<bool> has_begun{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      EXPECT_TRUE(request_one(rank, is_back, has_begun).ok());
    } else if (program == "coupler") {
      rank.environment.gone_ = 3;
      auto coupler = open_coupler(rank);
      ASSERT_FINE(run_in_slices(*coupler, [&] {
        if (!has_closed || is_back) {
          return;
        }
        EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes hello and goodbye
        rank.environment.gone_ = -1;
        rank.environment.restarted_ = 3;
        rank.mailbox.returned(3);
        is_back = true;
      }));
    } else {
      rank.environment.restarted_ = 3;
      if (rank.environment.self() == 2) {
        open_worker(rank).reset();
        has_closed = true;
      }
      poll_until(rank, [&] { return has_begun.load(); });
      poll_for(rank, 0.2);
      work_once(rank);
    }
  });
}

// Fault: while the coupler asked for another worker, it heard that this one had left before it took its last words.
TEST(CouplerAndWorkers, TakesWhatAWorkerSaidBeforeItLeftWhileItAsksForAnother) {
  std::atomic<int> open{0};
  std::atomic<bool> are_open{false};
  std::atomic<bool> is_done{false};
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}, {"more", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* done = nullptr;
      Task* other = nullptr;
      ASSERT_FINE(tasks->submit(3, {}, soon(), &done));
      ASSERT_FINE(tasks->submit(2, {}, soon(), &other));
      const Status status = tasks->wait(&done, soon());
      EXPECT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(tasks->wait(&other, soon()).code(), Code::peer_lost);
      is_over = true;
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      poll_until(rank, [&] { return are_open.load(); });
      poll_for(rank, 0.2);
      Incoming first;
      Incoming second;
      ASSERT_FINE(coupler->next(soon(), first));
      ASSERT_FINE(coupler->next(soon(), second));
      ASSERT_FINE(coupler->dispatch(first.id, 3));
      wait_without_call(is_done);
      rank.environment.has_left_ = true;
      rank.environment.gone_ = 2;
      rank.environment.while_asking_ = [&] {
        rank.environment.while_asking_ = nullptr;
        rank.environment.gone_ = 3;
        rank.mailbox.poll(0, INT_MAX);
        rank.mailbox.lost(3, Code::end);
      };
      static_cast<void>(coupler->dispatch(second.id, 2));
      EXPECT_EQ(coupler->next(soon(), first).code(), Code::end);
    } else {
      const int id = program == "work" ? 2 : 3;
      auto worker = open_worker(rank, {id, 0});
      are_open = ++open == 2;
      if (program == "more") {
        Incoming task;
        ASSERT_FINE(worker->next({}, soon(), task));
        ASSERT_FINE(worker->complete({}));
        is_done = true;
      }
      poll_until(rank, [&] { return is_over.load(); });
    }
  });
}

}  // namespace
}  // namespace couplet::task
