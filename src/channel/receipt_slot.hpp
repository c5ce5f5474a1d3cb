// Chooses the lane over which a channel sends an acknowledgement. Used by channel. Tests:
// tests/unit/channel/resume_test.cpp.
#pragma once

#include "channel/sender.hpp"

namespace couplet::channel {

// Returns a slot that can take an acknowledgement now, or nullptr if there is none. There is also none if the lanes
// cannot break: then no acknowledgement is needed.
[[nodiscard]] inline LaneSlot* slot_for_receipt(const Sender& sender) noexcept {
  for (const auto& slot : sender.slots()) {
    if (slot->works() && !slot->notice.pending && (slot->session || sender.several())) {
      return slot.get();
    }
  }
  return nullptr;
}

}  // namespace couplet::channel
