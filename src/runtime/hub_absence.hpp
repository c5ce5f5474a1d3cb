// Says for how long a relay that nobody uses waits for a hub that is away: readers on other nodes may still want what
// it keeps. Pure: the caller looks at each tick and passes the time. Used by main_relay. Below: os (reset), base.
// Invariant: only time in which the caller looked counts. Tests: tests/unit/runtime/hub_absence_test.cpp.
#pragma once

#include <cstdint>

#include "base/retry.hpp"
#include "base/status.hpp"
#include "os/reset.hpp"

namespace couplet::runtime {

class HubAbsence {
 public:
  struct Patience {
    std::uint64_t silent_ns = 60'000'000'000;   // for a hub that cannot be reached: it may live
    std::uint64_t refusing_ns = 4'000'000'000;  // for a hub whose host says that it is dead: it may be started again
  };

  explicit constexpr HubAbsence(const Patience& patience) noexcept : patience_(patience) {}

  // hub: Membership::hub(), which says how the last dial has ended.
  void look(const Status& hub, std::uint64_t now_ns) noexcept {
    if (hub.ok()) {
      silent_ = {};
    } else {
      silent_.look(now_ns);
    }
    if (!os::says_refused(hub)) {
      refusing_ = {};
    } else {
      refusing_.look(now_ns);
    }
  }
  // Returns true if the hub has been away for longer than the patience.
  [[nodiscard]] bool given_up() const noexcept {
    return silent_.total_ns() >= patience_.silent_ns || refusing_.total_ns() >= patience_.refusing_ns;
  }

 private:
  Patience patience_;
  LookedTime silent_;
  LookedTime refusing_;
};

}  // namespace couplet::runtime
