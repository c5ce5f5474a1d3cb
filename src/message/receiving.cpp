#include "message/receiving.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/counted.hpp"
#include "base/swap.hpp"
#include "layout/type_handles.hpp"
#include "message/options.hpp"

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

Status misused_receive(const Group& group, const void* data, std::uint64_t count, couplet_type type,
                       std::int32_t source, std::int32_t tag) {
  if (find_type(type) == nullptr && layout::find_datatype(type) == nullptr) {
    return fail(Code::type, "receive: {} is neither an element type nor a datatype (was it freed?)", type);
  }
  if (source != COUPLET_ANY_SOURCE && (source < 0 || source >= group.size())) {
    return fail(Code::argument, "receive: source {} is outside group '{}', which has {}", source, group.name(),
                ranks_below(group.size()));
  }
  if (tag < COUPLET_ANY_TAG) return fail(Code::argument, "receive: tag {} is negative", tag);
  if (data == nullptr && count > 0) return fail(Code::argument, "receive: no buffer for {}", counted(count, "element"));
  return fail(Code::argument, "receive: {} elements are more than {} bytes", count, largest_buffer_bytes);
}

void Receiving::prepare(Request& request, Group& group, void* data, std::uint64_t count, const TypeInfo& type,
                        std::int32_t source, std::int32_t tag) {
  request.context = group.context();
  request.tag = tag;
  if (source != COUPLET_ANY_SOURCE) {
    Flow* flow = peers_.find(group.peer(source));
    request.flow = flow != nullptr ? flow : &peers_.to(group.peer(source));
  }
  request.group = &group;
  request.type = &type;
  request.element_shift = static_cast<std::uint8_t>(std::countr_zero(type.element_bytes));
  request.data = static_cast<std::byte*>(data);
  request.bytes = count << request.element_shift;
  request.result.source = source;
}

Status Receiving::recv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                       std::int32_t tag, couplet_message* message) {
  const TypeInfo* info = find_type(type);
  if (info == nullptr) [[unlikely]] {
    return recv_items(group, data, count, type, source, tag, message);
  }
  if (receive_is_misused(group, data, count, info, source, tag)) [[unlikely]] {
    return misused_receive(group, data, count, type, source, tag);
  }
  Request request;
  prepare(request, group, data, count, *info, source, tag);
  begin(request);
  if (!request.done && !(waiting_.has_engine() && waiting_.spin(request))) [[unlikely]] {
    COUPLET_TRY(finish(request, os::never));
  }
  if (request.status.ok() && message != nullptr) *message = request.result;
  return std::move(request.status);
}

Status Receiving::irecv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                        std::int32_t tag, Request** request) {
  const TypeInfo* info = find_type(type);
  if (info == nullptr) [[unlikely]] {
    return irecv_items(group, data, count, type, source, tag, request);
  }
  if (receive_is_misused(group, data, count, info, source, tag)) [[unlikely]] {
    return misused_receive(group, data, count, type, source, tag);
  }
  RequestHold made(requests_);
  prepare(*made, group, data, count, *info, source, tag);
  begin(*made);
  *request = made.release();
  return {};
}

// ---- items that do not lie in the caller's memory as they travel ----

Status Receiving::prepare_items(Request& request, Group& group, void* data, std::uint64_t count, couplet_type type,
                                std::int32_t source, std::int32_t tag) {
  auto datatype = layout::find_datatype(type);
  if (datatype == nullptr || receive_is_misused(group, data, count, &datatype->element(), source, tag)) {
    return misused_receive(group, data, count, type, source, tag);
  }
  if (const Status status = datatype->check_count(count); !status.ok()) return status.within("receive");
  const TypeInfo& element = datatype->element();
  prepare(request, group, data, count * datatype->bytes() / element.element_bytes, element, source, tag);
  request.owned = std::make_unique<OwnMemory>();
  request.owned->caller_memory = request.data;
  request.owned->items = count;
  if (!datatype->is_dense()) {
    request.owned->bytes.resize(request.bytes);
    request.data = reinterpret_cast<std::byte*>(request.owned->bytes.data());
  }
  request.owned->datatype = std::move(datatype);
  return {};
}

Status Receiving::recv_items(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                             std::int32_t tag, couplet_message* message) {
  Request request;
  COUPLET_TRY(prepare_items(request, group, data, count, type, source, tag));
  begin(request);
  if (!request.done) COUPLET_TRY(finish(request, os::never));
  if (request.status.ok() && message != nullptr) *message = request.result;
  return std::move(request.status);
}

