// What a coupler does while others are lost, come back, or say nothing.
#include "task/coupler.hpp"

#include <map>

#include "world.hpp"

namespace couplet::task {
namespace {

// Counts the messages of each kind. Stands for a worker or a requester that says only what the test says.
class Counting final : public Listener {
 public:
  void message(channel::PeerId /*source*/, wire::TaskMessage message) override { ++counts[message.kind]; }
  void lost(channel::PeerId /*peer*/, const Status& /*why*/) override {}
  std::map<wire::TaskMessageKind, int> counts;
};

// Fault: a coupler whose worker had just done the task ended it while it was ending it, if the requester was gone.
TEST(Coupler, ThatClosesWhileAWorkerHasDoneTheTaskOfALostRequesterEndsItOnce) {
  std::atomic<int> stage{
      0};  // 1: the worker has the task; 2: the coupler makes no call; 3: the task is done; 4: closed
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      poll_until(rank, [&] { return stage == 4; });
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      while (stage < 1) {
        EXPECT_EQ(coupler->run(os::deadline_after(0.001)).code(), Code::not_yet);
      }
      stage = 2;
      while (stage < 3) {
        std::this_thread::yield();
      }
      rank.environment.gone_ = 0;
      ASSERT_FINE(coupler->close());
      stage = 4;
    } else {
      auto worker = open_worker(rank);
      Incoming task;
      ASSERT_FINE(worker->next({}, soon(), task));
      stage = 1;
      poll_until(rank, [&] { return stage == 2; });
      ASSERT_FINE(worker->complete({}));
      stage = 3;
      poll_until(rank, [&] { return stage == 4; });
    }
  });
}

// Fault: each call of a coupler that had nothing left to do sent the word again, until the worker had room for nothing.
TEST(Coupler, TellsAWorkerOnceThatNoTaskComes) {
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      ASSERT_FINE(open_requester(rank)->close());
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Incoming task;
      for (int call = 0; call < 5; ++call) {
        EXPECT_EQ(coupler->next(soon(), task).code(), Code::end);
        poll_for(rank, 0.05);
      }
      is_over = true;
      poll_until(rank, [&] { return coupler->close().ok(); });
    } else {
      Counting counting;
      ASSERT_TRUE(rank.mailbox.listen(space_of("tasks", "t"), counting).ok());
      wire::TaskMessage hello = of_kind(wire::TaskMessageKind::hello, rank);
      hello.numbers = {2};
      ASSERT_TRUE(rank.mailbox.send(1, hello).ok());
      poll_until(rank, [&] { return is_over.load(); });
      poll_for(rank, 0.05);
      EXPECT_EQ(counting.counts[wire::TaskMessageKind::end], 1);
      rank.mailbox.forget(space_of("tasks", "t"));
    }
  });
}

// Fault: run() waited for ever for a task that next() had given, and that nobody else could end.
TEST(Coupler, DoesNotWaitInRunForWhatItsCallerHasInHand) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), nullptr));
      static_cast<void>(tasks->close());
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Incoming task;
      ASSERT_FINE(coupler->next(soon(), task));
      const Status status = coupler->run(os::deadline_after(5));
      EXPECT_EQ(status.code(), Code::state) << status.text();
      EXPECT_NE(status.text().find("1 task was taken, and neither dispatched nor completed"), std::string::npos)
          << status.text();
      ASSERT_FINE(coupler->complete(task.id, {}));
    }
  });
}

// Fault: dispatch() with content said that no worker is left, although it had been started again; run() waited for it.
TEST(Coupler, DispatchesToAWorkerThatIsBackAndHasNotOpenedTheTasksYet) {
  std::atomic<bool> is_dispatched{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      ASSERT_FINE(tasks->wait(&task, soon()));
    } else if (program == "coupler") {
      rank.environment.gone_ = 2;
      auto coupler = open_coupler(rank);
      Incoming task;
      ASSERT_FINE(coupler->next(soon(), task));
      rank.environment.gone_ = -1;
      const std::int64_t five = 5;
      ASSERT_FINE(coupler->dispatch(task.id, 2, {{&five, 1}}));
      is_dispatched = true;
      EXPECT_EQ(coupler->next(soon(), task).code(), Code::end);
    } else {
      while (!is_dispatched) {
        std::this_thread::yield();
      }
      auto worker = open_worker(rank);
      Incoming task;
      ASSERT_FINE(worker->next({}, soon(), task));
      EXPECT_EQ(task.parameters[0], 5);
      ASSERT_FINE(worker->complete({}));
    }
  });
}

