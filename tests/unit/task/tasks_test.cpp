#include <numeric>

#include "world.hpp"

namespace couplet::task {
namespace {

TEST(Tasks, TheBuiltInCouplerGivesEachRequestToTheWorkersItNames) {
  run_programs({{"sim", 2}, {"coupler", 1}, {"first", 1}, {"second", 2}}, [](const std::string& program, Rank& rank) {
    constexpr int requests = 40;
    if (program == "sim") {
      auto tasks = open_requester(rank);
      std::vector<Task*> handles(requests);
      std::vector<double> data(100);
      for (std::int64_t number = 0; number < requests; ++number) {
        std::iota(data.begin(), data.end(), static_cast<double>(number));
        const std::int64_t parameters[] = {number, rank.party.rank()};
        const std::int32_t worker = number % 2 == 0 ? 7 : 3;
        ASSERT_FINE(tasks->submit(worker, {parameters, data.data(), data.size(), COUPLET_DOUBLE}, soon(),
                                  &handles[static_cast<std::size_t>(number)]));
      }
      for (Task*& handle : handles) {
        ASSERT_FINE(tasks->wait(&handle, soon()));
        EXPECT_EQ(handle, nullptr);
      }
      ASSERT_FINE(tasks->close());
    } else if (program == "coupler") {
      ASSERT_FINE(open_coupler(rank)->run(soon()));
    } else {
      auto worker = open_worker(rank, {program == "first" ? 7 : 3, 0});
      const int done = work_until_end(*worker, [&](const Incoming& task) -> Status {
        EXPECT_EQ(task.parameters.size(), 2U);
        EXPECT_EQ(task.parameters[0] % 2, program == "first" ? 0 : 1);
        EXPECT_EQ(task.parameters[1], task.source);
        EXPECT_EQ(task.count, 100U);
        EXPECT_EQ(static_cast<const double*>(task.payload)[99], static_cast<double>(task.parameters[0] + 99));
        return {};
      });
      EXPECT_EQ(done, requests);  // half of the requests of each of two requesters
    }
  });
}

TEST(Tasks, ACouplerOfTheUsersSeesEachRequestAndMayChangeIt) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* handles[3] = {};
      for (std::int64_t number = 0; number < 3; ++number) {
        ASSERT_FINE(tasks->submit(any_worker, {{&number, 1}}, soon(), &handles[number]));
        if (number == 0) {  // the coupler then knows all workers
          ASSERT_FINE(tasks->wait(&handles[0], soon()));
        }
      }
      std::int32_t index = -1;
      int failed = 0;
      for (int waited = 0; waited < 2; ++waited) {
        const Status status = tasks->waitany(handles, soon(), &index);
        ASSERT_GE(index, 0);
        failed += status.ok() ? 0 : 1;
        EXPECT_EQ(status.code(), index == 2 ? Code::limit : Code::ok) << status.text();
      }
      EXPECT_EQ(failed, 1);
      ASSERT_FINE(tasks->waitany(handles, soon(), &index));
      EXPECT_EQ(index, -1);
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Incoming task;
      Status status;
      while ((status = coupler->next(soon(), task)).ok()) {
        EXPECT_EQ(task.source, 0);
        if (task.parameters[0] == 2) {
          ASSERT_FINE(coupler->complete(task.id, fail(Code::limit, "two is too much")));
          continue;
        }
        const std::int64_t changed[] = {task.parameters[0] + 10, 5};
        if (task.parameters[0] == 1) {  // the requester is not told
          EXPECT_EQ(coupler->dispatch(task.id, 9, {changed}).code(), Code::not_found);
        }
        ASSERT_FINE(coupler->dispatch(task.id, 2, {changed}));
        EXPECT_EQ(coupler->dispatch(task.id, 2, {changed}).code(), Code::state);
      }
      EXPECT_EQ(status.code(), Code::end) << status.text();
    } else {
      auto worker = open_worker(rank);  // its id is its program's number, 2
      const int done = work_until_end(*worker, [](const Incoming& task) -> Status {
        EXPECT_EQ(task.parameters[0] / 10, 1);
        EXPECT_EQ(task.parameters[1], 5);
        return {};
      });
      EXPECT_EQ(done, 2);
    }
  });
}

