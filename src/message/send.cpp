// Sending: eager where credit allows it, else an envelope, and pieces when the receiver asks for them.
#include <unistd.h>

#include <algorithm>

#include "base/assert.hpp"
#include "message/absence.hpp"
#include "message/message.hpp"

namespace couplet::message {
namespace {

constexpr std::uint64_t largest_message_bytes = std::uint64_t{1} << 62;

std::span<const std::byte> view(const Request& request, std::uint64_t offset, std::uint64_t bytes) {
  return {request.data + offset, static_cast<std::size_t>(bytes)};
}

// For a call of the user: other parts of the library send in the middle of something that a poll would go on with.
void hear_before_sending(engine::Engine* engine, Flow& flow) {
  if (was_absent_before_sending(flow) && engine != nullptr && !engine->is_polling()) [[unlikely]]
    engine->poll();
}

bool send_is_misused(const Group& group, const void* data, std::uint64_t count, const TypeInfo* info,
                     std::int32_t target, std::int32_t tag) {
  return info == nullptr || static_cast<std::uint32_t>(target) >= static_cast<std::uint32_t>(group.size()) || tag < 0 ||
         count > largest_message_bytes / 16 || (data == nullptr && count > 0);
}

// Over a lane that may break, a large piece stays in the caller's memory until the peer has acknowledged it. The last
// piece is small enough to be copied: it is on its way while the acknowledgement of the others comes back, and nobody
// waits for its own.
std::uint64_t next_piece_bytes(const Request& request) noexcept {
  constexpr std::uint64_t last_piece_bytes = 32U << 10U;
  static_assert(last_piece_bytes <= channel::max_copied_bytes);
  const std::uint64_t left = request.total - request.moved;
  const link::LaneTraits& traits = request.flow->channel->traits();
  const bool last_is_apart = traits.may_break && left > channel::max_copied_bytes;
  return std::min({last_is_apart ? left - last_piece_bytes : left, request.flow->piece_bytes,
                   std::uint64_t{traits.largest_payload}});
}

}  // namespace

Status Messenger::misused_send(const Group& group, const void* data, std::uint64_t count, couplet_type type,
                               std::int32_t target, std::int32_t tag) const {
  if (find_type(type) == nullptr) return fail(Code::type, "send: {} is no element type", type);
  if (target < 0 || target >= group.size()) {
    return fail(Code::argument, "send: target {} is outside group '{}', which has ranks 0 to {}", target, group.name(),
                group.size() - 1);
  }
  if (tag < 0) return fail(Code::argument, "send: tag {} is negative", tag);
  if (data == nullptr && count > 0) return fail(Code::argument, "send: no data for {} elements", count);
  return fail(Code::argument, "send: {} elements are more than {} bytes", count, largest_message_bytes);
}

bool Messenger::sent_at_once(Flow& flow, std::uint32_t context, std::int32_t tag, std::span<const std::byte> bytes) {
  const std::uint64_t charge = bytes.size() + wire::eager_overhead_bytes;
  if (!flow.fast || bytes.size() > flow.eager_bytes || charge > flow.credit) [[unlikely]] {
    return false;
  }
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::eager, big_endian_);
  header.payload_bytes = static_cast<std::uint32_t>(bytes.size());
  header.tag = tag;
  header.context = context;
  header.first = bytes.size();
  header.second = flow.owed;
  if (!flow.channel->try_send(header, bytes)) [[unlikely]] {
    return false;
  }
  flow.credit -= charge;
  flow.owed = 0;
  count_sent(flow, bytes.size(), Counter::messages_eager);
  return true;
}

Status Messenger::send(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                       std::int32_t tag) {
  const TypeInfo* info = find_type(type);
  if (send_is_misused(group, data, count, info, target, tag)) [[unlikely]] {
    return misused_send(group, data, count, type, target, tag);
  }
  const std::uint64_t bytes = count * info->element_bytes;
  Flow* flow = flows_[group.peer(target)].get();
  if (flow != nullptr) hear_before_sending(engine_, *flow);
  if (flow != nullptr && sent_at_once(*flow, group.context(), tag, {static_cast<const std::byte*>(data), bytes}))
      [[likely]] {
    return {};
  }
  Request request;
  request.sending = true;
  request.context = group.context();
  request.tag = tag;
  request.flow = &flow_to(group.peer(target));
  request.group = &group;
  request.type = info;
  request.data = const_cast<std::byte*>(static_cast<const std::byte*>(data));  // NOLINT: only read
  request.bytes = bytes;
  COUPLET_TRY(begin_send(request));
  return finish_blocking_send(request);
}