Status Receiving::irecv_items(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                              std::int32_t tag, Request** request) {
  RequestHold made(requests_);
  COUPLET_TRY(prepare_items(*made, group, data, count, type, source, tag));
  begin(*made);
  *request = made.release();
  return {};
}

inline bool Receiving::take_arrived(Request& request) noexcept {
  Arrival* arrival = matching_.find(request);
  if (arrival == nullptr) return false;
  take(request, *arrival);
  return true;
}

void Receiving::begin(Request& request) noexcept {
  requests_.begin(request);
  if (request.flow != nullptr && request.flow->untold) [[unlikely]] {
    if (tells_of_loss(request)) return;
  }
  if (take_arrived(request)) return;
  if (peers_.lost() > 0 && !peers_.senders_left(request).ok()) {
    peers_.look_for_returned();
    if (take_arrived(request)) return;
    if (Status status = peers_.senders_left(request); !status.ok()) {
      Peers::told(request);
      return requests_.finish(request, std::move(status));
    }
  }
  matching_.post(request);
}

// Between the messages of two lives of a program, one receive of the user says that the earlier one was lost, also if
// that was noticed and over before the receive began. Returns true if this is the one.
bool Receiving::tells_of_loss(Request& request) noexcept {
  Flow& flow = *request.flow;
  if ((request.context & internal_context) != 0) return false;
  const Arrival* const arrival = matching_.find(request);
  if (arrival == nullptr && flow.lost) return false;  // the request ends with the loss
  const std::uint32_t deaths = arrival != nullptr ? arrival->deaths : flow.deaths;
  if (deaths <= flow.told_deaths) return false;
  Peers::told(flow, deaths);
  Status status = flow.loss;
  try {
    status = Status(status.code(),
                    fmt::format("{}; it was started again, and what {} can be received from here on", status.text(),
                                deaths < flow.deaths ? "it sent before it was lost once more" : "it sends now"));
  } catch (const std::bad_alloc&) {
    status = flow.loss;
  }
  requests_.finish(request, std::move(status));
  return true;
}

void Receiving::take(Request& request, Arrival& arrival) noexcept {
  Flow& flow = *arrival.flow;
  set_source(request, flow, arrival.tag, arrival.bytes);
  if (arrival.arriving) {
    arrival.claimed = &request;
    request.stage = Stage::placing;
    flow.active.push_back(request);
  } else if (arrival.dead) {
    if ((request.context & internal_context) == 0) Peers::told(flow, arrival.deaths + 1);
    forget(arrival);
    requests_.finish(request, flow.loss);
  } else if (arrival.envelope) {
    request.swap = arrival.swap;
    const std::uint64_t cookie = arrival.cookie;
    const std::uint64_t address = arrival.address;
    forget(arrival);
    begin_rendezvous(request, request.result.bytes, cookie, address);
  } else {
    deliver(request, {arrival.storage, static_cast<std::size_t>(arrival.bytes)}, arrival.swap);
    forget(arrival);
  }
}

void Receiving::set_source(Request& request, Flow& flow, std::int32_t tag, std::uint64_t bytes) noexcept {
  if (request.flow == nullptr) {
    request.flow = &flow;
    request.result.source = request.group->rank_of(flow.peer);
  }
  request.result.tag = tag;
  request.result.bytes = bytes;
}

bool Receiving::prepare_buffer(Request& request, std::uint64_t bytes) noexcept {
  try {
    Status status = request.text != nullptr ? grow_text(request, bytes) : Status();
    const bool fits = bytes <= request.bytes && (bytes & (request.type->element_bytes - 1)) == 0;
    if (status.ok() && !fits) [[unlikely]] {
      status = misfit(request, bytes);
    }
    if (!status.ok()) [[unlikely]] {
      requests_.finish(request, std::move(status));
      return false;
    }
  } catch (const std::bad_alloc&) {
    requests_.finish(request, Code::memory);
    return false;
  }
  request.result.count = bytes >> request.element_shift;
  return true;
}

// Makes room for a message of the library itself. The size that its sender announces is trusted only up to a limit.
Status Receiving::grow_text(Request& request, std::uint64_t bytes) const {
  if (bytes > max_internal_message_bytes) {
    return fail(Code::limit, "{} announces an internal message of {} bytes in group '{}': more than the limit of {}",
                peers_.name(request.flow->peer), bytes, request.group->name(), max_internal_message_bytes);
  }
  request.text->resize(static_cast<std::size_t>(bytes));
  request.data = reinterpret_cast<std::byte*>(request.text->data());
  request.bytes = bytes;
  return {};
}