TEST(Tasks, WhatAWorkerDoesNotExpectIsHandedBackByNameAndTheNextIsDone) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      const std::int64_t parameters[] = {1, 2, 3};
      const float data[] = {1, 2, 3, 4};
      Task* task = nullptr;
      const auto outcome = [&](const Content& content) {
        EXPECT_TRUE(tasks->submit(2, content, soon(), &task).ok());
        return tasks->wait(&task, soon());
      };
      Status status = outcome({{parameters, 3}, data, 4, COUPLET_FLOAT});
      EXPECT_EQ(status.code(), Code::argument);
      EXPECT_NE(status.text().find("has 3 parameters, the worker expects 2"), std::string::npos) << status.text();
      EXPECT_EQ(outcome({{parameters, 2}, data, 4, COUPLET_INT32}).code(), Code::type);
      EXPECT_EQ(outcome({{parameters, 2}, data, 3, COUPLET_FLOAT}).code(), Code::shape);
      ASSERT_FINE(outcome({{parameters, 2}, data, 4, COUPLET_FLOAT}));
      EXPECT_EQ(outcome({{parameters, 2}, data, 4, COUPLET_FLOAT}).code(), Code::mismatch);  // the second rank says so
      EXPECT_EQ(tasks->submit(5, {}, soon(), &task).code(), Code::not_found);
      EXPECT_EQ(tasks->submit(-4, {}, soon(), &task).code(), Code::argument);
    } else if (program == "coupler") {
      ASSERT_FINE(open_coupler(rank)->run(soon()));
    } else {
      auto worker = open_worker(rank);
      Incoming task;
      int wrong = 0;
      int right = 0;
      for (Status status; status.code() != Code::end;) {
        status = worker->next({2, 4, COUPLET_FLOAT}, soon(), task);
        if (status.ok()) {
          const bool refuse = ++right == 2 && worker->rank() == 1;
          ASSERT_FINE(worker->complete(refuse ? fail(Code::mismatch, "not for me") : Status()));
        } else if (status.error()) {
          ++wrong;
        }
      }
      EXPECT_EQ(wrong, 3);
      EXPECT_EQ(right, 2);
    }
  });
}

TEST(Tasks, ARankThatRefusesItsCallTellsTheOthersAndTheTaskIsLeftToTheNextCall) {
  for (const int mistaken : {0, 2}) {
    run_programs({{"sim", 1}, {"coupler", 1}, {"work", 3}}, [&](const std::string& program, Rank& rank) {
      if (program == "sim") {
        auto tasks = open_requester(rank);
        Task* task = nullptr;
        ASSERT_FINE(tasks->submit(2, {}, soon(), &task));
        ASSERT_FINE(tasks->wait(&task, soon()));
        ASSERT_FINE(tasks->close());
      } else if (program == "coupler") {
        ASSERT_FINE(open_coupler(rank)->run(soon()));
      } else {
        auto worker = open_worker(rank);
        const Status why = fail(Code::argument, "parameters is 'x'");
        Incoming task;
        const Status status = worker->rank() == mistaken ? worker->refuse(why) : worker->next({}, soon(), task);
        EXPECT_EQ(status.code(), Code::argument);
        EXPECT_NE(status.text().find("parameters is 'x'"), std::string::npos) << status.text();
        const std::string named = fmt::format("rank {} of the worker group", mistaken);
        EXPECT_EQ(status.text().find(named) != std::string::npos, worker->rank() != mistaken) << status.text();
        EXPECT_EQ(work_until_end(*worker, [](const Incoming&) { return Status(); }), 1);
        EXPECT_EQ(worker->refuse(why).code(), Code::argument);
      }
    });
  }
}

