// Checks of what has arrived over a lane. Used by channel. Tests: tests/unit/channel/channel_test.cpp.
#pragma once

#include <span>

#include "base/status.hpp"
#include "channel/sender.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

// Returns protocol if the frame is damaged, or may not come over that lane.
[[nodiscard]] inline Status verify(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                   const LaneSlot& slot, bool has_session) {
  COUPLET_TRY(wire::verify_header(header));
  if (slot.lane->traits().checked && (header.flags & wire::frame_checked) == 0) {
    return fail(Code::protocol, "a frame has come without the check sum that this link demands");
  }
  COUPLET_TRY(wire::verify_payload(header, payload));
  if (!has_session && (header.flags & wire::frame_acknowledge) != 0) {
    return fail(Code::protocol, "a frame asks for an acknowledgement, but the connection has no sessions");
  }
  return {};
}

// May the lane be made again after this error?
[[nodiscard]] inline bool is_break(Code code) noexcept {
  return code == Code::peer_lost || code == Code::system || code == Code::end || code == Code::no_space ||
         code == Code::limit;
}

}  // namespace couplet::channel
