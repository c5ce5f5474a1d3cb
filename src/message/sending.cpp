#include "message/sending.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/counted.hpp"
#include "layout/type_handles.hpp"
#include "message/absence.hpp"

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

Status misused_send(const Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                    std::int32_t tag) {
  if (find_type(type) == nullptr && layout::find_datatype(type) == nullptr) {
    return fail(Code::type, "send: {} is neither an element type nor a datatype (was it freed?)", type);
  }
  if (target < 0 || target >= group.size()) {
    return fail(Code::argument, "send: target {} is outside group '{}', which has {}", target, group.name(),
                ranks_below(group.size()));
  }
  if (tag < 0) return fail(Code::argument, "send: tag {} is negative", tag);
  if (data == nullptr && count > 0) return fail(Code::argument, "send: no data for {}", counted(count, "element"));
  return fail(Code::argument, "send: {} elements are more than {} bytes", count, largest_message_bytes);
}

}  // namespace

[[gnu::always_inline]] inline bool Sending::send_eagerly(Flow& flow, std::uint32_t context, std::int32_t tag,
                                                         std::span<const std::byte> bytes) {
  const std::uint64_t charge = bytes.size() + wire::eager_overhead_bytes;
  if (!flow.fast || bytes.size() > flow.eager_bytes || charge > flow.credit) [[unlikely]] {
    return false;
  }
  wire::FrameHeader header;
  header.kind = frames_.kind_with_order(wire::MessageKind::eager);
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
  requests_.count_sent(flow, bytes.size(), counters::Counter::messages_eager);
  return true;
}

bool Sending::send_at_once(Flow& flow, std::uint32_t context, std::int32_t tag, std::span<const std::byte> bytes) {
  return send_eagerly(flow, context, tag, bytes);
}

Status Sending::send(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                     std::int32_t tag) {
  const TypeInfo* info = find_type(type);
  if (info == nullptr) [[unlikely]] {
    return send_items(group, data, count, type, target, tag);
  }
  if (send_is_misused(group, data, count, info, target, tag)) [[unlikely]] {
    return misused_send(group, data, count, type, target, tag);
  }
  const std::uint64_t bytes = count * info->element_bytes;
  Flow* flow = peers_.find(group.peer(target));
  if (flow != nullptr) hear_before_sending(waiting_.engine(), *flow);
  if (flow != nullptr && flow->untold) [[unlikely]] {
    Peers::spoken_to(*flow);
  }
  if (flow != nullptr && send_eagerly(*flow, group.context(), tag, {static_cast<const std::byte*>(data), bytes}))
      [[likely]] {
    return {};
  }
  Request request;
  request.sending = true;
  request.context = group.context();
  request.tag = tag;
  request.flow = &peers_.to(group.peer(target));
  request.group = &group;
  request.type = info;
  request.data = const_cast<std::byte*>(static_cast<const std::byte*>(data));  // NOLINT: only read
  request.bytes = bytes;
  COUPLET_TRY(begin(request));
  finish(request);
  return std::move(request.status);
}

// Waits without a deadline, and is not interrupted: what else ends the wait is no reason to leave.
void Sending::finish(Request& request) {
  COUPLET_ASSERT(request.done || waiting_.has_engine());
  while (!request.done) static_cast<void>(waiting_.finish(request, os::never));
}

Status Sending::isend(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                      std::int32_t tag, Request** request) {
  const TypeInfo* info = find_type(type);
  if (info == nullptr) [[unlikely]] {
    return isend_items(group, data, count, type, target, tag, request);
  }
  if (send_is_misused(group, data, count, info, target, tag)) [[unlikely]] {
    return misused_send(group, data, count, type, target, tag);
  }
  Flow& flow = peers_.to(group.peer(target));
  hear_before_sending(waiting_.engine(), flow);
  RequestHold made(requests_);
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
  COUPLET_TRY(begin(*made));
  *request = made.release();
  return {};
}

// ---- items that do not lie in the caller's memory as they travel ----

