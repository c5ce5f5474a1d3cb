// For which workers a coupler waits, and whose messages count, while ranks are lost, come back, and leave.
#include <climits>
#include <functional>

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
  EXPECT_EQ(work_until_end(*open_worker(rank)), 1);
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

// Steps of a scene, each of which happens once.
struct Scene {
  std::atomic<bool> has_closed{false};  // the leader has said what it says before the request
  std::atomic<bool> is_back{false};     // the coupler knows the second life of rank 3
  std::atomic<bool> has_begun{false};   // the request was submitted
};

// A request has to wait for a group of ranks 2 and 3, the second of which is in its second life, until they open the
// tasks. coupler: runs until the end, and sets is_back. before: what the leader does before the request.
void let_request_wait(const std::function<void(Rank&, Scene&)>& coupler,
                      const std::function<void(Rank&, Scene&)>& before) {
  Scene scene;
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      const Status status = request_one(rank, scene.is_back, scene.has_begun);
      EXPECT_TRUE(status.ok()) << status.text();
    } else if (program == "coupler") {
      coupler(rank, scene);
    } else {
      if (rank.environment.self() == 2) {
        before(rank, scene);
        scene.has_closed = true;
      }
      poll_until(rank, [&] { return scene.has_begun.load(); });
      poll_for(rank, 0.2);
      rank.environment.restarted_ = 3;
      work_once(rank);
    }
  });
}

void open_and_close(Rank& rank, Scene& /*scene*/) {
  open_worker(rank).reset();
}

// Lets the coupler run, and once the group has closed, lets rank 3 come back in its way.
void run_with_return(Rank& rank, Scene& scene, const std::function<void(Coupler&)>& come_back) {
  auto coupler = open_coupler(rank);
  ASSERT_FINE(run_in_slices(*coupler, [&] {
    if (!scene.has_closed || scene.is_back) {
      return;
    }
    EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes hello and goodbye
    come_back(*coupler);
    scene.is_back = true;
  }));
}

// Fault: if the coupler had heard of the loss before the group closed, it said that no group of workers was left, also
// after that rank had been started again.
TEST(CouplerAndWorkers, WaitsForARankThatIsBackAndWasLostInAGroupThatHasClosed) {
  std::atomic<bool> has_greeted{false};
  std::atomic<bool> is_told{false};
  const auto coupler = [&](Rank& rank, Scene& scene) {
    auto made = open_coupler(rank);
    ASSERT_FINE(run_in_slices(*made, [&] {
      if (has_greeted && !is_told) {
        EXPECT_EQ(made->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes the hello
        rank.environment.gone_ = 3;
        rank.mailbox.lost(3, fail(Code::peer_lost, "rank 3 was killed"));
        EXPECT_EQ(made->run(os::deadline_after(0.02)).code(), Code::not_yet);
        is_told = true;
      } else if (scene.has_closed && !scene.is_back) {
        EXPECT_EQ(made->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes the goodbye
        rank.environment.gone_ = -1;
        rank.environment.restarted_ = 3;
        scene.is_back = true;
      }
    }));
  };
  let_request_wait(coupler, [&](Rank& rank, Scene& /*scene*/) {
    auto former = open_worker(rank);
    has_greeted = true;
    poll_until(rank, [&] { return is_told.load(); });
  });
}

// Fault: a hello of before, whose sender was lost, took the rank from those for which the coupler waits.
TEST(CouplerAndWorkers, WaitsForARankThatIsBackAndThatAKeptHelloNames) {
  const auto coupler = [](Rank& rank, Scene& scene) {
    poll_until(rank, [&] { return scene.has_closed.load(); });
    poll_for(rank, 0.1);
    rank.environment.gone_ = 2;
    auto made = open_coupler(rank);
    EXPECT_EQ(made->run(os::deadline_after(0.05)).code(), Code::not_yet);
    rank.environment.gone_ = -1;
    rank.environment.restarted_ = 3;
    rank.mailbox.returned(2);
    rank.mailbox.returned(3);
    scene.is_back = true;
    ASSERT_FINE(run_in_slices(*made, [] {}));
  };
  let_request_wait(coupler, [](Rank& rank, Scene& /*scene*/) {
    wire::TaskMessage hello = of_kind(wire::TaskMessageKind::hello, rank);
    hello.numbers = {2, 3};
    ASSERT_FINE(rank.mailbox.send(1, hello));
  });
}

// Fault: the coupler waited for it only if it had looked between the loss and the return.
TEST(CouplerAndWorkers, WaitsForARankWhoseLossIsToldWhenItIsBack) {
  const auto coupler = [](Rank& rank, Scene& scene) {
    run_with_return(rank, scene, [&](Coupler& made) {
      rank.environment.restarted_ = 3;
      rank.mailbox.lost(3, fail(Code::peer_lost, "rank 3 was killed"));
      rank.mailbox.returned(3);
      EXPECT_EQ(made.run(os::deadline_after(0.02)).code(), Code::not_yet);
    });
  };
  let_request_wait(coupler, open_and_close);
}

// Fault: the hello of a group names the next life of a rank that is lost. After the goodbye of the group, that life
// counted as one that had opened the tasks.
TEST(CouplerAndWorkers, WaitsForALifeThatAHelloHasNamedBeforeItWasThere) {
  const auto coupler = [](Rank& rank, Scene& scene) {
    rank.environment.gone_ = 3;
    run_with_return(rank, scene, [&](Coupler& /*made*/) {
      rank.environment.gone_ = -1;
      rank.environment.restarted_ = 3;
      rank.mailbox.returned(3);
    });
  };
  let_request_wait(coupler, [](Rank& rank, Scene& scene) {
    rank.environment.gone_ = 3;
    open_and_close(rank, scene);
    rank.environment.gone_ = -1;
  });
}

// Fault: if the coupler heard that the life was there before the group closed, it refused the request.
TEST(CouplerAndWorkers, WaitsForALifeThatIsBackBeforeTheGroupCloses) {
  std::atomic<bool> has_opened{false};
  std::atomic<bool> has_heard{false};
  const auto coupler = [&](Rank& rank, Scene& scene) {
    rank.environment.gone_ = 3;
    auto made = open_coupler(rank);
    ASSERT_FINE(run_in_slices(*made, [&] {
      if (has_opened && !has_heard) {
        EXPECT_EQ(made->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes the hello
        rank.environment.gone_ = -1;
        rank.environment.restarted_ = 3;
        rank.mailbox.returned(3);
        EXPECT_EQ(made->run(os::deadline_after(0.05)).code(), Code::not_yet);
        has_heard = true;
      } else if (scene.has_closed && !scene.is_back) {
        EXPECT_EQ(made->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes the goodbye
        scene.is_back = true;
      }
    }));
  };
  let_request_wait(coupler, [&](Rank& rank, Scene& /*scene*/) {
    rank.environment.gone_ = 3;
    auto former = open_worker(rank);
    has_opened = true;
    poll_until(rank, [&] { return has_heard.load(); });
    former.reset();
    rank.environment.gone_ = -1;
  });
}

// Fault: it waited for ranks that had opened the tasks and closed them, if it heard of their lives after that.
TEST(CouplerAndWorkers, DoesNotWaitForALifeThatHadClosedBeforeTheCouplerKnewIt) {
  std::atomic<bool> has_closed{false};
  std::atomic<bool> is_back{false};
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      EXPECT_EQ(request_one(rank, is_back, is_over).code(), Code::peer_lost);
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      ASSERT_FINE(run_in_slices(*coupler, [&] {
        if (!has_closed || is_back) {
          return;
        }
        EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes hello and goodbye
        rank.environment.restarted_ = 3;
        rank.mailbox.lost(3, fail(Code::peer_lost, "rank 3 was killed"));
        rank.mailbox.returned(3);
        EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);
        is_back = true;
      }));
    } else {
      if (rank.environment.self() == 2) {
        rank.environment.restarted_ = 3;
        open_worker(rank).reset();
        has_closed = true;
      }
      poll_until(rank, [&] { return is_over.load(); });
    }
  });
}

