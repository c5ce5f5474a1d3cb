#include "engine/crowd.hpp"

#include <algorithm>

namespace couplet::engine {
namespace {

constexpr double weight = 0.25;            // share of the newest sample in the average
constexpr double margin = 0.5;             // a process that runs now and then is no crowd
constexpr std::uint64_t delay_share = 16;  // more than one part in 16 of the time spent waiting for a core is a crowd
constexpr int min_calm_periods = 20;

}  // namespace

void Crowd::ask(std::uint64_t now_ns) {
  const std::uint64_t passed_ns = last_ns_ == 0 ? 0 : now_ns - last_ns_;
  last_ns_ = now_ns;
  const Load load = measure_();
  if (load.processes <= load.usable_cores) {  // each has a core, whatever else runs on this host
    crowded_ = false;
    average_ = -1;
    return;
  }
  crowded_ = load.restricted ? crowded_on_some_cores(load, passed_ns) : crowded_on_host(load, now_ns);
}

// While nobody spins, the number does not tell whether there would be cores for all if they did: it is asked for by
// processes that are awake, just after they have woken their peers. So a crowd is over for a trial. If the trial brings
// it back, the next one is later, so that processes that do need each other's core lose little time.
bool Crowd::crowded_on_host(const Load& load, std::uint64_t now_ns) noexcept {
  if (load.runnable < 0) return crowded_;
  average_ = average_ < 0 ? load.runnable : average_ + weight * (load.runnable - average_);
  const bool too_many = average_ > load.cores + margin;
  const std::uint64_t unchanged_ns = now_ns - changed_ns_;
  if (too_many == crowded_ || (crowded_ && unchanged_ns < pause_ns_)) return crowded_;
  if (too_many) pause_ns_ = unchanged_ns < max_pause_ns ? std::min(2 * pause_ns_, max_pause_ns) : min_pause_ns;
  changed_ns_ = now_ns;
  return too_many;
}

// Others may be busy on cores that are not ours: what counts is whether this thread had to wait for one. Since nobody
// waits once nobody spins, the calm must last before it is believed.
bool Crowd::crowded_on_some_cores(const Load& load, std::uint64_t passed_ns) noexcept {
  const std::uint64_t delayed_ns = load.delay_ns - last_delay_ns_;
  const bool first = passed_ns == 0;
  last_delay_ns_ = load.delay_ns;
  if (first) return false;
  const bool calm = delayed_ns < passed_ns / delay_share;
  calm_periods_ = calm ? calm_periods_ + 1 : 0;
  return crowded_ ? calm_periods_ < min_calm_periods : !calm;
}

}  // namespace couplet::engine
