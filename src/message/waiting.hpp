// Waiting for a request: polls the one channel that matters a few times, then calls Engine::wait.
// Invariants: no exception leaves; a channel that lacks memory to take what has come fails by name; a call that may
// spin lets another thread have its turn. Tests: tests/unit/message/wait_test.cpp,
// tests/conformance/message/threads_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"
#include "channel/channels.hpp"
#include "counters/counters.hpp"
#include "engine/engine.hpp"
#include "message/flow.hpp"

namespace couplet::message {

class Waiting {
 public:
  // engine: nullptr if nothing waits. spin_rounds: as MessengerOptions says.
  Waiting(channel::Channels& channels, engine::Engine* engine, int spin_rounds, counters::Counters& counters)
      : channels_(channels), engine_(engine), spin_rounds_(spin_rounds), counters_(counters) {}

  [[nodiscard]] bool has_engine() const noexcept { return engine_ != nullptr; }
  [[nodiscard]] engine::Engine* engine() const noexcept { return engine_; }
  [[nodiscard]] bool may_spin() const noexcept {
    return spin_rounds_ > 0 && (engine_ == nullptr || engine_->spin_ns() > 0);
  }
  // Does what Channel::poll does. If there is no memory, the channel fails, with a text that names the peer.
  static int poll(channel::Channel& channel, int budget) noexcept;
  // Polls without reading the clock and without a system call of its own. Returns true if the request is done.
  // REQUIRES: has_engine().
  bool spin(const Request& request) noexcept;
  // Returns ok if the request is done; timeout; interrupted; memory; or state, if this process has no engine to wait
  // with.
  Status finish(Request& request, std::uint64_t deadline_ns) noexcept;
  // Does what finish() does, after spin() has not been enough.
  Status block(Request& request, std::uint64_t deadline_ns) noexcept;
  // Waits until done() returns true. Reads the clock from here on: a message that arrives while spin() polls costs no
  // reading of the clock.
  Status until(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::function<std::string()>& what,
               bool interruptible) noexcept;

 private:
  [[nodiscard]] int rounds_for(const Request& request) const noexcept;
  [[nodiscard]] std::string describe(const Request& request) const;

  channel::Channels& channels_;
  engine::Engine* engine_;
  int spin_rounds_;
  counters::Counters& counters_;
  std::uint32_t rounds_ = 0;
};

}  // namespace couplet::message
