// Decides when to dial a lost hub again: soon at first, then after growing pauses. Each process has times of its own,
// so that ten thousand processes do not dial in the same moment. Pure. Tests: tests/unit/universe/redial_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "os/clock.hpp"

namespace couplet::universe {

inline constexpr std::uint64_t min_redial_pause_ns = 50'000'000;
inline constexpr std::uint64_t max_redial_pause_ns = 1'000'000'000;

class Redial {
 public:
  // seed: different for each process.
  explicit Redial(std::uint64_t seed = 0) noexcept : state_(seed * 2 + 1) {}

  // The connection to the hub was lost, or could not be made.
  void failed(std::uint64_t now_ns) noexcept {
    const auto pause = pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, max_redial_pause_ns);
    next_ns_ = now_ns + pause / 2 + random() % pause;
    looked_ns_ = now_ns;
  }
  // The next call is due at once: this process makes too few calls to wait for the pause.
  void hurry() noexcept { next_ns_ = std::min<std::uint64_t>(next_ns_, 1); }
  // Returns the time since the last call of this. Calls that would wait for a hub that is away ask it.
  [[nodiscard]] std::uint64_t since_last_call(std::uint64_t now_ns) noexcept {
    return now_ns - std::exchange(called_ns_, now_ns);
  }
  // Called at each tick while there is no connection.
  void looked(std::uint64_t now_ns) noexcept { looked_ns_ = now_ns; }
  [[nodiscard]] bool due(std::uint64_t now_ns) const noexcept { return now_ns >= next_ns_; }
  // A call is under way, until failed() or reached().
  void dialed() noexcept { next_ns_ = os::never; }
  // Returns true if the process was busy, or made no call, for so long that it could neither dial nor hear the answer
  // to a dial.
  [[nodiscard]] bool overdue(std::uint64_t now_ns) const noexcept {
    return now_ns > looked_ns_ && now_ns - looked_ns_ >= 2 * max_redial_pause_ns;
  }
  // The connection was made again.
  void reached() noexcept { pause_ns_ = min_redial_pause_ns; }

 private:
  std::uint64_t random() noexcept {  // xorshift
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  std::uint64_t state_;
  std::uint64_t pause_ns_ = min_redial_pause_ns;
  std::uint64_t next_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t called_ns_ = 0;
};

}  // namespace couplet::universe
