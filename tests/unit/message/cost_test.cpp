// What a message may cost: no allocation, no system call and few instructions if it is short, few system calls if it is
// large.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "memory.hpp"
#include "support/parties.hpp"
#include "support/system_calls.hpp"

namespace couplet::message {
namespace {

// One thread, both ends: what is sent has arrived when it is received.
struct Cost : ::testing::Test {
  test::LaneMessengers world{test::LaneKind::shm, 2};
  std::uint64_t sent = 1;
  std::uint64_t got = 0;

  bool exchange() {
    bool good = true;
    for (const int from : {0, 1}) {
      Messenger& sender = world[from];
      Messenger& receiver = world[1 - from];
      good = good && sender.send(sender.groups().universe(), &sent, 1, COUPLET_UINT64, 1 - from, 0).ok();
      good = good && receiver.recv(receiver.groups().universe(), &got, 1, COUPLET_UINT64, from, 0, nullptr).ok();
      good = good && got == sent;
      ++sent;
    }
    return good;
  }
};

TEST_F(Cost, AShortMessageAllocatesNothing) {
  ASSERT_TRUE(exchange());
  const std::uint64_t before = test::allocation_count();
  bool good = true;
  for (int round = 0; round < 100000; ++round) good = exchange() && good;
  EXPECT_TRUE(good);
  EXPECT_EQ(test::allocation_count(), before);
}

TEST_F(Cost, AShortNonBlockingMessageAllocatesNothing) {
  const auto once = [this] {
    Request* requests[2] = {};
    bool good = world[1].irecv(world[1].groups().universe(), &got, 1, COUPLET_UINT64, 0, 0, &requests[0]).ok();
    good = good && world[0].isend(world[0].groups().universe(), &sent, 1, COUPLET_UINT64, 1, 0, &requests[1]).ok();
    return good && world[1].wait(&requests[0], os::never, nullptr).ok() &&
           world[0].wait(&requests[1], os::never, nullptr).ok();
  };
  ASSERT_TRUE(once());
  const std::uint64_t before = test::allocation_count();
  bool good = true;
  for (int round = 0; round < 10000; ++round) good = once() && good;
  EXPECT_TRUE(good);
  EXPECT_EQ(test::allocation_count(), before);
}

TEST_F(Cost, AShortMessageCallsTheSystemForNothing) {
  ASSERT_TRUE(exchange());
  bool good = true;
  const auto calls = test::system_calls_of([&] {
    for (int round = 0; round < 50; ++round) good = exchange() && good;  // fewer than between two looks at sockets
  });
  if (!calls) GTEST_SKIP() << "this kernel does not tell about system calls";
  EXPECT_TRUE(good);
  EXPECT_EQ(*calls, 0);
}

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A child of this process that runs `work` between two stops, so that its steps can be counted.
class TracedChild {
 public:
  explicit TracedChild(const std::function<bool()>& work) : process_(::fork()) {
    if (process_ == 0) {
      ::alarm(120);
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(no_tracing);
      ::raise(SIGSTOP);
      const bool good = work();
      ::raise(SIGSTOP);
      ::_exit(good ? 0 : 1);
    }
  }
  ~TracedChild() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
  }
  TracedChild(const TracedChild&) = delete;
  TracedChild& operator=(const TracedChild&) = delete;

  // Stops of the work if it is continued by `request` (PTRACE_SINGLESTEP: each instruction, PTRACE_SYSCALL: the begin
  // and the end of each call of the system). -1: tracing is not allowed here.
  int stops(__ptrace_request request) {
    int status = 0;
    if (::waitpid(process_, &status, 0) != process_ || !WIFSTOPPED(status)) return ended(status);
    for (int count = 0;; ++count) {
      EXPECT_EQ(::ptrace(request, process_, nullptr, nullptr), 0);
      if (::waitpid(process_, &status, 0) != process_ || !WIFSTOPPED(status)) return ended(status);
      if (WSTOPSIG(status) == SIGSTOP) {
        ::ptrace(PTRACE_CONT, process_, nullptr, nullptr);
        ::waitpid(process_, &status, 0);
        ended(status);
        return count;
      }
    }
  }

 private:
  static constexpr int no_tracing = 77;

  int ended(int status) {
    process_ = -1;
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == no_tracing)) << status;
    return -1;
  }
  pid_t process_;
};

// What raise() itself takes is left out. -1: tracing is not allowed here.
int stops_of(const std::function<bool()>& work, __ptrace_request request) {
  const int with = TracedChild(work).stops(request);
  const int without = TracedChild([] { return true; }).stops(request);
  return with < 0 || without < 0 ? -1 : with - without;
}

// Messages became slower, and no test noticed. Ten instructions more do not matter, but a hundred do. The number does
// not depend on the load of the machine.
TEST_F(Cost, AShortMessageTakesFewInstructions) {
  constexpr int max_instructions = 1100;  // gcc 12: 1012
  constexpr int messages = 8;
  for (int round = 0; round < 10; ++round) ASSERT_TRUE(exchange());
  const int count = stops_of(
      [this] {
        bool good = true;
        for (int round = 0; round < messages / 2; ++round) good = exchange() && good;
        return good;
      },
      PTRACE_SINGLESTEP);
  if (count < 0) GTEST_SKIP() << "a process may not be traced here";
  RecordProperty("instructions", count / messages);
  EXPECT_LE(count / messages, max_instructions);
  EXPECT_GE(count / messages, 100);  // it was counted
}

// Fault: each piece of a large message was followed by the question whose memory it was: a third of the rate.
TEST_F(Cost, ALargeMessageAsksOnceWhoseMemoryItIs) {
  constexpr std::size_t bytes = 4U << 20U;
  constexpr int pieces = static_cast<int>(wire::shared_piece_count(bytes));
  const std::vector<std::byte> data(bytes, std::byte{3});
  std::vector<std::byte> copy(bytes);
  const auto pass = [&] {
    Request* sending = nullptr;
    Request* receiving = nullptr;
    bool good = world[0].isend(world[0].groups().universe(), data.data(), bytes, COUPLET_BYTE, 1, 0, &sending).ok();
    good =
        good && world[1].irecv(world[1].groups().universe(), copy.data(), bytes, COUPLET_BYTE, 0, 0, &receiving).ok();
    for (int round = 0; round < 10; ++round) world.poll();
    return good && receiving->done && sending->done;
  };
  ASSERT_TRUE(pass());
  ASSERT_EQ(copy, data);
  const int count = stops_of(pass, PTRACE_SYSCALL);
  if (count < 0) GTEST_SKIP() << "a process may not be traced here";
  // One call for each piece, one to ask whether the process lives, and getpid() of both sides.
  EXPECT_GE(count / 2, pieces);
  EXPECT_LE(count / 2, pieces + 4);
}
#endif

}  // namespace
}  // namespace couplet::message
