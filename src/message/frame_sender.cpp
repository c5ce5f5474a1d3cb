#include "message/frame_sender.hpp"

#include <algorithm>
#include <new>

namespace couplet::message {

bool FrameSender::try_send(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept {
  try {
    return flow.channel->try_send(header, payload);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void FrameSender::hand_over(Flow& flow, channel::Outgoing& outgoing) noexcept {
  try {
    flow.channel->send(outgoing);
  } catch (const std::bad_alloc&) {
    flow.channel->fail(Code::memory);
  }
}

void FrameSender::post(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept {
  if (try_send(flow, header, payload)) return;
  ControlFrame* frame = nullptr;
  try {
    frame = frames_.take();
  } catch (const std::bad_alloc&) {
    return flow.channel->fail(
        fail(Code::memory, "no memory for an answer to {}", flow.channel->peer_name()));  // the next poll tells
  }
  frame->sender = this;
  frame->outgoing = {};
  frame->outgoing.header = header;
  std::copy(payload.begin(), payload.end(), frame->payload.begin());
  frame->outgoing.payload = {frame->payload.data(), payload.size()};
  frame->outgoing.finished = &FrameSender::frame_finished;
  frame->outgoing.owner = frame;
  hand_over(flow, frame->outgoing);
}

void FrameSender::frame_finished(channel::Outgoing& outgoing, const Status& /*status*/) noexcept {
  auto* const frame = static_cast<ControlFrame*>(outgoing.owner);
  frame->sender->frames_.give(frame);
}

void FrameSender::post_done(Flow& flow, std::uint64_t cookie) noexcept {
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::done);
  header.second = cookie;
  post(flow, header, {});
}

}  // namespace couplet::message
