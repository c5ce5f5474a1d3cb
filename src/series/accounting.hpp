// Counts what became of each ordinal: at any moment, published - first = delivered + lost + skipped + pending.
#pragma once

#include <algorithm>
#include <cstdint>

#include "counters/counters.hpp"
#include "series/series.hpp"

namespace couplet::series {

class Accounting {
 public:
  void begin(std::uint64_t first) noexcept { statistics_.first = first; }
  void lose(std::uint64_t steps) noexcept { statistics_.lost += steps; }
  void lose_torn() noexcept {
    ++statistics_.lost;
    ++statistics_.lost_torn;
  }
  void skip(std::uint64_t steps) noexcept { statistics_.skipped += steps; }
  void deliver(std::uint64_t steps, std::uint64_t torn, std::uint64_t bytes) noexcept {
    statistics_.delivered += steps;
    statistics_.delivered_torn += torn;
    statistics_.bytes += bytes;
  }
  // Ends an incarnation. Its `steps` are all accounted for; the next incarnation adds its own to them.
  void pass_incarnation(std::uint64_t steps) noexcept { passed_ += steps; }
  void see(std::uint64_t published, std::uint64_t next) noexcept {
    published = std::max(published, next);
    statistics_.published = passed_ + published;
    statistics_.pending = published - next;
  }
  void count_copying(std::uint64_t time_ns) noexcept { statistics_.copy_ns += time_ns; }
  void count_waiting(std::uint64_t time_ns) noexcept { statistics_.held_ns += time_ns; }
  void count_call(std::uint64_t steps) noexcept {
    ++statistics_.calls;
    statistics_.largest_batch = std::max(statistics_.largest_batch, steps);
  }
  void count_library(std::uint64_t time_ns) noexcept { statistics_.library_ns += time_ns; }
  // Returns the number of steps that were lost since the last call.
  [[nodiscard]] std::uint64_t take_lost() noexcept {
    const std::uint64_t since = statistics_.lost - lost_told_;
    lost_told_ = statistics_.lost;
    return since;
  }
  [[nodiscard]] const Statistics& statistics() const noexcept { return statistics_; }
  // Adds what was counted since the last call to the counters of the process.
  void pass_on(counters::Counters& counters) {
    using counters::Counter;
    const std::uint64_t wait_ns = statistics_.held_ns - told_.held_ns;
    counters.add(Counter::series_steps_delivered, statistics_.delivered - told_.delivered);
    counters.add(Counter::series_bytes_delivered, statistics_.bytes - told_.bytes);
    counters.add(Counter::series_steps_lost, statistics_.lost - told_.lost);
    counters.add(Counter::series_steps_torn, statistics_.lost_torn - told_.lost_torn);
    counters.add(Counter::series_steps_skipped, statistics_.skipped - told_.skipped);
    counters.add(Counter::series_read_wait_ns, wait_ns);
    counters.add(Counter::series_read_ns, statistics_.library_ns - told_.library_ns + wait_ns);
    told_ = statistics_;
  }

 private:
  Statistics statistics_;
  Statistics told_;           // what was added to the counters of the process
  std::uint64_t passed_ = 0;  // number of ordinals of earlier incarnations
  std::uint64_t lost_told_ = 0;
};

}  // namespace couplet::series