// Fault: the group had said hello before the life was there, so the coupler waited for it for ever, be it that the
// group has the tasks open or has closed them.
class AnAwaitedLifeThatHasOpened : public testing::TestWithParam<bool> {};

TEST_P(AnAwaitedLifeThatHasOpened, IsNotAwaitedAnyMore) {
  const bool closes = GetParam();
  std::atomic<bool> has_greeted{false};
  std::atomic<int> closed{0};
  std::atomic<bool> may_begin{false};
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      poll_until(rank, [&] { return may_begin.load(); });
      Task* task = nullptr;
      const Status submitted = tasks->submit(99, {}, soon(), &task);
      EXPECT_EQ(submitted.code(), Code::not_found) << submitted.text();
      is_over = true;
    } else if (program == "coupler") {
      rank.environment.restarted_ = 3;
      auto coupler = open_coupler(rank);
      ASSERT_FINE(run_in_slices(*coupler, [&] {
        if (closed == 2 && !may_begin) {
          EXPECT_EQ(coupler->run(os::deadline_after(0.05)).code(), Code::not_yet);  // it takes what they say
          may_begin = true;
        }
      }));
    } else {
      const bool is_leader = rank.environment.self() == 2;
      if (is_leader) {
        rank.environment.gone_ = 3;
      } else {
        poll_until(rank, [&] { return has_greeted.load(); });
      }
      auto worker = open_worker(rank);
      has_greeted = true;
      if (is_leader) {
        rank.environment.gone_ = -1;
        rank.environment.restarted_ = 3;
      }
      Incoming task;
      EXPECT_EQ(worker->next({}, os::deadline_after(0.2), task).code(), Code::not_yet);
      if (closes) {
        worker.reset();
      }
      ++closed;
      poll_until(rank, [&] { return is_over.load(); });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(CouplerAndWorkers, AnAwaitedLifeThatHasOpened, testing::Bool());

// Fault: while the coupler asked whether the first group's leader was gone, it took the hello of the second group, and
// its list of groups moved while it held one of them.
TEST(CouplerAndWorkers, TakesNoHelloWhileItAsksWhetherAWorkerIsGone) {
  std::atomic<bool> is_first_there{false};
  std::atomic<bool> is_second_there{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}, {"more", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      ASSERT_FINE(tasks->wait(&task, soon()));
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      poll_until(rank, [&] { return is_first_there.load(); });
      poll_for(rank, 0.2);
      Incoming task;
      ASSERT_FINE(coupler->next(soon(), task));
      is_first_there = false;
      wait_without_call(is_second_there);
      rank.environment.gone_ = 2;
      rank.environment.has_left_ = true;
      ASSERT_FINE(coupler->dispatch(task.id, any_worker));
      EXPECT_EQ(coupler->next(soon(), task).code(), Code::end);
    } else if (program == "work") {
      auto worker = open_worker(rank);
      is_first_there = true;
      poll_until(rank, [&] { return is_second_there.load(); });
      poll_for(rank, 0.2);
    } else {
      poll_until(rank, [&] { return is_first_there.load(); });
      poll_until(rank, [&] { return !is_first_there; });
      auto worker = open_worker(rank);
      is_second_there = true;
      EXPECT_EQ(work_until_end(*worker), 1);
    }
  });
}

// Fault: while the coupler asked for another worker, it heard that this one had left before it took its last messages.
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
