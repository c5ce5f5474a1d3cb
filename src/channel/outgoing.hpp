// A frame that a channel sends when there is room, and the queue of such frames.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

// A frame on its way that did not go at once. The caller keeps it and its payload alive, and the payload unchanged,
// until finished() was called. The caller sets kind, tag, context, first and second of the header; the rest is set by
// the channel.
struct Outgoing {
  wire::FrameHeader header;
  std::span<const std::byte> payload;
  Outgoing* next = nullptr;
  // The channel needs the payload no longer (ok): a lane or the channel's own memory has it, or the peer has
  // acknowledged it; or the channel failed. The Outgoing is free then, also to be sent again from inside.
  void (*finished)(Outgoing& outgoing, const Status& status) = nullptr;
  void* owner = nullptr;
  // Used by the channel.
  std::uint64_t number = 0;
  std::uint32_t lane = 0;
  bool until_acknowledged = false;  // never copied: finished() says that the peer has it, on a lane that may break
};

class OutgoingQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
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
  // nullptr: it is empty.
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
