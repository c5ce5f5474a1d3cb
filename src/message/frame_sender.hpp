// Sends the frames of messages over channels. What cannot be sent at once is kept: a frame of the library itself in a
// pool, a frame with a user's payload by the caller.
// Invariants: no exception leaves; a channel on which a frame of the library cannot even be queued fails by name.
// Tests: tests/unit/message/no_memory_test.cpp, tests/conformance/message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "message/flow.hpp"
#include "message/pool.hpp"

namespace couplet::message {

// Have the numbers of this message the other byte order?
[[nodiscard]] inline bool swaps(const wire::FrameHeader& header) noexcept {
  return ((header.kind & wire::message_big_endian) != 0) != wire::own_big_endian;
}

class FrameSender {
 public:
  // big_endian: the byte order that sent frames claim.
  explicit FrameSender(bool big_endian) : big_endian_(big_endian) {}

  // The kind of a frame whose payload is, or will be, a user's numbers.
  [[nodiscard]] std::uint8_t kind_with_order(wire::MessageKind kind) const noexcept {
    return wire::message_frame_kind(kind, big_endian_);
  }
  // Does what Channel::try_send does. If there is no memory to keep the rest of a frame, it is not sent.
  static bool try_send(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept;
  // Does what Channel::send does. If there is no memory for it, the channel fails, and its next poll tells everybody.
  static void hand_over(Flow& flow, channel::Outgoing& outgoing) noexcept;
  // Sends a frame of the library itself. The payload is copied, and has at most wire::envelope_bytes.
  void post(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept;
  // Tells the sender of the message with this cookie that its payload is not needed (any more).
  void post_done(Flow& flow, std::uint64_t cookie) noexcept;

 private:
  static void frame_finished(channel::Outgoing& outgoing, const Status& status) noexcept;

  bool big_endian_;
  Pool<ControlFrame> frames_;
};

}  // namespace couplet::message
