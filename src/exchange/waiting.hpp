// Waiting for a method: spins briefly (not at all if more processes run than there are cores), yields while that is
// seen to help, and then sleeps as the method says: on a futex word, in the engine's doorbell, or for bounded naps.
// Exchange and the chooser use it. Tests: tests/conformance/exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/engine.hpp"
#include "exchange/method.hpp"
#include "exchange/rounds.hpp"

namespace couplet::exchange {

// Does yielding help? It does not between processes of different sessions: then it is tried seldom.
class YieldHabit {
 public:
  [[nodiscard]] bool may_yield() noexcept;
  // A wait has ended while it yielded, or has gone on to sleep.
  void helped() noexcept;
  void did_not_help() noexcept { credit_ = credit_ > 0 ? credit_ - 1 : 0; }

 private:
  int credit_ = 4;
  int waits_without_ = 0;
};

class Waiting {
 public:
  // engine outlives the object.
  explicit Waiting(engine::Engine& engine) : engine_(engine) {}

  // Calls `advance` until it returns something else than Progress::waiting, and returns ok then. news: returns an error
  // if a neighbour has failed; it is called now and then. what: the text of a timeout, "waited 5 s for <what>". Returns
  // timeout or interrupted, too.
  template <typename Advance>
  Status until(const Advance& advance, Method& method, const std::function<Status()>& news, std::uint64_t deadline_ns,
               const std::function<std::string()>& what) {
    const int rounds = engine_.spin_ns() == 0 ? 1 : spin_rounds;
    for (int round = 1; round <= rounds; ++round) {
      if (advance() != Progress::waiting) return {};
      if (round % rounds_between_others == 0) engine_.poll_others();
      os::pause();
    }
    return slowly(advance, method, news, deadline_ns, what);
  }

 private:
  static constexpr int spin_rounds = 2000;
  static constexpr int rounds_between_others = 256;

  Status slowly(const std::function<Progress()>& advance, Method& method, const std::function<Status()>& news,
                std::uint64_t deadline_ns, const std::function<std::string()>& what);
  Status nap(const std::function<Progress()>& advance, Method& method, std::uint64_t now_ns, std::uint64_t deadline_ns);

  engine::Engine& engine_;
  YieldHabit yields_;
  std::uint64_t nap_ns_ = 0;
};

}  // namespace couplet::exchange
