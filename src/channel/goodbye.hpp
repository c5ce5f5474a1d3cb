// The frame by which a channel that has ended tells its peer why there will be nothing further. Used by channel. Tests:
// tests/unit/channel/resume_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "channel/sender.hpp"

namespace couplet::channel {

struct Goodbye {
  Status why;
  bool has_session = false;
  bool peer_ended = false;        // the peer's goodbye has arrived
  std::uint64_t received = 0;     // frames
  std::uint64_t next_number = 0;  // the next frame that is sent would have it
};

// Sends it over that lane, if a frame can be sent now.
void say_goodbye(LaneSlot& slot, const Goodbye& goodbye);

}  // namespace couplet::channel
