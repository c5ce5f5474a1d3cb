#include "engine/crowd.hpp"

namespace couplet::engine {
namespace {

constexpr double weight = 0.25;            // of the newest sample
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
  crowded_ = load.restricted ? crowded_on_some_cores(load, passed_ns) : crowded_on_host(load);
}

// A process that spins counts as running. While we do not, one more would run if we did: it must find a core, too.
bool Crowd::crowded_on_host(const Load& load) noexcept {
  if (load.runnable < 0) return crowded_;
  average_ = average_ < 0 ? load.runnable : average_ + weight * (load.runnable - average_);
  return average_ > load.cores - (crowded_ ? 1 : 0) + margin;
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
