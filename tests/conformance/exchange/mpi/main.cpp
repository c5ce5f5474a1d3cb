// The conformance suite of the methods over MPI: the same checks for every method that the library lists.
//   usage: exchange_methods list | contents | apart | threads | unfinished | left
// Rank 0 prints a line "ok METHOD: PATTERN, ..." for each check. A failure is printed by its rank, and ends the job.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "exchange/mpi/methods.hpp"
#include "os/clock.hpp"
#include "rounds.hpp"
#include "talk.hpp"

namespace {

using couplet::Code;
using couplet::Result;
using couplet::Status;
using couplet::exchange::Job;
using couplet::exchange::Maker;
using couplet::exchange::Method;
using couplet::exchange::Setting;
using couplet::exchange::testing::MpiTalk;
using couplet::exchange::testing::Pattern;
using couplet::exchange::testing::Rounds;

constexpr double patience_s = 60;

struct Self {
  int rank = 0;
  int size = 0;
};

Self self() {
  Self own;
  MPI_Comm_rank(MPI_COMM_WORLD, &own.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &own.size);
  return own;
}

[[noreturn]] void give_up(std::string_view where, std::string_view text) {
  std::fprintf(stderr, "WRONG at rank %d: %.*s: %.*s\n", self().rank, static_cast<int>(where.size()), where.data(),
               static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void require(const Status& status, std::string_view where) {
  if (!status.ok()) {
    give_up(where, status.text());
  }
}

void say(std::string_view method, std::string_view text) {
  if (self().rank == 0) {
    std::printf("ok %.*s: %.*s\n", static_cast<int>(method.size()), method.data(), static_cast<int>(text.size()),
                text.data());
    std::fflush(stdout);
  }
}

Result<std::unique_ptr<Method>> make(Maker& maker, const Pattern& pattern) {
  const Self own = self();
  const auto ports = pattern.ports_of(own.rank, own.size);
  std::vector<std::int32_t> peers;
  peers.reserve(ports.size());
  for (const auto& port : ports) {
    peers.push_back(port.peer);
  }
  MpiTalk talk(MPI_COMM_WORLD, std::move(peers));
  Setting setting;
  setting.rank = own.rank;
  setting.size = own.size;
  setting.ports = ports;
  setting.name = pattern.name;
  setting.deadline_ns = couplet::os::deadline_after(patience_s);
  return maker.make(setting, talk);
}

// The ranks of the job in another order than those of the group. The communicator itself is freed.
std::shared_ptr<Job> open_reversed() {
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -self().rank, &reversed);
  auto job = Job::open(reversed, Job::Threads::one);
  MPI_Comm_free(&reversed);
  require(job.status(), "Job::open");
  return std::move(job).value();
}

// Carries out every pattern with every method. A second method is open beside it for some rounds.
void contents(const std::shared_ptr<Job>& job) {
  const Self own = self();
  for (const auto& maker : couplet::exchange::mpi_methods(job)) {
    for (const Pattern& pattern : couplet::exchange::testing::make_patterns(own.size)) {
      const std::string where = fmt::format("{}: {}", maker->name(), pattern.name);
      auto method = make(*maker, pattern);
      require(method.status(), where);
      auto second = make(*maker, pattern);
      require(second.status(), where);
      const std::uint64_t deadline_ns = couplet::os::deadline_after(patience_s);
      Rounds rounds(**method, pattern, own.rank, own.size, deadline_ns);
      Rounds beside(**second, pattern, own.rank, own.size, deadline_ns);
      require(rounds.run(pattern.rounds / 2), where);
      require(beside.run(3), where);
      require(beside.close(), where);
      second->reset();
      require(rounds.run(pattern.rounds - pattern.rounds / 2), where);
      require(rounds.close(), where);
      std::uint64_t messages = rounds.messages();
      MPI_Allreduce(MPI_IN_PLACE, &messages, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
      say(maker->name(), fmt::format("{}, {} messages, {}", pattern.name, messages,
                                     (*method)->blocks() ? "blocks" : "does not block"));
    }
  }
}

// Every maker must return unsupported at all ranks, with a text that contains `reason`.
void refuse(const std::shared_ptr<Job>& job, std::string_view reason) {
  const Pattern pattern = couplet::exchange::testing::make_patterns(self().size).front();
  for (const auto& maker : couplet::exchange::mpi_methods(job)) {
    const auto method = make(*maker, pattern);
    if (method.code() != Code::unsupported || method.status().text().find(reason) == std::string::npos) {
      give_up(maker->name(), "not refused: " + method.status().text());
    }
    say(maker->name(), "refused, " + method.status().text());
  }
}

// Each rank calls itself a job of its own.
void apart() {
  auto job = Job::open(MPI_COMM_SELF, Job::Threads::one);
  require(job.status(), "Job::open");
  refuse(*job, "has not joined with the same communicator");
}

// Rank 0 makes the methods in a thread that has not initialised MPI, or in a universe of several threads. The caller
// does nothing else meanwhile, so that MPI is not harmed by it.
void threads(const std::shared_ptr<Job>& job) {
  if (self().rank == 0) {
    std::thread([&job] { refuse(job, "not the thread that has initialised MPI"); }).join();
  } else {
    refuse(job, "not the thread that has initialised MPI");
  }
  auto shared = Job::open(MPI_COMM_WORLD, Job::Threads::several);
  require(shared.status(), "Job::open");
  refuse(*shared, "MPI_THREAD_MULTIPLE");
}

// Some methods are left open, some are closed by some ranks only, some are destroyed in the middle of a round: then
// MPI ends, before the last of them; or after it, so that only the job is left.
enum class Last : std::uint8_t { methods, job };
void unfinished(std::shared_ptr<Job> job, Last last) {
  const Self own = self();
  const Pattern pattern = couplet::exchange::testing::make_patterns(own.size).front();
  const std::uint64_t deadline_ns = couplet::os::deadline_after(patience_s);
  std::vector<std::unique_ptr<Method>> left_open;
  for (const auto& maker : couplet::exchange::mpi_methods(job)) {
    for (const std::string_view end : {"open", "closing", "begun", "sent"}) {
      const std::string where = fmt::format("{}: {}", maker->name(), end);
      auto method = make(*maker, pattern);
      require(method.status(), where);
      Rounds rounds(**method, pattern, own.rank, own.size, deadline_ns);
      require(rounds.run(10), where);
      if (end == "open") {
        left_open.push_back(std::move(method).value());
      } else if (end == "closing" && own.rank == 0) {
        require((*method)->close().status(), where);
      } else if (end == "begun" || end == "sent") {
        require(rounds.begin(10), where);
        require(end == "sent" && own.rank == 0 ? rounds.send(10) : Status(), where);
      }
      say(maker->name(), end);
    }
  }
  job.reset();
  if (last == Last::job) {
    left_open.clear();
  }
  MPI_Finalize();
  for (const auto& method : left_open) {
    if (const auto closed = method->close(); !closed.ok() || !*closed || method->begin({}, {}).ok()) {
      std::fprintf(stderr, "WRONG: %s cannot be closed after MPI_Finalize, or can still be used\n",
                   std::string(method->name()).c_str());
      std::exit(1);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view aim = count == 2 ? arguments[1] : "";
  int level = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &level);
  {
    auto job = Job::open(MPI_COMM_WORLD, Job::Threads::one);
    require(job.status(), "Job::open");
    if (aim == "list") {
      for (const auto& maker : couplet::exchange::mpi_methods(*job)) {
        say(maker->name(), "listed");
      }
    } else if (aim == "contents") {
      contents(open_reversed());
    } else if (aim == "apart") {
      apart();
    } else if (aim == "threads") {
      threads(*job);
    } else if (aim == "unfinished" || aim == "left") {
      unfinished(std::move(job).value(), aim == "left" ? Last::job : Last::methods);
      return 0;
    } else {
      give_up("usage", "exchange_methods list | contents | apart | threads | unfinished | left");
    }
  }
  MPI_Finalize();
  return 0;
}