TEST(Tasks, AFullQueueIsAnAnswerAndWhoWaitsGetsRoom) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* handles[6] = {};
      int accepted = 0;
      Status status;
      while (accepted < 6 && (status = tasks->submit(2, {}, 0, &handles[accepted])).ok()) {
        ++accepted;
      }
      EXPECT_EQ(status.code(), Code::full) << accepted;
      EXPECT_LE(accepted, 3);
      const std::uint64_t soon_ns = os::deadline_after(0.05);
      rank.party.engine->set_interrupt([&] { return os::now_ns() > soon_ns; });
      EXPECT_EQ(tasks->submit(2, {}, soon(), &handles[accepted]).code(), Code::interrupted) << "it waited for room";
      rank.party.engine->set_interrupt({});
      ASSERT_FINE(rank.party.messenger->send(rank.party.group(), nullptr, 0, COUPLET_BYTE, 2, 1));
      for (int rest = accepted; rest < 6; ++rest) {
        ASSERT_FINE(tasks->submit(2, {}, soon(), &handles[rest]));  // waits for room
      }
      for (Task*& handle : handles) {
        ASSERT_FINE(tasks->wait(&handle, soon()));
      }
    } else if (program == "coupler") {
      CouplerOptions options = for_sim();
      options.queue_limit = 2;
      ASSERT_FINE(open_coupler(rank, options)->run(soon()));
    } else {
      // No task is taken before the requester has found the queue full.
      ASSERT_FINE(rank.party.messenger->recv(rank.party.group(), nullptr, 0, COUPLET_BYTE, 0, 1, nullptr));
      auto worker = open_worker(rank);
      EXPECT_EQ(work_until_end(*worker, [](const Incoming&) { return Status(); }), 6);
    }
  });
}

TEST(Tasks, AnyWorkerByRoundRobinAndSeveralCouplersShare) {
  for (const Policy policy : {Policy::first_idle, Policy::round_robin}) {
    std::atomic<int> done{0};
    run_programs({{"sim", 2}, {"coupler", 2}, {"a", 2}, {"b", 1}}, [&](const std::string& program, Rank& rank) {
      if (program == "sim") {
        auto tasks = open_requester(rank);
        for (int number = 0; number < 60; ++number) {
          ASSERT_FINE(tasks->submit(any_worker, {}, soon(), nullptr));
        }
        ASSERT_FINE(tasks->close());
      } else if (program == "coupler") {
        CouplerOptions options = for_sim();
        options.policy = policy;
        ASSERT_FINE(open_coupler(rank, options)->run(soon()));
      } else {
        auto worker = open_worker(rank, {-1, 1});
        done += work_until_end(*worker, [](const Incoming&) { return Status(); });
      }
    });
    EXPECT_EQ(done, 120);
  }
}

TEST(Tasks, ACouplerThatNeverPollsIsNamed) {
  std::atomic<bool> told{false};
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      const Status status = tasks->submit(any_worker, {}, os::deadline_after(0.05), &task);
      EXPECT_EQ(status.code(), Code::timeout);
      EXPECT_NE(status.text().find("rank 1 has not taken the request"), std::string::npos) << status.text();
      EXPECT_EQ(task, nullptr);
      told = true;
    } else {
      wait_without_call(told);
    }
  });
}

// Fault: the request was dispatched before the withdrawal behind it was read.
TEST(Tasks, ARequestThatWasGivenUpBeforeTheCouplerLooksIsNotDone) {
  std::atomic<bool> greeted{false};
  std::atomic<bool> looked{false};
  std::atomic<bool> given_up{false};
  std::atomic<bool> done{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      wait_without_call(looked);
      Task* task = nullptr;
      EXPECT_EQ(tasks->submit(any_worker, {}, os::deadline_after(0.05), &task).code(), Code::timeout);
      given_up = true;
      wait_without_call(done);
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      wait_without_call(greeted);
      EXPECT_EQ(coupler->run(os::deadline_after(0.1)).code(), Code::not_yet);
      looked = true;
      wait_without_call(given_up);
      EXPECT_EQ(coupler->run(os::deadline_after(0.1)).code(), Code::not_yet);
      Incoming task;
      EXPECT_EQ(coupler->next(0, task).code(), Code::not_yet);
      done = true;
    } else {
      auto worker = open_worker(rank);
      greeted = true;
      wait_without_call(done);
      Incoming task;
      EXPECT_NE(worker->next({}, 0, task).code(), Code::ok);
    }
  });
}