Status Messenger::isend(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                        std::int32_t tag, Request** request) {
  const TypeInfo* info = find_type(type);
  if (send_is_misused(group, data, count, info, target, tag)) [[unlikely]] {
    return misused_send(group, data, count, type, target, tag);
  }
  Flow& flow = flow_to(group.peer(target));
  hear_before_sending(engine_, flow);
  RequestHold made(*this);
  made->sending = true;
  made->context = group.context();
  made->tag = tag;
  made->flow = &flow;
  made->group = &group;
  made->type = info;
  made->data = const_cast<std::byte*>(static_cast<const std::byte*>(data));  // NOLINT: only read
  made->bytes = count * info->element_bytes;
  made->result.source = group.rank();
  made->result.tag = tag;
  made->result.bytes = made->bytes;
  made->result.count = count;
  COUPLET_TRY(begin_send(*made));
  *request = made.release();
  return {};
}

Status Messenger::send_internal(Group& group, std::uint32_t context, std::string bytes, std::int32_t target,
                                std::int32_t tag) {
  RequestHold made(*this);
  made->sending = true;
  made->context = context;
  made->tag = tag;
  made->flow = &flow_to(group.peer(target));
  made->group = &group;
  made->type = find_type(COUPLET_BYTE);
  made->owned = std::make_unique<std::string>(std::move(bytes));
  made->data = reinterpret_cast<std::byte*>(made->owned->data());
  made->bytes = made->owned->size();
  COUPLET_TRY(begin_send(*made));
  if (!made->done) {
    made.release()->detached = true;
    return {};
  }
  return std::move(made->status);
}

// Starts it; an error, or an exception, means that the request was never made: nothing throws once it is counted.
Status Messenger::begin_send(Request& request) {
  Flow& flow = *request.flow;
  if (flow.lost) look_for_returned();
  if (!flow.lost && !flow.fast) COUPLET_TRY(settle(flow));
  const std::uint64_t charge = request.bytes + wire::eager_overhead_bytes;
  const bool small = request.bytes <= flow.eager_bytes;
  if (small && !flow.lost && (charge > flow.credit || flow.channel->sender().retention().is_full())) {
    poll_channel(*flow.channel, 64);  // credit, or room for copies, may have come back
  }
  if (!flow.lost && !(small && charge <= flow.credit) && flow.offered >= options_.envelope_limit) {
    return fail(Code::limit, "{} has {} messages for {} that nobody has received: the limit of waiting messages",
                channels_.peer_name(self_), flow.offered, channels_.peer_name(flow.peer));
  }
  const bool eager = small && charge <= flow.credit;
  if (!flow.lost && !eager && register_cookie(request) == 0) return Code::memory;
  ++pending_;
  ++request.group->pending;
  if (flow.lost) {
    finish(request, flow.loss);
  } else if (eager) {
    queue_eager(request);
  } else {
    offer(request);
  }
  return {};
}

