#include "os/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/clock.hpp"

namespace couplet::os {

FutexWait futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::uint64_t timeout_ns) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  timespec timeout{};
  timespec* limit = nullptr;
  if (timeout_ns != never) {
    timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000U);
    timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000U);
    limit = &timeout;
  }
  if (::syscall(SYS_futex, &word, FUTEX_WAIT, expected, limit, nullptr, 0) == 0) {
    return FutexWait::woken;
  }
  switch (errno) {
    case EAGAIN:
      return FutexWait::changed;
    case ETIMEDOUT:
      return FutexWait::timed_out;
    default:
      return FutexWait::interrupted;
  }
}

int futex_wake(std::atomic<std::uint32_t>& word, int most) noexcept {
  const long woken = ::syscall(SYS_futex, &word, FUTEX_WAKE, most, nullptr, nullptr, 0);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace couplet::os
