#include "channel/goodbye.hpp"

#include <span>
#include <string>

#include "channel/channel.hpp"
#include "os/socket.hpp"

namespace couplet::channel {

void say_goodbye(LaneSlot& slot, const Goodbye& goodbye) {
  const bool resumable = goodbye.has_session && slot.lane->traits().may_break;
  const bool is_lost = goodbye.why.code() == Code::peer_lost && !resumable;
  if (!slot.idle() || slot.push_failed || !slot.serves() || is_lost) {
    return;
  }
  const std::string text = goodbye.why.code() == Code::end ? "" : goodbye.why.text().substr(0, wire::max_reason_bytes);
  const auto reason = std::as_bytes(std::span(text));
  wire::FrameHeader header;
  std::uint64_t number = 0;
  if (goodbye.peer_ended && resumable) {
    header.kind = wire::channel_acknowledge;  // acknowledges the peer's goodbye
    header.first = goodbye.received;
  } else if (goodbye.why.code() == Code::end) {
    header.kind = wire::channel_end;
    number = goodbye.next_number;
  } else {
    header.kind = wire::channel_failed;
  }
  Sender::fill_for(slot, header, reason, number, 0);
  static_cast<void>(slot.lane->push(header, reason, 0));
}

void Channel::mute() noexcept {
  for (const auto& lane : lanes_) {
    os::stop_probing(lane->descriptor());
  }
  lanes_shut_ = true;
  sender_.close();
}

}  // namespace couplet::channel
