// SecondComers: processes whose place belongs to a connection of which the hub has not heard everything yet. It may be
// the place of a process that has ended, so they are not refused at once. A part of HubState, which looks at them again
// at each tick. Pure. Tests: tests/unit/universe/hub_state_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "universe/hub/outbox.hpp"

namespace couplet::universe {

// How long such a process waits.
inline constexpr std::uint64_t hear_out_ns = 2'000'000'000;

class SecondComers {
 public:
  // Returns true if something has arrived on a connection that the hub has not heard yet, be it the connection's end.
  using HasUnheard = std::function<bool(ConnectionId)>;

  explicit SecondComers(HasUnheard has_unheard) : has_unheard_(std::move(has_unheard)) {}

  // Returns true, and keeps `second`, if it has to wait for what the hub will hear of `holder`.
  bool wait(ConnectionId second, ConnectionId holder) {
    const bool waits = has_unheard_ && has_unheard_(holder);
    if (waits) {
      waiting_.push_back(second);
    }
    return waits;
  }
  // Returns those that wait, and forgets them.
  [[nodiscard]] std::vector<ConnectionId> take() { return std::exchange(waiting_, {}); }

 private:
  HasUnheard has_unheard_;
  std::vector<ConnectionId> waiting_;
};

}  // namespace couplet::universe