Status Sending::prepare_items(Request& request, Group& group, const void* data, std::uint64_t count, couplet_type type,
                              std::int32_t target, std::int32_t tag) {
  auto datatype = layout::find_datatype(type);
  if (datatype == nullptr || send_is_misused(group, data, count, &datatype->element(), target, tag)) {
    return misused_send(group, data, count, type, target, tag);
  }
  if (const Status status = datatype->check_count(count); !status.ok()) return status.within("send");
  request.sending = true;
  request.context = group.context();
  request.tag = tag;
  request.flow = &peers_.to(group.peer(target));
  hear_before_sending(waiting_.engine(), *request.flow);
  request.group = &group;
  request.type = &datatype->element();
  request.bytes = count * datatype->bytes();
  request.result.source = group.rank();
  request.result.tag = tag;
  request.result.bytes = request.bytes;
  request.result.count = count;
  request.data = const_cast<std::byte*>(static_cast<const std::byte*>(data));  // NOLINT: only read
  request.owned = std::make_unique<OwnMemory>();
  if (!datatype->is_dense()) {
    request.owned->bytes.resize(request.bytes);
    auto* const packed = reinterpret_cast<std::byte*>(request.owned->bytes.data());
    datatype->pack(request.data, count, packed);
    request.data = packed;
  }
  request.owned->datatype = std::move(datatype);
  return {};
}

Status Sending::send_items(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                           std::int32_t tag) {
  Request request;
  COUPLET_TRY(prepare_items(request, group, data, count, type, target, tag));
  COUPLET_TRY(begin(request));
  finish(request);
  return std::move(request.status);
}

Status Sending::isend_items(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                            std::int32_t tag, Request** request) {
  RequestHold made(requests_);
  COUPLET_TRY(prepare_items(*made, group, data, count, type, target, tag));
  COUPLET_TRY(begin(*made));
  *request = made.release();
  return {};
}

Status Sending::send_copy(Group& group, std::uint32_t context, std::string bytes, std::int32_t target,
                          std::int32_t tag) {
  RequestHold made(requests_);
  made->sending = true;
  made->context = context;
  made->tag = tag;
  made->flow = &peers_.to(group.peer(target));
  made->group = &group;
  made->type = find_type(COUPLET_BYTE);
  made->owned = std::make_unique<OwnMemory>();
  made->owned->bytes = std::move(bytes);
  made->data = reinterpret_cast<std::byte*>(made->owned->bytes.data());
  made->bytes = made->owned->bytes.size();
  COUPLET_TRY(begin(*made));
  if (!made->done) {
    made.release()->detached = true;
    return {};
  }
  return std::move(made->status);
}

Status Sending::begin(Request& request) {
  Flow& flow = *request.flow;
  if (flow.lost) peers_.look_for_returned();
  if (flow.untold && (request.context & internal_context) == 0) [[unlikely]] {
    Peers::spoken_to(flow);
  }
  if (!flow.lost && !flow.fast) COUPLET_TRY(peers_.settle(flow));
  const std::uint64_t charge = request.bytes + wire::eager_overhead_bytes;
  const bool small = request.bytes <= flow.eager_bytes;
  if (small && !flow.lost && (charge > flow.credit || flow.channel->sender().retention().is_full())) {
    Waiting::poll(*flow.channel, 64);  // credit, or room for copies, may have come back
  }
  if (!flow.lost && !(small && charge <= flow.credit) && flow.offered >= options_.envelope_limit) {
    return fail(Code::limit, "{} has {} for {} that nobody has received: the limit of waiting messages",
                peers_.name(peers_.self()), counted(flow.offered, "message"), peers_.name(flow.peer));
  }
  const bool eager = small && charge <= flow.credit;
  if (!flow.lost && !eager && !requests_.register_cookie(request)) return Code::memory;
  requests_.begin(request);
  if (flow.lost) {
    Peers::told(request);
    requests_.finish(request, flow.loss);
  } else if (eager) {
    queue_eager(request);
  } else {
    offer(request);
  }
  return {};
}

void Sending::queue_eager(Request& request) noexcept {
  Flow& flow = *request.flow;
  wire::FrameHeader header;
  header.kind = frames_.kind_with_order(wire::MessageKind::eager);
  header.payload_bytes = static_cast<std::uint32_t>(request.bytes);
  header.tag = request.tag;
  header.context = request.context;
  header.first = request.bytes;
  header.second = std::exchange(flow.owed, 0);
  flow.credit -= request.bytes + wire::eager_overhead_bytes;
  if (FrameSender::try_send(flow, header, view(request, 0, request.bytes))) {
    requests_.finish(request);
    return;
  }
  request.stage = Stage::queued;
  request.in_channel = true;
  flow.active.push_back(request);
  request.outgoing = {};
  request.outgoing.header = header;
  request.outgoing.payload = view(request, 0, request.bytes);
  request.outgoing.finished = &Sending::frame_finished;
  request.outgoing.owner = &request;
  FrameSender::hand_over(flow, request.outgoing);
}

