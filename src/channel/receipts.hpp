// When a channel says which frames have arrived, and when it asks the peer to say that. Used by channel, on lanes that
// may break. Tests: tests/unit/channel/test_resume.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/frame.hpp"
#include "wire/session.hpp"

namespace couplet::channel {

class Receipts {
 public:
  // A numbered frame has arrived; `received` counts it.
  void arrived(const wire::FrameHeader& header, std::size_t payload_bytes, std::uint64_t received) noexcept {
    bytes_ += payload_bytes;
    due_ = due_ || (header.flags & wire::frame_acknowledge) != 0 || received - told_ >= max_untold_frames ||
           bytes_ >= max_untold_bytes;
  }
  // The peer is to be told now, if it does not know. True: there is something to tell.
  bool tell_now(std::uint64_t received) noexcept {
    const bool fresh = told_ != received && !due_;
    due_ = due_ || fresh;
    return fresh;
  }
  // The peer is to tell us; once for the frames below that number. True: it was not asked yet.
  bool ask(std::uint64_t sent) noexcept {
    const bool fresh = asked_ != sent;
    asked_ = sent;
    ask_ = ask_ || fresh;
    return fresh;
  }
  void peer_asks(const wire::FrameHeader& acknowledgement) noexcept {
    due_ = due_ || acknowledgement.tag == answer_wanted;
  }
  // An acknowledgement is to be sent.
  [[nodiscard]] bool due() const noexcept { return due_ || ask_; }
  // The header of that acknowledgement, which is sent now.
  [[nodiscard]] wire::FrameHeader take(std::uint64_t received) noexcept {
    wire::FrameHeader header;
    header.kind = wire::channel_acknowledge;
    header.tag = ask_ ? answer_wanted : 0;
    header.first = received;
    told(received);
    due_ = ask_ = false;
    return header;
  }
  // A session frame has said it.
  void told(std::uint64_t received) noexcept {
    told_ = received;
    bytes_ = 0;
  }
  // The peer's session frame has come: what was asked before may be lost.
  void resumed() noexcept { asked_ = 0; }

 private:
  // What the peer is told without being asked, so that it can forget its copies and has room for more.
  static constexpr std::uint64_t max_untold_frames = 256;
  static constexpr std::uint64_t max_untold_bytes = 128U << 10U;
  static constexpr std::int32_t answer_wanted = 1;  // tag of an acknowledgement

  std::uint64_t told_ = 0;   // received when the peer was told last
  std::uint64_t bytes_ = 0;  // payloads since then
  std::uint64_t asked_ = 0;  // sent when the peer was asked last
  bool due_ = false;
  bool ask_ = false;
};

}  // namespace couplet::channel
