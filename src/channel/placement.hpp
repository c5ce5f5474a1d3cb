// Memory of a handler that a lane of a channel is filling with the payload of the frame that is due. Used by channel.
#pragma once

#include "channel/retention.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

struct Placement {
  std::uint32_t lane = Retention::no_lane;  // LaneSlot::id
  wire::FrameHeader header;

  // Has another lane a part of the frame? Then the peer, which sends it over this lane now, has given that one up.
  [[nodiscard]] bool is_over_another(std::uint32_t used) const noexcept {
    return lane != Retention::no_lane && lane != used;
  }
  // The lane fills the memory no longer. Returns false if it did not.
  bool end(std::uint32_t used) noexcept {
    const bool is_ended = lane == used;
    lane = is_ended ? Retention::no_lane : lane;
    return is_ended;
  }
};

}  // namespace couplet::channel
