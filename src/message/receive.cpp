// Receiving: takes a message that has arrived already, or posts a receive for one that will. Large messages are read
// directly from the sender's memory.
#include <algorithm>
#include <cstring>

#include "message/accept.hpp"
#include "message/message.hpp"
#include "message/swap.hpp"
#include "os/process_memory.hpp"

namespace couplet::message {
namespace {

constexpr std::uint64_t largest_buffer_bytes = std::uint64_t{1} << 62;

bool receive_is_misused(const Group& group, const void* data, std::uint64_t count, const TypeInfo* info,
                        std::int32_t source, std::int32_t tag) {
  const bool known = static_cast<std::uint32_t>(source) < static_cast<std::uint32_t>(group.size());
  return info == nullptr || !(known || source == COUPLET_ANY_SOURCE) || tag < COUPLET_ANY_TAG ||
         count > largest_buffer_bytes / 16 || (data == nullptr && count > 0);
}

}  // namespace

Status Messenger::misused_receive(const Group& group, const void* data, std::uint64_t count, couplet_type type,
                                  std::int32_t source, std::int32_t tag) const {
  if (find_type(type) == nullptr) return fail(Code::type, "receive: {} is no element type", type);
  if (source != COUPLET_ANY_SOURCE && (source < 0 || source >= group.size())) {
    return fail(Code::argument, "receive: source {} is outside group '{}', which has ranks 0 to {}", source,
                group.name(), group.size() - 1);
  }
  if (tag < COUPLET_ANY_TAG) return fail(Code::argument, "receive: tag {} is negative", tag);
  if (data == nullptr && count > 0) return fail(Code::argument, "receive: no buffer for {} elements", count);
  return fail(Code::argument, "receive: {} elements are more than {} bytes", count, largest_buffer_bytes);
}

void Messenger::prepare_receive(Request& request, Group& group, void* data, std::uint64_t count, const TypeInfo& type,
                                std::int32_t source, std::int32_t tag) {
  request.context = group.context();
  request.tag = tag;
  if (source != COUPLET_ANY_SOURCE) {
    Flow* flow = flows_[group.peer(source)].get();
    request.flow = flow != nullptr ? flow : &flow_to(group.peer(source));
  }
  request.group = &group;
  request.type = &type;
  request.element_shift = static_cast<std::uint8_t>(std::countr_zero(type.element_bytes));
  request.data = static_cast<std::byte*>(data);
  request.bytes = count << request.element_shift;
  request.result.source = source;
}

Status Messenger::recv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                       std::int32_t tag, couplet_message* message) {
  const TypeInfo* info = find_type(type);
  if (receive_is_misused(group, data, count, info, source, tag)) [[unlikely]] {
    return misused_receive(group, data, count, type, source, tag);
  }
  Request request;
  prepare_receive(request, group, data, count, *info, source, tag);
  begin_receive(request);
  if (!request.done && !(engine_ != nullptr && spin(request))) [[unlikely]] {
    COUPLET_TRY(finish_blocking_receive(request, os::never));
  }
  if (request.status.ok() && message != nullptr) *message = request.result;
  return std::move(request.status);
}

Status Messenger::irecv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                        std::int32_t tag, Request** request) {
  const TypeInfo* info = find_type(type);
  if (receive_is_misused(group, data, count, info, source, tag)) [[unlikely]] {
    return misused_receive(group, data, count, type, source, tag);
  }
  RequestHold made(*this);
  prepare_receive(*made, group, data, count, *info, source, tag);
  begin_receive(*made);
  *request = made.release();
  return {};
}

Status Messenger::recv_internal(Group& group, std::uint32_t context, std::string& bytes, std::int32_t source,
                                std::int32_t tag, std::uint64_t deadline_ns) {
  Request request;
  request.context = context;
  request.tag = tag;
  request.flow = &flow_to(group.peer(source));
  request.group = &group;
  request.type = find_type(COUPLET_BYTE);
  request.text = &bytes;
  request.result.source = source;
  begin_receive(request);
  if (!request.done && !(engine_ != nullptr && spin(request))) {
    COUPLET_TRY(finish_blocking_receive(request, deadline_ns));
  }
  return std::move(request.status);
}

Request* Messenger::irecv_internal(Group& group, std::uint32_t context, std::string& bytes) {
  Request* made = take_request();  // nothing below throws
  made->context = context;
  made->tag = COUPLET_ANY_TAG;
  made->group = &group;
  made->type = find_type(COUPLET_BYTE);
  made->text = &bytes;
  made->result.source = COUPLET_ANY_SOURCE;
  begin_receive(*made);
  return made;
}

// Looks among the messages that have arrived first. If none matches, posts the receive.
void Messenger::begin_receive(Request& request) noexcept {
  ++pending_;
  ++request.group->pending;
  if (take_arrived(request)) return;
  if (losses_.peers > 0 && !senders_left(request).ok()) {
    look_for_returned();
    if (take_arrived(request)) return;
    if (Status status = senders_left(request); !status.ok()) return finish(request, std::move(status));
  }
  post(request);
}

