#include "message/credit.hpp"

#include <algorithm>
#include <utility>

namespace couplet::message {

Credit::Credit(const MessengerOptions& options, std::int32_t universe_size, FrameSender& frames)
    : options_(options),
      first_bytes_(std::min<std::uint64_t>(wire::first_payload_credit(static_cast<std::uint64_t>(universe_size)),
                                           options.payload_credit_bytes)),
      frames_(frames) {}

void Credit::reset(Flow& flow) noexcept {
  if (flow.granted > first_bytes_) grown_bytes_ -= flow.granted - first_bytes_;
  flow.credit = flow.granted = first_bytes_;
  flow.owed = 0;
}

// Returns the credit that the peer gets beyond what it is owed: twice as much as before, as long as the sum over all
// peers allows it.
std::uint64_t Credit::grow(Flow& flow) noexcept {
  const std::uint64_t more = std::min(flow.granted, options_.payload_credit_bytes - flow.granted);
  if (grown_bytes_ + more > options_.max_grown_credit_bytes) return 0;
  grown_bytes_ += more;
  flow.granted += more;
  return more;
}

void Credit::send(Flow& flow) noexcept {
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::credit);
  header.first = std::exchange(flow.owed, 0) + grow(flow);
  frames_.post(flow, header, {});
}

Status Credit::take(Flow& flow, std::uint64_t bytes) const {
  if (!can_take(flow, bytes)) {
    return fail(Code::protocol, "{} gives back {} bytes of credit that it was not given", flow.channel->peer_name(),
                bytes);
  }
  flow.credit += bytes;
  return {};
}

}  // namespace couplet::message
