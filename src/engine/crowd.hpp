// Crowd: do more processes of the universe run on this node than it has cores? Spinning helps only if they do not:
// otherwise it takes the core from the very process that is awaited. What counts is how many run, not how many exist: a
// peer that sleeps, or is blocked elsewhere, needs no core. Other programs of the host are no reason not to spin: a
// process that sleeps beside them gets its core back late. A crowd shows only while they spin, so when one seems to be
// over, spinning is tried, and tried less often each time that it brings the crowd back. Pure but for the `Load` that
// is given; tests: tests/unit/engine/crowd_test.cpp.
#pragma once

#include <cstdint>
#include <functional>

namespace couplet::engine {

// What the system says about the cores that this process may use.
struct Load {
  int processes = 1;           // the universe's processes on this node, whatever they do
  int usable_cores = 1;        // by this process
  int runnable = -1;           // processes and threads of this host that run or want to; < 0: not known
  int cores = 1;               // the cores of this host
  bool restricted = false;     // this process may not use all of them
  std::uint64_t delay_ns = 0;  // for how long this thread has waited for a core since it began
};

class Crowd {
 public:
  using Measure = std::function<Load()>;
  // The shortest time between two questions to the system.
  static constexpr std::uint64_t period_ns = 5'000'000;
  // For how long nobody spins before it is tried, when a crowd was found for the first time, and at most.
  static constexpr std::uint64_t min_pause_ns = 20'000'000;
  static constexpr std::uint64_t max_pause_ns = 2'000'000'000;

  // measure: does not block.
  explicit Crowd(Measure measure) : measure_(std::move(measure)) {}

  // Asks when it is time to.
  void look(std::uint64_t now_ns) {
    if (now_ns - last_ns_ >= period_ns) ask(now_ns);
  }
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }
  // For `couplet explain`.
  [[nodiscard]] double average_runnable() const noexcept { return average_; }

 private:
  void ask(std::uint64_t now_ns);
  [[nodiscard]] bool crowded_on_host(const Load& load, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool crowded_on_some_cores(const Load& load, std::uint64_t passed_ns) noexcept;

  Measure measure_;
  std::uint64_t last_ns_ = 0;
  double average_ = -1;
  std::uint64_t pause_ns_ = min_pause_ns;  // the pause of the present crowd, or the last one
  std::uint64_t changed_ns_ = 0;           // when a crowd began or ended last
  std::uint64_t last_delay_ns_ = 0;
  int calm_periods_ = 0;
  bool crowded_ = false;
};

}  // namespace couplet::engine
