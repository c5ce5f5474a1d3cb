#include "relay/relay.hpp"

namespace couplet::relay {

std::byte* Dispatch::place(channel::Channel& channel, const wire::FrameHeader& header) {
  return remote_ != nullptr && !wire::from_reader(wire::relay_kind_of(header)) ? remote_->place(channel, header)
                                                                               : nullptr;
}

Status Dispatch::arrived(channel::Channel& channel, const wire::FrameHeader& header,
                         std::span<const std::byte> payload) {
  if (wire::from_reader(wire::relay_kind_of(header))) {
    return server_ != nullptr ? server_->arrived(channel, header, payload)
                              : fail(Code::protocol, "a request for a relay, but this process is not one");
  }
  return remote_ != nullptr
             ? remote_->arrived(channel, header, payload)
             : fail(Code::protocol, "an answer of a relay, but this process reads no series of other nodes");
}

void Dispatch::unplaced(channel::Channel& /*channel*/, const wire::FrameHeader& header) {
  if (remote_ != nullptr) {
    remote_->unplaced(header);
  }
}

void Dispatch::lost(channel::Channel& channel, const Status& why) {
  if (server_ != nullptr) {
    server_->lost(channel);
  }
  if (remote_ != nullptr) {
    remote_->lost(channel, why);
  }
}

}  // namespace couplet::relay
