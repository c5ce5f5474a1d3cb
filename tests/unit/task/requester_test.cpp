// What a requester keeps and does if its coupler does not answer.
#include "task/requester.hpp"

#include "world.hpp"

namespace couplet::task {
namespace {

// Stands for a coupler: answers what it hears of withdrawals, and counts the requests.
class CountedRequests final : public Listener {
 public:
  explicit CountedRequests(Rank& rank, bool takes = false) : rank_(rank), takes_(takes) {}
  void message(channel::PeerId source, wire::TaskMessage message) override {
    const bool is_request = message.kind == wire::TaskMessageKind::submit;
    count += is_request ? 1 : 0;
    if (message.kind == wire::TaskMessageKind::withdraw || (is_request && takes_)) {
      message.kind = is_request ? wire::TaskMessageKind::taken : wire::TaskMessageKind::heard;
      message.code = 0;
      EXPECT_TRUE(rank_.mailbox.send(source, message).ok());
    }
  }
  void lost(channel::PeerId /*peer*/, const Status& /*why*/) override {}
  int count = 0;

 private:
  Rank& rank_;
  bool takes_;
};

// Fault: the requester kept a copy of each request that it had given up until the coupler made a call.
TEST(Tasks, RequestsThatWereGivenUpTakeABoundedAmountOfMemory) {
  std::atomic<bool> given_up{false};
  std::atomic<int> done{0};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      const std::vector<std::byte> large(3 << 20);
      const Content content{.payload = large.data(), .count = large.size()};
      for (int count = 0; count < 10; ++count) {
        const Status status = tasks->submit(any_worker, content, os::deadline_after(0.05), nullptr);
        EXPECT_EQ(status.code(), Code::timeout);
        EXPECT_NE(status.text().find("rank 1 has not taken the request"), std::string::npos) << status.text();
        EXPECT_LE(rank.party.messenger->pending(), 4U);  // of it, the first request and the receive of the mailbox
      }
      given_up = true;
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, content, soon(), &task));
      ASSERT_FINE(tasks->wait(&task, soon()));
      ASSERT_FINE(tasks->close());
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      wait_without_call(given_up);
      ASSERT_FINE(coupler->run(soon()));
    } else {
      done = work_until_end(*open_worker(rank));
    }
  });
  EXPECT_EQ(done, 1);
}

// Fault: of so many requests, those from the 32nd on were done all the same, and a coupler did not hear that the tasks
// are closed: there was no room for the withdrawals, and the requester made no further call.
TEST(Tasks, ManyRequestsThatWereGivenUpAreNotDone) {
  std::atomic<bool> closed{false};
  std::atomic<bool> ended{false};
  std::atomic<int> done{0};
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      for (int count = 0; count < 100; ++count) {
        EXPECT_EQ(tasks->submit(any_worker, {}, os::deadline_after(0.002), nullptr).code(), Code::timeout);
      }
      ASSERT_FINE(tasks->close());
      closed = true;
      wait_without_call(ended);
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      wait_without_call(closed);
      EXPECT_TRUE(coupler->run(os::deadline_after(5)).ok());
      ended = true;
    } else {
      done = work_until_end(*open_worker(rank));
    }
  });
  EXPECT_EQ(done, 0);
}

// Fault: a request and its withdrawal waited in the requester for the connection to a coupler that made no call. The
// coupler then got the request first, and gave it to a worker.
TEST(Tasks, ARequestIsNotSentBeforeItsCouplerHasAnswered) {
  std::atomic<bool> given_up{false};
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      EXPECT_EQ(tasks->submit(any_worker, {}, os::deadline_after(0.05), nullptr).code(), Code::timeout);
      given_up = true;
      Task* task = nullptr;
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      is_over = true;
    } else {
      CountedRequests requests(rank, true);
      ASSERT_FINE(rank.mailbox.listen(space_of("tasks", "t"), requests));
      wait_without_call(given_up);
      poll_until(rank, [&] { return is_over.load(); });
      EXPECT_EQ(requests.count, 1);
      rank.mailbox.forget(space_of("tasks", "t"));
    }
  });
}

// A coupler that has not opened the tasks answers, too.
TEST(Tasks, ACouplerThatHasNotOpenedThemHearsOfWhatWasGivenUp) {
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      for (int count = 0; count < 20; ++count) {
        EXPECT_EQ(tasks->submit(any_worker, {}, os::deadline_after(0.002), nullptr).code(), Code::timeout);
        poll_for(rank, 0.01);
      }
      is_over = true;
    } else {
      CountedRequests requests(rank);
      poll_until(rank, [&] { return is_over.load(); });
      ASSERT_FINE(rank.mailbox.listen(space_of("tasks", "t"), requests));
      EXPECT_EQ(requests.count, 0);
      rank.mailbox.forget(space_of("tasks", "t"));
    }
  });
}

// Fault: the task was concluded, and offered again, so that it was done twice.
TEST(Tasks, NewsOfTheLifeBeforeEndsNoRequestToTheNextOne) {
  run_programs({{"sim", 1}, {"coupler", 1}, {"work", 1}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      rank.environment.restarted_ = 1;
      Task* task = nullptr;
      // The second life is asked before the news of the first one are told.
      rank.mailbox.lost(1, fail(Code::peer_lost, "rank 1 is lost"));
      rank.mailbox.returned(1);
      ASSERT_FINE(tasks->submit(any_worker, {}, soon(), &task));
      EXPECT_TRUE(tasks->wait(&task, soon()).ok());
      ASSERT_FINE(tasks->close());
    } else if (program == "coupler") {
      auto coupler = open_coupler(rank);
      EXPECT_TRUE(coupler->run(soon()).ok());
    } else {
      EXPECT_EQ(work_until_end(*open_worker(rank)), 1);
    }
  });
}

// Fault: the request was offered to another coupler, although the first one may have given it out.
TEST(Tasks, ARequestThatACouplerMayHaveTakenIsNotOfferedToAnother) {
  std::atomic<bool> is_over{false};
  run_programs({{"sim", 1}, {"coupler", 2}}, [&](const std::string& program, Rank& rank) {
    if (program == "sim") {
      auto tasks = open_requester(rank);
      const Status status = tasks->submit(any_worker, {}, soon(), nullptr);
      EXPECT_EQ(status.code(), Code::peer_lost);
      EXPECT_NE(status.text().find("rank 1 has sent a task message that cannot"), std::string::npos) << status.text();
      EXPECT_EQ(tasks->submit(any_worker, {}, os::deadline_after(0.05), nullptr).code(), Code::timeout);
      is_over = true;
    } else if (rank.environment.self() == 1) {
      auto& messenger = *rank.party.messenger;
      CountedRequests requests(rank);
      ASSERT_FINE(rank.mailbox.listen(space_of("tasks", "t"), requests));
      poll_until(rank, [&] { return requests.count > 0; });
      ASSERT_FINE(messenger.send_internal(messenger.groups().universe(), message::internal_context | 0x7461736B,
                                          "no message", 0, 0));
      poll_until(rank, [&] { return is_over.load(); });
      rank.mailbox.forget(space_of("tasks", "t"));
    } else {
      CountedRequests requests(rank);
      ASSERT_FINE(rank.mailbox.listen(space_of("tasks", "t"), requests));
      poll_until(rank, [&] { return is_over.load(); });
      EXPECT_EQ(requests.count, 1);
      rank.mailbox.forget(space_of("tasks", "t"));
    }
  });
}

}  // namespace
}  // namespace couplet::task