// Fault: it was taken outside a look at what has arrived, and then never given to anybody.
TEST(Tasks, ARequestThatCameBeforeTheTasksWereOpenedIsGivenOut) {
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      EXPECT_TRUE(tasks->wait(&task, soon()).ok());
    } else {
      for (const auto until = os::deadline_after(0.2); os::now_ns() < until;) {
        rank.party.engine->poll();  // keeps the request
      }
      auto coupler = open_coupler(rank);
      Incoming task;
      ASSERT_FINE(coupler->next(os::deadline_after(10), task));
      ASSERT_FINE(coupler->complete(task.id, {}));
      EXPECT_EQ(coupler->next(soon(), task).code(), Code::end);
    }
  });
}

// Fault: the next call gave it, so that a coupler that asks once in each of its steps was a step behind.
TEST(Tasks, ACallWithoutTimeGivesARequestThatHasCome) {
  std::atomic<bool> opened{false};
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      while (!opened) {
        std::this_thread::yield();
      }
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      EXPECT_TRUE(tasks->wait(&task, soon()).ok());
    } else {
      auto coupler = open_coupler(rank);
      opened = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // makes no call while the request comes
      Incoming task;
      EXPECT_EQ(coupler->next(0, task).code(), Code::not_yet);  // the requester waited for this first answer
      Status status = Code::not_yet;
      for (const auto until = soon(); status.code() == Code::not_yet && os::now_ns() < until;) {
        status = coupler->next(0, task);
      }
      ASSERT_FINE(status);
      ASSERT_FINE(coupler->complete(task.id, {}));
      EXPECT_EQ(coupler->next(soon(), task).code(), Code::end);
    }
  });
}

// Fault: the coupler counted as closed while it took what had been kept for it, and told the worker that no task comes.
TEST(Tasks, AWorkerThatHasOpenedThemBeforeTheCouplerGetsItsTasks) {
  std::atomic<bool> opened{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "work") {
      auto worker = open_worker(rank);
      EXPECT_EQ(work_until_end(*worker, [](const Incoming&) { return Status(); }), 1);
    } else if (program == "coupler") {
      for (const auto until = os::deadline_after(0.2); os::now_ns() < until;) {
        rank.party.engine->poll();  // keeps what the worker says
      }
      auto coupler = open_coupler(rank);
      opened = true;
      ASSERT_FINE(coupler->run(soon()));
    } else {
      while (!opened) {
        std::this_thread::yield();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the worker hears of a wrong end
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      EXPECT_TRUE(tasks->wait(&task, soon()).ok());
    }
  });
}

// The test says what the membership would say: rank 2 is gone with a task in hand.
void lose_a_worker(OnLost on_lost, Code expected) {
  std::atomic<bool> has_it{false};
  std::atomic<bool> told{false};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(2, {}, soon(), &task));
      const Status status = tasks->wait(&task, soon());
      EXPECT_EQ(status.code(), expected) << status.text();
      if (expected == Code::peer_lost) {
        EXPECT_NE(status.text().find("rank 2 was killed"), std::string::npos) << status.text();
      }
    } else if (program == "coupler") {
      CouplerOptions options = for_sim();
      options.on_lost = on_lost;
      auto coupler = open_coupler(rank, options);
      const auto watched = [&] {
        if (has_it && rank.environment.gone_ < 0) {
          rank.environment.gone_ = 2;
          rank.mailbox.lost(2, fail(Code::peer_lost, "rank 2 was killed"));
          told = true;
        }
      };
      Status status = Code::not_yet;
      while (status.code() == Code::not_yet) {
        status = coupler->run(os::deadline_after(0.01));
        watched();
      }
      ASSERT_FINE(status);
    } else if (rank.party.rank() == 2) {
      auto worker = open_worker(rank, {2, 1});
      Incoming task;
      ASSERT_FINE(worker->next({}, soon(), task));
      has_it = true;
      while (!told) {  // sends nothing further
        std::this_thread::yield();
      }
    } else {
      while (!has_it) {
        std::this_thread::yield();
      }
      auto worker = open_worker(rank, {2, 1});
      EXPECT_EQ(work_until_end(*worker, [](const Incoming&) { return Status(); }), on_lost == OnLost::retry ? 1 : 0);
    }
  });
}

