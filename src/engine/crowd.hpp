// Crowd: do more processes of the universe run on this node than it has cores? Spinning helps only if they do not:
// otherwise it takes the core from the very process that is awaited. What counts is how many run, not how many exist: a
// peer that sleeps, or is blocked elsewhere, needs no core. Other programs of the host are no reason not to spin: a
// process that sleeps beside them gets its core back late. Pure but for the `Load` that is given; tests:
// tests/unit/engine/crowd_test.cpp.
#pragma once

#include <cstdint>
#include <functional>

namespace couplet::engine {

// What the system says about the cores that this process may use.
struct Load {
  int processes = 1;           // of the universe on this node, whatever they do
  int usable_cores = 1;        // by this process
  int runnable = -1;           // processes and threads of this host that run or want to; < 0: not known
  int cores = 1;               // of this host
  bool restricted = false;     // this process may not use all of them
  std::uint64_t delay_ns = 0;  // for how long this thread has waited for a core since it began
};

class Crowd {
 public:
  using Measure = std::function<Load()>;
  // The system is asked no more often.
  static constexpr std::uint64_t period_ns = 5'000'000;

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
  [[nodiscard]] bool crowded_on_host(const Load& load) noexcept;
  [[nodiscard]] bool crowded_on_some_cores(const Load& load, std::uint64_t passed_ns) noexcept;

  Measure measure_;
  std::uint64_t last_ns_ = 0;
  double average_ = -1;
  std::uint64_t last_delay_ns_ = 0;
  int calm_periods_ = 0;
  bool crowded_ = false;
};

}  // namespace couplet::engine
