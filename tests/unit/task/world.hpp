// A universe of threads for tasks and areas: one party for each rank, programs by name, and shared memory between them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/parties.hpp"
#include "support/temporary_directory.hpp"
#include "task/area.hpp"
#include "task/coupler.hpp"
#include "task/requester.hpp"
#include "task/worker.hpp"

namespace couplet::task {

class TestEnvironment final : public Environment {
 public:
  TestEnvironment(test::Party& party, const std::vector<universe::ProgramInfo>& programs, std::string directory)
      : party_(party), programs_(programs), directory_(std::move(directory)) {}
  message::Messenger& messenger() noexcept override { return *party_.messenger; }
  engine::Engine& engine() noexcept override { return *party_.engine; }
  [[nodiscard]] channel::PeerId self() const noexcept override { return static_cast<channel::PeerId>(party_.rank()); }
  [[nodiscard]] const std::vector<universe::ProgramInfo>& programs() const noexcept override { return programs_; }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return fmt::format("rank {}", peer); }
  [[nodiscard]] const std::string& node_directory() const noexcept override { return directory_; }
  [[nodiscard]] std::uint16_t node() const noexcept override { return node_; }
  // As that of the runtime does, it waits for an answer, and lets the process make progress meanwhile.
  [[nodiscard]] bool gone(channel::PeerId peer) override {
    if (gone_ != static_cast<int>(peer)) return false;
    if (!engine().is_polling()) engine().look_at_all();
    if (while_asking_) while_asking_();
    return true;
  }
  [[nodiscard]] bool is_lost(channel::PeerId peer) const override {
    return gone_ == static_cast<int>(peer) && !has_left_;
  }
  [[nodiscard]] bool has_left(channel::PeerId peer) const override {
    return gone_ == static_cast<int>(peer) && has_left_;
  }
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override {
    if (gone_ == static_cast<int>(peer) || incarnation != this->incarnation(peer)) {
      return fail(Code::peer_lost, "rank {} is lost", peer);
    }
    return {};
  }
  [[nodiscard]] std::uint16_t incarnation(channel::PeerId peer) const noexcept override {
    return restarted_ == static_cast<int>(peer) ? 1 : 0;
  }

  int gone_ = -1;
  bool has_left_ = false;  // the one that is gone, in good order
  int restarted_ = -1;
  std::function<void()> while_asking_;
  std::uint16_t node_ = 0;

 private:
  test::Party& party_;
  const std::vector<universe::ProgramInfo>& programs_;
  std::string directory_;
};

// The objects of one rank.
struct Rank {
  test::Party& party;
  TestEnvironment environment;
  Mailbox mailbox;
  Rank(test::Party& own, const std::vector<universe::ProgramInfo>& programs, const std::string& directory,
       std::uint64_t max_kept_bytes)
      : party(own), environment(own, programs, directory), mailbox(environment, max_kept_bytes) {}
};

// Runs body(program's name, rank) in a thread for each rank of, for example, {{"sim", 1}, {"coupler", 1}}. A rank whose
// body has ended answers messages until all have ended, since no membership tells the others here that a rank has left.
inline void run_programs(const std::vector<std::pair<std::string, int>>& sizes,
                         const std::function<void(const std::string&, Rank&)>& body,
                         std::uint64_t max_kept_bytes = Mailbox::largest_kept_bytes,
                         test::LaneKind lanes = test::LaneKind::shm) {
  std::vector<universe::ProgramInfo> programs;
  int all = 0;
  for (const auto& [name, size] : sizes) {
    programs.push_back({name, size, all, true});
    all += size;
  }
  test::TemporaryDirectory directory;
  test::Parties parties(lanes, all);
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int rank = 0; rank < all; ++rank) {
    ranks.push_back(std::make_unique<Rank>(parties[rank], programs, directory.path(), max_kept_bytes));
  }
  std::atomic<int> ended{0};
  parties.run([&](test::Party& party) {
    for (const auto& program : programs) {
      if (party.rank() >= program.first_rank && party.rank() < program.first_rank + program.size) {
        body(program.name, *ranks[static_cast<std::size_t>(party.rank())]);
      }
    }
    for (++ended; ended < all;) {
      party.engine->poll();
    }
  });
}

inline std::uint64_t soon() {
  return os::deadline_after(30);
}

// Each opens the tasks "t" in this rank.
inline CouplerOptions for_sim() {
  CouplerOptions options;
  options.requesters = {"sim"};
  return options;
}

inline std::unique_ptr<Requester> open_requester(Rank& rank) {
  auto made = Requester::open(rank.mailbox, "t", "coupler");
  EXPECT_TRUE(made) << made.status().text();
  return std::move(made).value();
}
inline std::unique_ptr<Coupler> open_coupler(Rank& rank, CouplerOptions options = for_sim()) {
  auto made = Coupler::open(rank.mailbox, "t", "coupler", std::move(options));
  EXPECT_TRUE(made) << made.status().text();
  return std::move(made).value();
}
inline std::unique_ptr<Worker> open_worker(Rank& rank, WorkerOptions options = {}) {
  auto made = Worker::open(rank.mailbox, "t", "coupler", options);
  EXPECT_TRUE(made) << made.status().text();
  return std::move(made).value();
}

// Takes tasks until the end, and counts them.
inline int work_until_end(
    Worker& worker, const std::function<Status(const Incoming&)>& work = [](const Incoming&) { return Status(); }) {
  int count = 0;
  for (;;) {
    Incoming task;
    const Status status = worker.next({}, soon(), task);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::end) << status.text();
      return count;
    }
    ++count;
    EXPECT_TRUE(worker.complete(work(task)).ok());
  }
}

// Waits as a process that makes no call.
inline void wait_without_call(const std::atomic<bool>& condition) {
  while (!condition) {
    std::this_thread::yield();
  }
}

template <typename Condition>
void poll_until(Rank& rank, const Condition& condition) {
  while (!condition()) {
    rank.party.engine->poll();
  }
}
inline void poll_for(Rank& rank, double seconds) {
  poll_until(rank, [until_ns = os::deadline_after(seconds)] { return os::now_ns() >= until_ns; });
}

// Returns a message for the tasks "t", for a rank that says only what the test says.
inline wire::TaskMessage of_kind(wire::TaskMessageKind kind, Rank& rank) {
  wire::TaskMessage message;
  message.kind = kind;
  message.space = space_of("tasks", "t");
  message.number = rank.mailbox.next_number();
  return message;
}

#define ASSERT_FINE(expression)              \
  do {                                       \
    const Status fine_ = (expression);       \
    ASSERT_TRUE(fine_.ok()) << fine_.text(); \
  } while (false)

}  // namespace couplet::task