bool Messenger::take_arrived(Request& request) noexcept {
  if (request.flow != nullptr ? request.flow->arrivals.empty() : arrivals_.empty()) return false;
  Arrival* arrival = find_arrival(request);
  if (arrival == nullptr) return false;
  take_arrival(request, *arrival);
  return true;
}

// Returns peer_lost if all possible senders of the message are lost.
Status Messenger::senders_left(const Request& request) const {
  if (request.flow == nullptr) return all_others_lost(*request.group);
  return request.flow->lost ? request.flow->loss : Status();
}

void Messenger::post(Request& request) noexcept {
  request.stage = Stage::posted;
  request.order = ++posted_order_;
  if (request.flow != nullptr) {
    request.flow->posted.push_back(request);
  } else {
    any_source_.push_back(request);
  }
}

// Removes a posted receive that no message has matched.
void Messenger::unpost(Request& request) noexcept {
  if (request.flow != nullptr) {
    request.flow->posted.remove(request);
  } else {
    any_source_.remove(request);
  }
  end(request);
}

Arrival* Messenger::find_arrival(const Request& request) noexcept {
  if (request.flow != nullptr) {
    const ArrivalList& arrivals = request.flow->arrivals;
    if (arrivals.filed() && request.tag != COUPLET_ANY_TAG) [[unlikely]] {
      return arrivals.find(request.context, request.tag, [](const Arrival& one) { return one.claimed == nullptr; });
    }
    for (Arrival* arrival = arrivals.first(); arrival != nullptr; arrival = ArrivalList::after(*arrival)) {
      if (arrival->claimed == nullptr && accepts(request, arrival->context, arrival->tag)) return arrival;
    }
    return nullptr;
  }
  for (Arrival* arrival = arrivals_.first(); arrival != nullptr; arrival = ArrivalsOfAll::after(*arrival)) {
    if (arrival->claimed == nullptr && accepts(request, arrival->context, arrival->tag) &&
        request.group->rank_of(arrival->flow->peer) >= 0) {
      return arrival;
    }
  }
  return nullptr;
}

void Messenger::take_arrival(Request& request, Arrival& arrival) noexcept {
  Flow& flow = *arrival.flow;
  set_source(request, flow, arrival.tag, arrival.bytes);
  if (arrival.arriving) {
    arrival.claimed = &request;
    request.stage = Stage::placing;
    flow.active.push_back(request);
  } else if (arrival.dead) {
    forget_arrival(arrival);
    finish(request, flow.loss);
  } else if (arrival.envelope) {
    request.swap = arrival.swap;
    const std::uint64_t cookie = arrival.cookie;
    const std::uint64_t address = arrival.address;
    forget_arrival(arrival);
    begin_rendezvous(request, request.result.bytes, cookie, address);
  } else {
    if (prepare_buffer(request, arrival.bytes)) deliver(request, arrival.storage, arrival.swap);
    forget_arrival(arrival);
  }
}

void Messenger::release_storage(Arrival& arrival) noexcept {
  if (arrival.storage != nullptr && arrival.storage != arrival.small.data()) {
    blocks_.give(arrival.storage, arrival.bytes);
  }
  arrival.storage = nullptr;
}

// Takes the message out of the lists, and frees its memory and credit.
void Messenger::forget_arrival(Arrival& arrival) noexcept {
  Flow& flow = *arrival.flow;
  flow.arrivals.remove(arrival);
  arrivals_.remove(arrival);
  release_storage(arrival);
  if (arrival.envelope) {
    if (!arrival.dead) --flow.envelopes;
  } else if (arrival.charge > 0) {
    flow.stored -= arrival.charge;
    return_credit(flow, arrival.charge);
  }
  arrival_pool_.give(&arrival);
}

void Messenger::set_source(Request& request, Flow& flow, std::int32_t tag, std::uint64_t bytes) const noexcept {
  if (request.flow == nullptr) {
    request.flow = &flow;
    request.result.source = request.group->rank_of(flow.peer);
  }
  request.result.tag = tag;
  request.result.bytes = bytes;
}

// Returns false if the message cannot be put into the buffer; the request is then finished.
bool Messenger::prepare_buffer(Request& request, std::uint64_t bytes) noexcept {
  try {
    Status status = request.text != nullptr ? grow_text(request, bytes) : Status();
    const bool fits = bytes <= request.bytes && (bytes & (request.type->element_bytes - 1)) == 0;
    if (status.ok() && !fits) [[unlikely]] {
      status = misfit(request, bytes);
    }
    if (!status.ok()) [[unlikely]] {
      finish(request, std::move(status));
      return false;
    }
  } catch (const std::bad_alloc&) {
    finish(request, Code::memory);
    return false;
  }
  request.result.count = bytes >> request.element_shift;
  return true;
}