// Says what there is to send, and where it lies. The request has its cookie.
void Sending::offer(Request& request) noexcept {
  Flow& flow = *request.flow;
  request.stage = Stage::offered;
  ++flow.offered;
  flow.active.push_back(request);
  wire::FrameHeader header;
  header.kind = frames_.kind_with_order(wire::MessageKind::envelope);
  header.payload_bytes = wire::envelope_bytes;
  header.tag = request.tag;
  header.context = request.context;
  header.first = request.bytes;
  header.second = request.cookie;
  std::array<std::byte, wire::envelope_bytes> image;
  wire::encode_envelope(memory_.offer_to(flow, request.data), image);
  frames_.post(flow, header, image);
}

// Where the next piece can be put that the channel takes now; nullptr: nowhere. The channel is done with a piece at
// once, or when the peer has it: then others are to go meanwhile.
channel::Outgoing* Sending::free_piece(Request& request) noexcept {
  constexpr int max_more_pieces = 3;
  if (!request.in_channel) {
    request.outgoing = {};
    request.outgoing.finished = &Sending::frame_finished;
    request.outgoing.owner = &request;
    request.in_channel = true;
    return &request.outgoing;
  }
  if (!request.flow->channel->traits().may_break || request.more_pieces == max_more_pieces) return nullptr;
  try {
    PieceFrame* const frame = pieces_.take();
    frame->request = &request;
    frame->outgoing = {};
    frame->outgoing.finished = &Sending::piece_finished;
    frame->outgoing.owner = frame;
    ++request.more_pieces;
    return &frame->outgoing;
  } catch (const std::bad_alloc&) {
    return nullptr;  // it goes when the piece that is under way is back
  }
}

void Sending::send_pieces(Request& request, std::uint64_t peer_cookie) noexcept {
  request.peer_cookie = peer_cookie;
  request.total = request.bytes;
  request.moved = 0;
  request.stage = Stage::moving;
  pump(request);
}

// Hands the next pieces to the channel as long as it takes them.
void Sending::pump(Request& request) noexcept {
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
    FrameSender::hand_over(flow, *outgoing);
  }
  request.pumping = false;
  end_moving(request);
}

// Ends the movement of a message if the channel has given back all pieces, and the last one was sent or one has failed.
void Sending::end_moving(Request& request) noexcept {
  const bool ended = request.moved == request.total || !request.status.ok();
  if (request.stage != Stage::moving || request.pumping || !ended || is_under_way(request)) return;
  conclude(request);
}

void Sending::conclude(Request& request) noexcept {
  request.flow->active.remove(request);
  request.status.ok() ? requests_.finish(request) : requests_.finish(request, std::move(request.status));
}

void Sending::frame_finished(channel::Outgoing& outgoing, const Status& status) noexcept {
  auto& request = *static_cast<Request*>(outgoing.owner);
  request.in_channel = false;
  request.flow->sending->taken(request, status);
}

void Sending::piece_finished(channel::Outgoing& outgoing, const Status& status) noexcept {
  auto* const frame = static_cast<PieceFrame*>(outgoing.owner);
  Request& request = *frame->request;
  Sending& sending = *request.flow->sending;
  sending.pieces_.give(frame);
  --request.more_pieces;
  sending.taken(request, status);
}

// The channel has given back `request.outgoing` or another piece.
void Sending::taken(Request& request, const Status& status) noexcept {
  Flow& flow = *request.flow;
  if (!flow.fast && flow.channel != nullptr) peers_.set_limits(flow);  // it was sent before there was a lane
  if ((!status.ok() || flow.lost) && request.status.ok()) {
    Peers::told(request);
    request.status = flow.lost ? flow.loss : peers_.loss_of(flow, status);
  }
  if (request.stage == Stage::moving) {
    pump(request);
  } else {
    conclude(request);
  }
}

}  // namespace couplet::message
