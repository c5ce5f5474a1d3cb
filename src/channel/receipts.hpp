// Decides when a channel acknowledges the frames that have arrived, and when it asks its peer to do so. Used by
// channel, on lanes that may break. Tests: tests/unit/channel/resume_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/frame.hpp"
#include "wire/session.hpp"

namespace couplet::channel {

class Receipts {
 public:
  // Notes that a numbered frame has arrived. `received` counts it.
  void arrived(const wire::FrameHeader& header, std::size_t payload_bytes, std::uint64_t received) noexcept {
    bytes_ += payload_bytes;
    due_ = due_ || (header.flags & wire::frame_acknowledge) != 0 || received - told_ >= max_untold_frames ||
           bytes_ >= max_untold_bytes;
  }
  // Requests that the peer is told now. Returns true if there is something that the peer was not told.
  bool tell_now(std::uint64_t received) noexcept {
    const bool fresh = told_ != received && !due_;
    due_ = due_ || fresh;
    return fresh;
  }
  // Requests that the peer acknowledges, once for the frames with numbers below `sent`. Returns true if it was not
  // asked before.
  bool ask(std::uint64_t sent) noexcept {
    const bool fresh = asked_ != sent;
    asked_ = sent;
    ask_ = ask_ || fresh;
    return fresh;
  }
  void peer_asks(const wire::FrameHeader& acknowledgement) noexcept {
    due_ = due_ || acknowledgement.tag == answer_wanted;
  }
  // Is an acknowledgement to be sent?
  [[nodiscard]] bool due() const noexcept { return due_ || ask_; }
  // Returns the header of the acknowledgement, and notes that it is sent.
  [[nodiscard]] wire::FrameHeader take(std::uint64_t received) noexcept {
    wire::FrameHeader header;
    header.kind = wire::channel_acknowledge;
    header.tag = ask_ ? answer_wanted : 0;
    header.first = received;
    told(received);
    due_ = ask_ = false;
    return header;
  }
  // Notes that a session frame has told the peer this number.
  void told(std::uint64_t received) noexcept {
    told_ = received;
    bytes_ = 0;
  }
  // The peer's session frame has arrived. An earlier request to acknowledge may be lost, so it may be sent again.
  void resumed() noexcept { asked_ = 0; }
  // A lane was lost, and with it perhaps the last acknowledgement and the last request for one.
  void lane_lost(std::uint64_t received) noexcept {
    due_ = due_ || received != 0;
    asked_ = 0;
  }

 private:
  // After this many frames or bytes, the peer is sent an acknowledgement even if it has not asked for one, so that it
  // can free its copies. The number of bytes is a quarter of what the peer may copy (max_retained_bytes), since an
  // acknowledgement costs a system call.
  static constexpr std::uint64_t max_untold_frames = 256;
  static constexpr std::uint64_t max_untold_bytes = 256U << 10U;
  static constexpr std::int32_t answer_wanted = 1;  // the tag of an acknowledgement that asks for one in return

  std::uint64_t told_ = 0;   // `received` when the peer was last told
  std::uint64_t bytes_ = 0;  // bytes of payloads that have arrived since then
  std::uint64_t asked_ = 0;  // `sent` when the peer was last asked
  bool due_ = false;
  bool ask_ = false;
};

}  // namespace couplet::channel