// Makes room for a message of the library itself. The size that its sender announces is trusted only up to a limit.
Status Messenger::grow_text(Request& request, std::uint64_t bytes) const {
  if (bytes > max_internal_message_bytes) {
    return fail(Code::limit, "{} announces an internal message of {} bytes in group '{}': more than the limit of {}",
                channels_.peer_name(request.flow->peer), bytes, request.group->name(), max_internal_message_bytes);
  }
  request.text->resize(static_cast<std::size_t>(bytes));
  request.data = reinterpret_cast<std::byte*>(request.text->data());
  request.bytes = bytes;
  return {};
}

Status Messenger::misfit(const Request& request, std::uint64_t bytes) const {
  const std::string message =
      fmt::format("a message of {} bytes from {} with tag {} in group '{}'", bytes,
                  channels_.peer_name(request.flow->peer), request.result.tag, request.group->name());
  if (bytes > request.bytes) {
    return fail(Code::truncated, "{} does not fit into a buffer of {} bytes", message, request.bytes);
  }
  return fail(Code::type, "{} is not a whole number of {} elements of {} bytes", message, request.type->name,
              request.type->element_bytes);
}

// The message is complete: copies it to the buffer, unless it is there already.
void Messenger::deliver(Request& request, const std::byte* payload, bool swap) noexcept {
  const std::uint64_t bytes = request.result.bytes;
  if (bytes == 8) {
    std::memcpy(request.data, payload, 8);
  } else if (payload != request.data && bytes > 0) {
    std::memcpy(request.data, payload, bytes);
  }
  if (swap) swap_numbers(request.data, bytes, request.type->swap_bytes);
  finish(request);
}

// The request has matched an envelope.
void Messenger::begin_rendezvous(Request& request, std::uint64_t bytes, std::uint64_t cookie,
                                 std::uint64_t address) noexcept {
  Flow& flow = *request.flow;
  if (!prepare_buffer(request, bytes)) return send_done(flow, cookie);
  const bool near = flow.reach == Reach::proven && address != 0;
  if (near) {
    if (auto* word = word_to_share(flow, bytes)) return share(request, cookie, address, *word);
  }
  if (bytes == 0 || (near && read_memory(request, address))) {
    send_done(flow, cookie);
    if (request.swap) swap_numbers(request.data, bytes, request.type->swap_bytes);
    return finish(request);
  }
  ask_for_pieces(request, cookie);
}

void Messenger::ask_for_pieces(Request& request, std::uint64_t cookie) noexcept {
  Flow& flow = *request.flow;
  if (request.cookie == 0 && register_cookie(request) == 0) return give_up(request, cookie);
  request.stage = Stage::collecting;
  request.total = request.result.bytes;
  request.moved = 0;
  flow.active.push_back(request);
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::clear);
  header.first = request.cookie;
  header.second = cookie;
  post_control(flow, header, {});
}

// There is no memory to receive the message. Tells the sender that its payload is not needed.
void Messenger::give_up(Request& request, std::uint64_t cookie) noexcept {
  send_done(*request.flow, cookie);
  finish(request, Code::memory);
}

// Does what ProcessMemory::read does. Returns memory if the reading failed and there is no memory for the text of the
// error.
Status Messenger::read_piece(const os::ProcessMemory& memory, std::uint64_t address, std::byte* target,
                             std::uint64_t bytes) noexcept {
  try {
    return memory.read(address, target, bytes);
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
}

// Reads the message from the sender's memory. Returns false if that fails; then this message and all later ones are
// copied in pieces.
bool Messenger::read_memory(Request& request, std::uint64_t address) noexcept {
  Flow& flow = *request.flow;
  const Status status = read_piece(*flow.memory, address, request.data, request.result.bytes);
  if (status.ok()) {
    counters_.add(Counter::message_bytes_read_directly, request.result.bytes);
    return true;
  }
  refuse_reach(flow, status);
  return false;
}

void Messenger::refuse_reach(Flow& flow, const Status& why) noexcept {
  flow.reach = Reach::refused;
  flow.memory.reset();
  try {
    flow.reach_reason = fmt::format("reading the sender's memory failed: {}", why.text());
  } catch (const std::bad_alloc&) {
    flow.reach_reason.clear();
  }
}

void Messenger::send_done(Flow& flow, std::uint64_t cookie) noexcept {
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::done);
  header.second = cookie;
  post_control(flow, header, {});
}

// Waits for a blocking receive. After timeout or interrupted, the receive is forgotten; otherwise it is done.
Status Messenger::finish_blocking_receive(Request& request, std::uint64_t deadline_ns) {
  while (true) {
    Status status = block(request, deadline_ns);
    if (request.done) return {};
    if (request.stage == Stage::posted) {
      unpost(request);
      return status;
    }
    deadline_ns = os::never;  // the message is on its way, so the buffer cannot be given back before it has arrived
  }
}

}  // namespace couplet::message
