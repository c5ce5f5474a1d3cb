#include "os/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

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

void futex_wait_any(std::span<const FutexWord> waits, std::uint64_t timeout_ns) noexcept {
  constexpr std::uint64_t second_ns = 1'000'000'000;
#ifdef SYS_futex_waitv
  std::array<futex_waitv, max_futex_waits> words{};
  const std::size_t count = std::min(waits.size(), words.size());
  for (std::size_t index = 0; index < count; ++index) {
    words[index].val = waits[index].expected;
    words[index].uaddr = reinterpret_cast<std::uintptr_t>(waits[index].word);
    words[index].flags = FUTEX_32;
  }
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const std::uint64_t end_ns = static_cast<std::uint64_t>(until.tv_nsec) + timeout_ns;
  until.tv_sec += static_cast<time_t>(end_ns / second_ns);
  until.tv_nsec = static_cast<long>(end_ns % second_ns);
  if (::syscall(SYS_futex_waitv, words.data(), count, 0, &until, CLOCK_MONOTONIC) >= 0 || errno != ENOSYS) {
    return;
  }
#endif
  constexpr std::uint64_t nap_ns = 1'000'000;
  const std::uint64_t nap = std::min(timeout_ns, nap_ns);
  const timespec duration{static_cast<time_t>(nap / second_ns), static_cast<long>(nap % second_ns)};
  static_cast<void>(::nanosleep(&duration, nullptr));
}

int futex_wake(std::atomic<std::uint32_t>& word, int most) noexcept {
  const long woken = ::syscall(SYS_futex, &word, FUTEX_WAKE, most, nullptr, nullptr, 0);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace couplet::os
