// A frame that a channel sends when there is room, and the queue of such frames.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "link/link.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

// A frame that waits to be sent, or that was sent in part. The caller keeps it and its payload alive, and the payload
// unchanged, until finished() is called. The caller sets kind, tag, context, first and second of the header; the
// channel sets the rest.
struct Outgoing {
  wire::FrameHeader header;
  std::span<const std::byte> payload;
  Outgoing* next = nullptr;
  // Called when the channel no longer needs the payload. `status` is ok if a lane or the channel's own memory has taken
  // the payload, or if the peer has acknowledged it. Otherwise it is the failure of the channel. The Outgoing may then
  // be used again, also from inside this call.
  void (*finished)(Outgoing& outgoing, const Status& status) = nullptr;
  void* owner = nullptr;
  // The channel sets the following members, except for the last two.
  std::uint64_t number = 0;
  std::uint32_t lane = 0;
  // The payload is never copied. On a lane that may break, finished() is called when the peer has acknowledged the
  // frame.
  bool until_acknowledged = false;
  // The frame is a part of a message that is longer than what the channel's policy takes for short.
  bool of_long_message = false;
};

// Memory is moved. Returns where the payload is now.
inline std::span<const std::byte> relocated(const link::Relocation& memory,
                                            std::span<const std::byte> payload) noexcept {
  return {memory.now(const_cast<std::byte*>(payload.data())), payload.size()};  // NOLINT: it is only read
}

class OutgoingQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  // Memory that payloads use is moved.
  void relocate(const link::Relocation& memory) noexcept {
    for (Outgoing* outgoing = first_; outgoing != nullptr; outgoing = outgoing->next) {
      outgoing->payload = relocated(memory, outgoing->payload);
    }
  }
  [[nodiscard]] Outgoing* first() const noexcept { return first_; }
  void append(Outgoing& outgoing) noexcept {
    outgoing.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &outgoing;
    last_ = &outgoing;
  }
  void prepend(Outgoing& outgoing) noexcept {
    outgoing.next = first_;
    last_ = first_ == nullptr ? &outgoing : last_;
    first_ = &outgoing;
  }
  // Returns nullptr if the queue is empty.
  Outgoing* take_first() noexcept {
    Outgoing* const outgoing = first_;
    if (outgoing != nullptr) {
      first_ = outgoing->next;
      outgoing->next = nullptr;
    }
    return outgoing;
  }

 private:
  Outgoing* first_ = nullptr;
  Outgoing* last_ = nullptr;
};

}  // namespace couplet::channel
