// A coupler or a worker closes the tasks and opens them again, or has closed them when a task comes.
#include <array>

#include "world.hpp"

namespace couplet::task {
namespace {

// Calls next until there is a task after the end, does that, and meets the end once more.
void work_after_the_end(Worker& worker) {
  Incoming task;
  Status status = Code::end;
  for (const auto until = soon(); status.code() == Code::end && os::now_ns() < until;) {
    status = worker.next({}, soon(), task);
  }
  ASSERT_FINE(status);
  EXPECT_EQ(task.parameters[0], 5);
  ASSERT_FINE(worker.complete({}));
  EXPECT_EQ(worker.next({}, soon(), task).code(), Code::end);
}

// Opens the tasks, submits one, waits for it, and closes them.
void request_five(Rank& rank) {
  auto tasks = open_requester(rank);
  const std::int64_t five = 5;
  Task* task = nullptr;
  ASSERT_FINE(tasks->submit(any_worker, {{&five, 1}}, soon(), &task));
  ASSERT_FINE(tasks->wait(&task, soon()));
  ASSERT_FINE(tasks->close());
}

// The task was on its way when the worker closed. Its second opening did it, and so did the other worker.
TEST(Tasks, AWorkerThatClosesAndOpensAgainDoesNoTaskTwice) {
  std::atomic<int> stage{0};  // workers that have said hello; 3: a task is on its way to each
  std::atomic<int> done{0};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    const auto reach = [&](int wanted) {
      while (stage < wanted) {
        std::this_thread::yield();  // it makes no call
      }
    };
    if (program == "coupler") {
      auto coupler = open_coupler(rank);
      reach(2);
      EXPECT_EQ(coupler->run(os::deadline_after(0.5)).code(), Code::not_yet);
      stage = 3;
      ASSERT_FINE(coupler->run(soon()));
    } else if (program == "work") {
      const WorkerOptions alone{.group_size = 1};
      auto worker = open_worker(rank, alone);
      ++stage;
      reach(3);
      if (rank.environment.self() == 2) {
        ASSERT_FINE(worker->close());
        worker = open_worker(rank, alone);
      }
      Incoming task;
      Status status = worker->next({}, soon(), task);
      for (; status.ok(); status = worker->next({}, soon(), task)) {
        ++done;
        ASSERT_FINE(worker->complete({}));
      }
      EXPECT_EQ(status.code(), Code::end) << status.text();
    } else {
      auto tasks = open_requester(rank);
      std::array<Task*, 2> made{};
      for (Task*& task : made) {
        ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      }
      for (Task*& task : made) {
        ASSERT_FINE(tasks->wait(&task, soon()));
      }
      ASSERT_FINE(tasks->close());
    }
  });
  EXPECT_EQ(done, 2);
}

// The worker waited for ever, as did the requester: the coupler took its worker for one that was still to come.
TEST(Tasks, AWorkerThatOpenedWhileTheCouplerHadClosedWorksForItWhenItOpensAgain) {
  std::atomic<int> stage{0};  // 1: the coupler has closed, 2: the worker was turned away, 3: the coupler has opened
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    const auto reach = [&](int wanted) {
      while (stage < wanted) {
        rank.party.engine->poll();
      }
    };
    if (program == "coupler") {
      ASSERT_FINE(open_coupler(rank)->close());
      stage = 1;
      reach(2);
      auto coupler = open_coupler(rank);
      stage = 3;
      ASSERT_FINE(coupler->run(soon()));
    } else if (program == "work") {
      reach(1);
      auto worker = open_worker(rank);
      Incoming task;
      EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
      stage = 2;
      reach(3);
      work_after_the_end(*worker);
    } else {
      reach(3);
      request_five(rank);
    }
  });
}

// The coupler forgot the workers that it had told that no task comes. Its next opening waited for them, and they for
// it.
TEST(Tasks, AWorkerThatHasTheTasksOpenWorksForACouplerThatClosesAndOpensAgain) {
  std::atomic<int> stage{0};  // 1: the coupler has opened the tasks again
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    const auto reach = [&](int wanted) {
      while (stage < wanted) {
        rank.party.engine->poll();
      }
    };
    if (program == "coupler") {
      auto coupler = open_coupler(rank);
      EXPECT_EQ(coupler->run(os::deadline_after(0.2)).code(), Code::not_yet);  // the worker says hello
      ASSERT_FINE(coupler->close());
      coupler = open_coupler(rank);
      stage = 1;
      ASSERT_FINE(coupler->run(soon()));
    } else if (program == "work") {
      auto worker = open_worker(rank);
      while (stage < 1) {
        std::this_thread::yield();  // it makes no call
      }
      work_after_the_end(*worker);
    } else {
      reach(1);
      request_five(rank);
    }
  });
}

// The worker had been told that no task comes, and said no goodbye. Later tasks were sent to it, and nobody did them.
TEST(Tasks, ATaskIsNotSentToAWorkerThatHasClosedAfterItsEnd) {
  std::atomic<bool> closed{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "coupler") {
      auto coupler = open_coupler(rank);
      ASSERT_FINE(coupler->run(soon()));
      ASSERT_FINE(coupler->run(soon()));
    } else if (program == "work") {
      auto worker = open_worker(rank);
      Incoming task;
      EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
      ASSERT_FINE(worker->close());
      closed = true;
    } else {
      ASSERT_FINE(open_requester(rank)->close());
      while (!closed) {
        rank.party.engine->poll();
      }
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      Status status = tasks->submit(any_worker, {}, soon(), &task);
      if (status.ok()) {
        status = tasks->wait(&task, soon());
      }
      EXPECT_TRUE(status.error());
      EXPECT_NE(status.code(), Code::timeout) << status.text();
      ASSERT_FINE(tasks->close());
    }
  });
}

}  // namespace
}  // namespace couplet::task