TEST(Tasks, ALostWorkersTaskIsHandedBack) {
  lose_a_worker(OnLost::fail, Code::peer_lost);
}

TEST(Tasks, ALostWorkersTaskIsDoneByAnother) {
  lose_a_worker(OnLost::retry, Code::ok);
}

TEST(Tasks, AWorkerThatOpensWhileItsCouplerIsLostIsNotToldThatNoTaskComes) {
  run_programs({{"coupler", 1}, {"solver", 1}}, [](const std::string& program, Rank& rank) {
    if (program == "coupler") return;
    rank.environment.gone_ = 0;
    auto worker = open_worker(rank);
    Incoming task;
    EXPECT_EQ(worker->next({}, soon(), task).code(), Code::peer_lost);
    rank.environment.gone_ = -1;
    worker->returned(0);
    EXPECT_EQ(worker->next({}, 0, task).code(), Code::not_yet);
  });
}

// Fault: a coupler that had closed and left before it heard of a worker was said to be lost.
TEST(Tasks, ACouplerThatHasLeftInGoodOrderIsNotLost) {
  run_programs({{"coupler", 1}, {"solver", 1}}, [](const std::string& program, Rank& rank) {
    if (program == "coupler") return;
    auto worker = open_worker(rank);
    rank.environment.gone_ = 0;
    rank.environment.has_left_ = true;
    worker->lost(0, fail(Code::peer_lost, "program 'coupler' rank 0 has left"));
    Incoming task;
    EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
  });
}

TEST(Tasks, WorkersAndRequestsThatComeAfterTheCouplerHasClosedAreTurnedAway) {
  std::atomic<bool> closed{false};
  std::atomic<int> told{0};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "coupler") {
      ASSERT_FINE(open_coupler(rank)->close());
      closed = true;
      while (told < 2) {
        rank.party.engine->poll();
      }
      return;
    }
    while (!closed) {
      std::this_thread::yield();
    }
    if (program == "work") {
      Incoming task;
      EXPECT_EQ(open_worker(rank)->next({}, soon(), task).code(), Code::end);
    } else {
      const Status status = open_requester(rank)->submit(any_worker, {}, soon(), nullptr);
      EXPECT_EQ(status.code(), Code::peer_lost) << status.text();
      EXPECT_NE(status.text().find("rank 1 no longer dispatches tasks"), std::string::npos) << status.text();
    }
    ++told;
  });
}

// The message was longer than its reader accepts, and was dropped there. The requester waited for ever.
TEST(Tasks, ATextThatIsTooLongForAMessageLosesItsEnd) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"worker", 1}}, [](const std::string& program, Rank& rank) {
    const std::string text = std::string(wire::largest_task_message_text - 11, 'x') + "\u00e9 and so on";
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(0, {}, soon(), &task));
      const Status status = tasks->wait(&task, soon());
      EXPECT_EQ(status.code(), Code::limit);
      EXPECT_LE(status.text().size(), wire::largest_task_message_text);
      EXPECT_NE(status.text().find("xxx ... (cut)"), std::string::npos) << status.text().substr(65000);
      ASSERT_FINE(tasks->close());
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Incoming task;
      ASSERT_FINE(coupler->next(soon(), task));
      ASSERT_FINE(coupler->complete(task.id, {Code::limit, text}));
      EXPECT_EQ(coupler->next(soon(), task).code(), Code::end);
    }
  });
}

