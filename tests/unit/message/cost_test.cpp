// What a short message may cost: no allocation, no system call.
#include <gtest/gtest.h>
#include <linux/prctl.h>
#include <sys/prctl.h>

#include <csignal>

#include "memory.hpp"
#include "support/parties.hpp"

namespace {
volatile char system_calls_are = SYSCALL_DISPATCH_FILTER_ALLOW;
volatile std::sig_atomic_t system_calls = 0;

void count_system_call(int /*signal*/) {
  system_calls_are = SYSCALL_DISPATCH_FILTER_ALLOW;  // so that the handler can return; one is enough to fail
  system_calls = system_calls + 1;
}
}  // namespace

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
      good = good && sender.send(sender.universe_group(), &sent, 1, COUPLET_UINT64, 1 - from, 0).ok();
      good = good && receiver.recv(receiver.universe_group(), &got, 1, COUPLET_UINT64, from, 0, nullptr).ok();
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
    bool good = world[1].irecv(world[1].universe_group(), &got, 1, COUPLET_UINT64, 0, 0, &requests[0]).ok();
    good = good && world[0].isend(world[0].universe_group(), &sent, 1, COUPLET_UINT64, 1, 0, &requests[1]).ok();
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
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_handler = count_system_call;
  ASSERT_EQ(::sigaction(SIGSYS, &action, &previous), 0);
  if (::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &system_calls_are) != 0) {
    GTEST_SKIP() << "this kernel does not tell about system calls";
  }
  system_calls_are = SYSCALL_DISPATCH_FILTER_BLOCK;
  bool good = true;
  for (int round = 0; round < 50; ++round) good = exchange() && good;  // fewer than between two looks at sockets
  system_calls_are = SYSCALL_DISPATCH_FILTER_ALLOW;
  ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
  ::sigaction(SIGSYS, &previous, nullptr);
  EXPECT_TRUE(good);
  EXPECT_EQ(system_calls, 0);
}

}  // namespace
}  // namespace couplet::message
