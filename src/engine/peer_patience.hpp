// How long a process that is about to end waits for its peers: as long as one of them takes something of what was sent,
// and for a limit after that. A peer that computes takes nothing and must not hold it; a slow network must not cost it
// what it has sent. Used by message and connections when a member leaves.
// Tests: tests/unit/engine/peer_patience_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/retry.hpp"
#include "base/status.hpp"

namespace couplet::engine {

class Engine;

class PeerPatience {
 public:
  // taken returns a number that changes whenever a peer, or its system, has taken something.
  PeerPatience(std::uint64_t limit_ns, std::function<std::uint64_t()> taken);

  // Polls until done() is true. Returns ok; or timeout once nothing was taken for the limit, with a text that contains
  // what(); or interrupted, if the user does not want to wait longer; or memory. For several waits one after the other,
  // the limit counts once: what one has used up, the next does not have.
  Status wait(Engine& engine, const std::function<bool()>& done, const std::function<std::string()>& what) noexcept;
  // Says that a peer has taken something that `taken` does not count. The limit begins anew.
  void renew() noexcept { still_ = {}; }

 private:
  bool has_ended();

  std::uint64_t limit_ns_;
  std::function<std::uint64_t()> taken_;
  std::uint64_t seen_;
  LookedTime still_;  // since when `seen_` has not changed
};

}  // namespace couplet::engine