// Fault: a worker whose group has several ranks kept the task, and its requester waited.
TEST(Tasks, ATextThatIsTooLongIsCutInAGroupOfWorkers) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"worker", 2}}, [](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      const Status status = tasks->wait(&task, soon());
      EXPECT_EQ(status.code(), Code::limit);
      EXPECT_NE(status.text().find("xxx ... (cut)"), std::string::npos) << status.text().substr(0, 200);
    } else if (program == "coupler") {
      ASSERT_FINE(open_coupler(rank)->run(soon()));
    } else {
      auto worker = open_worker(rank);
      Incoming task;
      ASSERT_FINE(worker->next({}, soon(), task));
      const std::string text(wire::largest_task_message_text + 1, 'x');
      ASSERT_FINE(worker->complete(rank.party.rank() == 3 ? Status(Code::limit, text) : Status()));
      EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
    }
  });
}

TEST(Tasks, AMessageThatMakesNoSenseEndsTheWaitForItsSender) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"worker", 1}}, [](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(0, {}, soon(), &task));
      const Status status = tasks->wait(&task, soon());
      EXPECT_EQ(status.code(), Code::peer_lost);
      EXPECT_NE(status.text().find("rank 1 has sent a task message that cannot be decoded"), std::string::npos)
          << status.text();
      EXPECT_EQ(tasks->submit(0, {}, soon(), &task).code(), Code::protocol);
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      Incoming task;
      ASSERT_FINE(coupler->next(soon(), task));
      auto& messenger = *rank.party.messenger;
      const std::uint32_t context = message::internal_context | 0x7461736B;  // the context of messages
      ASSERT_FINE(messenger.send_internal(messenger.groups().universe(), context, "no message", 0, 0));
    }
  });
}

TEST(Tasks, MisuseIsAnError) {
  std::atomic<int> ended{0};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 3}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      EXPECT_EQ(Requester::open(rank.mailbox, "t", "nobody").code(), Code::not_found);
      auto tasks = open_requester(rank);
      EXPECT_EQ(Requester::open(rank.mailbox, "t", "coupler").code(), Code::exists);
      EXPECT_EQ(tasks->submit(2, {{}, nullptr, 3, COUPLET_DOUBLE}, soon(), nullptr).code(), Code::argument);
      EXPECT_EQ(tasks->submit(2, {{}, nullptr, 0, 99}, soon(), nullptr).code(), Code::type);
      EXPECT_EQ(tasks->submit(-9, {}, soon(), nullptr).text(),
                "tasks 't': -9 is no worker id; they are numbers from 0 on, and -1 stands for any");
      const std::vector<std::int64_t> many(most_parameters + 1);
      EXPECT_EQ(tasks->submit(2, {many}, soon(), nullptr).code(), Code::limit);
      ASSERT_FINE(tasks->close());
      EXPECT_EQ(tasks->submit(2, {}, soon(), nullptr).code(), Code::state);
    } else if (program == "coupler") {
      EXPECT_EQ(Coupler::open(rank.mailbox, "t", "coupler", {}).code(), Code::argument);
      auto coupler = open_coupler(rank);
      EXPECT_EQ(coupler->complete(7, {}).code(), Code::state);
      EXPECT_EQ(coupler->dispatch(7, 2).code(), Code::state);
      ASSERT_FINE(coupler->run(soon()));
      // Workers may come after the end, and here no membership would report that this rank has left.
      while (ended < 3) {
        rank.party.engine->poll();
      }
    } else {
      EXPECT_EQ(Worker::open(rank.mailbox, "t", "coupler", {-1, 2}).code(), Code::argument);
      auto worker = open_worker(rank);
      EXPECT_EQ(worker->complete({}).code(), Code::state);
      Incoming task;
      EXPECT_EQ(worker->next({}, soon(), task).code(), Code::end);
      ++ended;
    }
  });
}

}  // namespace
}  // namespace couplet::task
