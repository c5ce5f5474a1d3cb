#include "support/system_calls.hpp"

#include <linux/prctl.h>
#include <sys/prctl.h>

#include <csignal>

namespace couplet::test {
namespace {

volatile char system_calls_are = SYSCALL_DISPATCH_FILTER_ALLOW;
volatile std::sig_atomic_t system_calls = 0;

void count_system_call(int /*signal*/) {
  system_calls_are = SYSCALL_DISPATCH_FILTER_ALLOW;  // so that the handler can return; one is enough to fail
  system_calls = system_calls + 1;
}

}  // namespace

std::optional<int> system_calls_of(const std::function<void()>& work) {
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_handler = count_system_call;
  system_calls = 0;
  if (::sigaction(SIGSYS, &action, &previous) != 0 ||
      ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &system_calls_are) != 0) {
    return std::nullopt;
  }
  system_calls_are = SYSCALL_DISPATCH_FILTER_BLOCK;
  work();
  system_calls_are = SYSCALL_DISPATCH_FILTER_ALLOW;
  ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
  ::sigaction(SIGSYS, &previous, nullptr);
  return system_calls;
}

}  // namespace couplet::test