// Fault: the news of a rank's first life came after the hello of a group with its second one, and took the task away.
// knows: it knows by then that the rank was started again.
void hear_late_of_a_first_life(bool knows) {
  std::atomic<bool> has_it{false};
  std::atomic<bool> told{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      const Status status = tasks->wait(&task, soon());
      EXPECT_TRUE(status.ok()) << status.text();
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Status status = Code::not_yet;
      while (status.code() == Code::not_yet) {
        status = coupler->run(os::deadline_after(0.01));
        if (has_it && !told) {
          rank.environment.restarted_ = knows ? 3 : -1;
          rank.mailbox.lost(3, fail(Code::peer_lost, "rank 3 was killed"));
          EXPECT_EQ(coupler->run(os::deadline_after(0.01)).code(), Code::not_yet);
          told = true;
        }
      }
      ASSERT_FINE(status);
    } else {
      rank.environment.restarted_ = 3;
      auto worker = open_worker(rank);
      Incoming task;
      ASSERT_FINE(worker->next({}, soon(), task));
      has_it = true;
      poll_until(rank, [&] { return told.load(); });
      ASSERT_FINE(worker->complete({}));
      EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
    }
  });
}

TEST(Coupler, LeavesTheTaskToAGroupWhoseRankWasStartedAgainBeforeTheHello) {
  hear_late_of_a_first_life(false);
}

// Fault: it gave the task to the same group again, which did it twice (simulator, seed 48008874).
TEST(Coupler, LeavesTheTaskToAGroupIfItHearsOfAFirstLifeAfterTheSecond) {
  hear_late_of_a_first_life(true);
}

// A group that has not met works with the next life of a rank. Its coupler has to know that.
TEST(Coupler, GivesATaskToAGroupThatMeetsWithTheNextLifeOfARank) {
  std::atomic<bool> greeted{false};
  std::atomic<bool> is_back{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      poll_until(rank, [&] { return is_back.load(); });
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      ASSERT_FINE(tasks->wait(&task, soon()));
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Status status = Code::not_yet;
      while (status.code() == Code::not_yet) {
        status = coupler->run(os::deadline_after(0.05));
        if (greeted) {
          rank.environment.restarted_ = 3;
          is_back = true;
        }
      }
      ASSERT_FINE(status);
    } else {
      auto worker = open_worker(rank);
      if (rank.environment.self() == 2) {
        greeted = true;
        poll_until(rank, [&] { return is_back.load(); });
        rank.environment.restarted_ = 3;
        rank.mailbox.lost(3, fail(Code::peer_lost, "rank 3 was killed"));
        rank.mailbox.returned(3);
      }
      Incoming task;
      ASSERT_FINE(worker->next({}, soon(), task));
      ASSERT_FINE(worker->complete({}));
      EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
    }
  });
}

// Fault: a group of which a rank was lost got tasks again as soon as that rank was back, although the group does none
// before all of its ranks have opened the tasks again.
TEST(Coupler, GivesNoTaskToAGroupWhoseRankHasComeBackAndIsNotInIt) {
  std::atomic<int> greeted{0};
  std::atomic<bool> is_back{false};
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}, {"more", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      poll_until(rank, [&] { return is_back.load(); });
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      ASSERT_FINE(tasks->wait(&task, soon()));
      is_over = true;
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Status status = Code::not_yet;
      while (status.code() == Code::not_yet) {
        status = coupler->run(os::deadline_after(0.05));
        if (greeted == 3) {
          rank.environment.restarted_ = 3;
          is_back = true;
        }
      }
      ASSERT_FINE(status);
    } else if (program == "work") {  // it has greeted first, so it would get the task
      auto worker = open_worker(rank);
      ++greeted;
      poll_until(rank, [&] { return is_over.load(); });
    } else {
      poll_until(rank, [&] { return greeted == 2; });
      poll_for(rank, 0.1);
      auto worker = open_worker(rank, {3, 0});
      ++greeted;
      Incoming task;
      ASSERT_FINE(worker->next({}, soon(), task));
      ASSERT_FINE(worker->complete({}));
      EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
    }
  });
}

// Fault: a requester from which nothing comes any longer counted as one that is back, so next() waited for it for ever.
TEST(Coupler, SaysAgainThatARequesterIsLostThatHasSentNonsense) {
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto& messenger = *rank.party.messenger;
      const std::uint32_t context = message::internal_context | 0x7461736B;  // the context of messages
      ASSERT_FINE(messenger.send_internal(messenger.groups().universe(), context, "no message", 1, 0));
      poll_until(rank, [&] { return is_over.load(); });
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Incoming task;
      for (int call = 0; call < 3; ++call) {
        const Status status = coupler->next(os::deadline_after(5), task);
        EXPECT_EQ(status.code(), Code::peer_lost) << status.text();
      }
      is_over = true;
    }
  });
}

}  // namespace
}  // namespace couplet::task