// As Channel::try_send; without memory to keep the rest of a frame it is not sent.
bool Messenger::try_send(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept {
  try {
    return flow.channel->try_send(header, payload);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// As Channel::send; without memory for it the channel fails, and its next poll tells everybody.
void Messenger::hand_over(Flow& flow, channel::Outgoing& outgoing) noexcept {
  try {
    flow.channel->send(outgoing);
  } catch (const std::bad_alloc&) {
    flow.channel->fail(Code::memory);
  }
}

void Messenger::queue_eager(Request& request) noexcept {
  Flow& flow = *request.flow;
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::eager, big_endian_);
  header.payload_bytes = static_cast<std::uint32_t>(request.bytes);
  header.tag = request.tag;
  header.context = request.context;
  header.first = request.bytes;
  header.second = std::exchange(flow.owed, 0);
  flow.credit -= request.bytes + wire::eager_overhead_bytes;
  if (try_send(flow, header, view(request, 0, request.bytes))) {
    finish(request);
    return;
  }
  request.stage = Stage::queued;
  request.in_channel = true;
  flow.active.push_back(request);
  request.outgoing = {};
  request.outgoing.header = header;
  request.outgoing.payload = view(request, 0, request.bytes);
  request.outgoing.finished = &Messenger::outgoing_finished;
  request.outgoing.owner = &request;
  hand_over(flow, request.outgoing);
}

wire::Envelope Messenger::own_memory(const void* data) const noexcept {
  return {.address = reinterpret_cast<std::uintptr_t>(data),
          .nonce_address = reinterpret_cast<std::uintptr_t>(nonce_->data()),
          .nonce = *nonce_,
          .process = static_cast<std::uint32_t>(getpid())};
}

// Says what there is to send, and where it lies. The request has its cookie.
void Messenger::offer(Request& request) noexcept {
  Flow& flow = *request.flow;
  request.stage = Stage::offered;
  ++flow.offered;
  flow.active.push_back(request);
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::envelope, big_endian_);
  header.payload_bytes = wire::envelope_bytes;
  header.tag = request.tag;
  header.context = request.context;
  header.first = request.bytes;
  header.second = request.cookie;
  const bool far = flow.channel->state() == channel::ChannelState::open && !flow.channel->traits().same_memory;
  std::array<std::byte, wire::envelope_bytes> image;
  wire::encode_envelope(options_.read_memory && !far ? own_memory(request.data) : wire::Envelope{}, image);
  post_control(flow, header, image);
}

// Where the next piece can be put that the channel takes now; nullptr: nowhere. The channel is done with a piece at
// once, or when the peer has it: then others are to go meanwhile.
channel::Outgoing* Messenger::free_piece(Request& request) noexcept {
  constexpr int max_more_pieces = 3;
  if (!request.in_channel) {
    request.outgoing = {};
    request.outgoing.finished = &Messenger::outgoing_finished;
    request.outgoing.owner = &request;
    request.in_channel = true;
    return &request.outgoing;
  }
  if (!request.flow->channel->traits().may_break || request.more_pieces == max_more_pieces) return nullptr;
  try {
    PieceFrame* const frame = pieces_.take();
    frame->request = &request;
    frame->outgoing = {};
    frame->outgoing.finished = &Messenger::piece_finished;
    frame->outgoing.owner = frame;
    ++request.more_pieces;
    return &frame->outgoing;
  } catch (const std::bad_alloc&) {
    return nullptr;  // it goes when the piece that is under way is back
  }
}

// Hands the next pieces to the channel as long as it takes them.
void Messenger::pump(Request& request) noexcept {
  if (request.pumping) return;
  request.pumping = true;
  Flow& flow = *request.flow;
  while (request.stage == Stage::moving && request.moved < request.total && request.status.ok()) {
    channel::Outgoing* const outgoing = free_piece(request);
    if (outgoing == nullptr) break;
    const std::uint64_t piece = next_piece_bytes(request);
    wire::FrameHeader& header = outgoing->header;
    header.kind = wire::message_frame_kind(wire::MessageKind::data);
    header.payload_bytes = static_cast<std::uint32_t>(piece);
    header.tag = request.tag;
    header.context = request.context;
    header.first = request.moved;
    header.second = request.peer_cookie;
    outgoing->payload = view(request, request.moved, piece);
    outgoing->of_long_message = channel::is_long(flow.channel->sender().policy(), request.total);
    request.moved += piece;
    hand_over(flow, *outgoing);
  }
  request.pumping = false;
  end_moving(request);
}

// Ends the movement of a message if the channel has given back all pieces, and the last one was sent or one has failed.
void Messenger::end_moving(Request& request) noexcept {
  const bool ended = request.moved == request.total || !request.status.ok();
  if (request.stage != Stage::moving || request.pumping || !ended || is_under_way(request)) return;
  conclude(request);
}

void Messenger::conclude(Request& request) noexcept {
  request.flow->active.remove(request);
  request.status.ok() ? finish(request) : finish(request, std::move(request.status));
}

void Messenger::outgoing_finished(channel::Outgoing& outgoing, const Status& status) noexcept {
  auto& request = *static_cast<Request*>(outgoing.owner);
  request.in_channel = false;
  request.flow->messenger->taken(request, status);
}

void Messenger::piece_finished(channel::Outgoing& outgoing, const Status& status) noexcept {
  auto* const frame = static_cast<PieceFrame*>(outgoing.owner);
  Request& request = *frame->request;
  Messenger& messenger = *request.flow->messenger;
  messenger.pieces_.give(frame);
  --request.more_pieces;
  messenger.taken(request, status);
}

// The channel has given back `request.outgoing` or another piece.
void Messenger::taken(Request& request, const Status& status) noexcept {
  Flow& flow = *request.flow;
  if (!flow.fast && flow.channel != nullptr) set_limit(flow);  // it was sent before there was a lane
  if ((!status.ok() || flow.lost) && request.status.ok()) {
    request.status = flow.lost ? flow.loss : loss_of(flow, status);
  }
  if (request.stage == Stage::moving) {
    pump(request);
  } else {
    conclude(request);
  }
}

// A channel on which it cannot even be queued fails by name: the peer waits for it.
void Messenger::post_control(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept {
  if (try_send(flow, header, payload)) return;
  ControlFrame* frame = nullptr;
  try {
    frame = controls_.take();
  } catch (const std::bad_alloc&) {
    return flow.channel->fail(
        fail(Code::memory, "no memory for an answer to {}", flow.channel->peer_name()));  // the next poll tells
  }
  frame->messenger = this;
  frame->outgoing = {};
  frame->outgoing.header = header;
  std::copy(payload.begin(), payload.end(), frame->payload.begin());
  frame->outgoing.payload = {frame->payload.data(), payload.size()};
  frame->outgoing.finished = &Messenger::control_finished;
  frame->outgoing.owner = frame;
  hand_over(flow, frame->outgoing);
}

void Messenger::control_finished(channel::Outgoing& outgoing, const Status& /*status*/) noexcept {
  auto* frame = static_cast<ControlFrame*>(outgoing.owner);
  frame->messenger->controls_.give(frame);
}

Status Messenger::finish_blocking_send(Request& request) {
  COUPLET_ASSERT(request.done || engine_ != nullptr);
  while (!request.done) {  // without a deadline, and not interrupted: what else ends the wait is no reason to leave
    static_cast<void>(finish_wait(request, os::never));
  }
  return std::move(request.status);
}

}  // namespace couplet::message
