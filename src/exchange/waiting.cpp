#include "exchange/waiting.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "os/futex.hpp"

namespace couplet::exchange {
namespace {

constexpr int polls_between_clocks = 16;
constexpr int waits_between_trials = 64;
constexpr int max_credit = 16;
constexpr std::uint64_t max_yield_ns = 20'000;
// While it sleeps on a futex, nothing else wakes this process: messages of others wait as long.
constexpr std::uint64_t min_nap_ns = 1'000'000;
constexpr std::uint64_t max_nap_ns = 10'000'000;
// The nap if something has to be polled that wakes nobody.
constexpr std::uint64_t short_nap_ns = 50'000;
constexpr std::uint64_t peers_look_interval_ns = 5'000'000;

}  // namespace

bool YieldHabit::may_yield() noexcept {
  if (credit_ > 0) return true;
  if (++waits_without_ < waits_between_trials) return false;
  waits_without_ = 0;  // conditions change, so it is tried again
  credit_ = 1;
  return true;
}

void YieldHabit::helped() noexcept {
  credit_ = std::min(max_credit, credit_ + 4);
}

Status Waiting::slowly(const std::function<Progress()>& advance, Method& method, const std::function<Status()>& news,
                       std::uint64_t deadline_ns, const std::function<std::string()>& what) {
  const std::uint64_t start_ns = os::now_ns();
  std::uint64_t now_ns = start_ns;
  std::uint64_t idle_ns = start_ns;  // since then, nothing has slept
  std::uint64_t looked_ns = start_ns;
  const bool yields = yields_.may_yield();
  bool has_yielded = false;
  nap_ns_ = min_nap_ns;
  while (true) {
    for (int poll = 0; poll < polls_between_clocks; ++poll) {
      if (advance() != Progress::waiting) {
        if (has_yielded) yields_.helped();
        return {};
      }
      if (has_yielded) break;
      os::pause();
    }
    now_ns = os::now_ns();
    if (now_ns >= deadline_ns) {
      // A caller that gives no time, again and again, relies on it that each call does what can be done.
      engine_.look_at_all();
      if (advance() != Progress::waiting) return {};
      COUPLET_TRY(news());
      return fail(Code::timeout, "waited {:.3g} s for {}", static_cast<double>(now_ns - start_ns) * 1e-9, what());
    }
    if (now_ns - looked_ns >= peers_look_interval_ns) {
      looked_ns = now_ns;
      engine_.look_at_all();
      COUPLET_TRY(news());
    }
    if (engine_.interrupted(now_ns)) {
      return engine_.ending() == engine::Ending::none ? Status(Code::interrupted) : engine::error_of(engine_.ending());
    }
    const std::uint64_t spin_ns = engine_.spin_ns();
    if (now_ns - idle_ns < spin_ns) continue;
    if (yields && now_ns - idle_ns < spin_ns + max_yield_ns) {
      has_yielded = true;
      ::sched_yield();
      continue;
    }
    if (std::exchange(has_yielded, false)) yields_.did_not_help();
    COUPLET_TRY(nap(advance, method, now_ns, deadline_ns));
    COUPLET_TRY(news());
    looked_ns = idle_ns = os::now_ns();
  }
}

// Sleeps until the method can do something, and for a bounded time. Others are polled before.
Status Waiting::nap(const std::function<Progress()>& advance, Method& method, std::uint64_t now_ns,
                    std::uint64_t deadline_ns) {
  engine_.look_at_all();
  Sleep sleep;
  if (!method.before_sleep(sleep)) return {};
  struct After {
    Method& method;
    ~After() { method.after_sleep(); }
  } after{method};
  if (sleep.word != nullptr) {
    const std::uint64_t longest_ns = sleep.may_block ? nap_ns_ : short_nap_ns;
    const auto& word = *static_cast<const std::atomic<std::uint32_t>*>(sleep.word);
    os::FutexWait woken = os::FutexWait::changed;
    engine_.sleep_elsewhere(
        [&] { woken = os::futex_wait(word, sleep.expected, std::min(longest_ns, deadline_ns - now_ns)); });
    nap_ns_ = woken == os::FutexWait::timed_out ? std::min(2 * nap_ns_, max_nap_ns) : min_nap_ns;
    return {};
  }
  const std::uint64_t until_ns =
      sleep.may_block ? std::min(deadline_ns, now_ns + max_nap_ns) : std::min(deadline_ns, now_ns + short_nap_ns);
  const Status waited = engine_.wait([&] { return advance() != Progress::waiting; }, until_ns,
                                     [] { return std::string(); }, nullptr, true);
  return waited.code() == Code::timeout ? Status() : waited;
}

}  // namespace couplet::exchange