Status Receiving::misfit(const Request& request, std::uint64_t bytes) const {
  const std::string message = fmt::format("a message of {} from {} with tag {} in group '{}'", counted(bytes, "byte"),
                                          peers_.name(request.flow->peer), request.result.tag, request.group->name());
  if (bytes > request.bytes) {
    return fail(Code::truncated, "{} does not fit into a buffer of {}", message, counted(request.bytes, "byte"));
  }
  return fail(Code::type, "{} is not a whole number of {} elements of {} bytes", message, request.type->name,
              request.type->element_bytes);
}

void Receiving::deliver(Request& request, std::span<const std::byte> payload, bool swap) noexcept {
  if (prepare_buffer(request, payload.size())) complete(request, payload.data(), swap);
}

void Receiving::complete(Request& request, const std::byte* payload, bool swap) noexcept {
  const std::uint64_t bytes = request.result.bytes;
  if (bytes == 8) {
    std::memcpy(request.data, payload, 8);
  } else if (payload != request.data && bytes > 0) {
    std::memcpy(request.data, payload, bytes);
  }
  if (swap) swap_numbers(request.data, bytes, request.type->swap_bytes);
  request.swap = swap;
  requests_.finish(request);
}

void Receiving::begin_rendezvous(Request& request, std::uint64_t bytes, std::uint64_t cookie,
                                 std::uint64_t address) noexcept {
  Flow& flow = *request.flow;
  if (!prepare_buffer(request, bytes)) return frames_.post_done(flow, cookie);
  const bool near = flow.reach == Reach::proven && address != 0;
  if (near) {
    if (auto* word = sharing_.word(flow, bytes)) return share(request, cookie, address, *word);
  }
  if (bytes == 0 || (near && memory_.read(request, address))) {
    frames_.post_done(flow, cookie);
    if (request.swap) swap_numbers(request.data, bytes, request.type->swap_bytes);
    return requests_.finish(request);
  }
  ask_for_pieces(request, cookie);
}

// Both sides copy.
void Receiving::share(Request& request, std::uint64_t cookie, std::uint64_t address,
                      std::atomic<std::uint64_t>& word) noexcept {
  if (!requests_.register_cookie(request)) return give_up(request, cookie);
  const SharedCopy::Outcome outcome = sharing_.receive(request, cookie, address, word);
  if (outcome != SharedCopy::Outcome::under_way) end_shared(request, outcome == SharedCopy::Outcome::whole);
}

void Receiving::end_shared(Request& request, bool is_whole) noexcept {
  if (!is_whole) return ask_for_pieces(request, request.peer_cookie);
  frames_.post_done(*request.flow, request.peer_cookie);
  if (request.swap) swap_numbers(request.data, request.result.bytes, request.type->swap_bytes);
  requests_.finish(request);
}

void Receiving::forget(Arrival& arrival) noexcept {
  Flow& flow = *arrival.flow;
  if (const std::uint64_t charge = matching_.forget(arrival); charge > 0) credit_.give_back(flow, charge);
}

void Receiving::ask_for_pieces(Request& request, std::uint64_t cookie) noexcept {
  Flow& flow = *request.flow;
  if (request.cookie == 0 && !requests_.register_cookie(request)) return give_up(request, cookie);
  request.stage = Stage::collecting;
  request.total = request.result.bytes;
  request.moved = 0;
  flow.active.push_back(request);
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::clear);
  header.first = request.cookie;
  header.second = cookie;
  frames_.post(flow, header, {});
}

// There is no memory to receive the message. Tells the sender that its payload is not needed.
void Receiving::give_up(Request& request, std::uint64_t cookie) noexcept {
  frames_.post_done(*request.flow, cookie);
  requests_.finish(request, Code::memory);
}

Status Receiving::finish(Request& request, std::uint64_t deadline_ns) {
  while (true) {
    Status status = waiting_.block(request, deadline_ns);
    if (request.done) return {};
    if (request.stage == Stage::posted) {
      unpost(request);
      return status;
    }
    deadline_ns = os::never;  // the message is on its way, so the buffer cannot be given back before it has arrived
  }
}

}  // namespace couplet::message
