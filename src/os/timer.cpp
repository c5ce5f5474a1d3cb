#include "os/timer.hpp"

#include <sys/timerfd.h>
#include <time.h>

#include <algorithm>

#include "os/error.hpp"
#include "os/ticks.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#else
#include "os/clock.hpp"
#endif

namespace couplet::os {

__attribute__((weak)) std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

Result<std::unique_ptr<Timer>> Timer::open() {
  Descriptor file(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!file) {
    return system_failure(errno, "cannot make a timer");
  }
  return std::unique_ptr<Timer>(new Timer(std::move(file)));
}

void Timer::set(std::uint64_t delay_ns) noexcept {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  const std::uint64_t delay = std::max<std::uint64_t>(delay_ns, 1);
  itimerspec until{};
  until.it_value.tv_sec = static_cast<time_t>(delay / second_ns);
  until.it_value.tv_nsec = static_cast<long>(delay % second_ns);
  // Setting it also takes an expiry that was not read.
  static_cast<void>(::timerfd_settime(file_.number(), 0, &until, nullptr));
}

}  // namespace couplet::os
