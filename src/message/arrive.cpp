// Handles what arrives from a peer: it is matched with the posted receives, or kept until a receive asks for it.
#include <cstring>

#include "message/accept.hpp"
#include "message/message.hpp"
#include "message/swap.hpp"
#include "os/process_memory.hpp"

namespace couplet::message {
namespace {

// A payload of fewer bytes is copied from the lane's own memory. A larger one is put by the lane where it belongs.
constexpr std::uint32_t placed_bytes = link::most_unplaced_bytes + 1;

wire::MessageKind kind_of(const wire::FrameHeader& header) {
  return static_cast<wire::MessageKind>(header.kind & wire::message_kind_mask);
}

// Could one of the receives from any source take the message? The peer may be no member of its group.
bool takes(const RequestChain& any_source, const wire::FrameHeader& header) noexcept {
  for (const Request* any = any_source.first(); any != nullptr; any = RequestChain::after(*any)) {
    if (accepts(*any, header.context, header.tag)) return true;
  }
  return false;
}

}  // namespace

// Returns the first posted of the receives from this peer that take the message.
Request* Messenger::first_posted(const Flow& flow, std::uint32_t context, std::int32_t tag) noexcept {
  if (flow.posted.filed()) [[unlikely]] {
    const auto always = [](const Request&) { return true; };
    Request* exact = flow.posted.find(context, tag, always);
    Request* any_tag = flow.posted.find(context, COUPLET_ANY_TAG, always);
    return exact == nullptr || (any_tag != nullptr && any_tag->order < exact->order) ? any_tag : exact;
  }
  Request* own = flow.posted.first();
  while (own != nullptr && !accepts(*own, context, tag)) own = PostedList::after(*own);
  return own;
}

// Removes the first posted of the receives that take the message from its list, and returns it.
Request* Messenger::match(Flow& flow, std::uint32_t context, std::int32_t tag) {
  Request* own = first_posted(flow, context, tag);
  if (any_source_.empty()) [[likely]] {
    if (own != nullptr) flow.posted.remove(*own);
    return own;
  }
  Request* any = any_source_.first();
  while (any != nullptr && !(accepts(*any, context, tag) && any->group->rank_of(flow.peer) >= 0)) {
    any = RequestChain::after(*any);
  }
  if (any != nullptr && (own == nullptr || any->order < own->order)) {
    any_source_.remove(*any);
    return any;
  }
  if (own != nullptr) flow.posted.remove(*own);
  return own;
}

std::byte* Messenger::place(channel::Channel& channel, const wire::FrameHeader& header) {
  if (header.payload_bytes < placed_bytes) return nullptr;
  try {
    Flow* flow = flow_of(channel);
    return flow != nullptr ? place_in(*flow, header) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;  // if there is no memory then either, arrived() reports it
  }
}

std::byte* Messenger::place_in(Flow& flow, const wire::FrameHeader& header) {
  if (kind_of(header) == wire::MessageKind::data) {
    const Request* request = find_cookie(header.second, flow, false);
    const bool fits = request != nullptr && request->stage == Stage::collecting && header.first == request->moved &&
                      header.payload_bytes <= request->total - request->moved;
    return fits ? request->data + request->moved : nullptr;
  }
  if (kind_of(header) != wire::MessageKind::eager || header.first != header.payload_bytes) return nullptr;
  if (flow.placed != nullptr || flow.placing != nullptr || flow.dropping) return nullptr;
  if (Request* request = match(flow, header.context, header.tag)) {
    set_source(*request, flow, header.tag, header.first);
    if (!prepare_buffer(*request, header.first)) {
      flow.dropping = true;
      return nullptr;
    }
    request->stage = Stage::placing;
    flow.active.push_back(*request);
    flow.placed = request;
    return request->data;
  }
  flow.placing = store(flow, header, false);
  if (flow.placing == nullptr) return nullptr;
  flow.placing->arriving = true;
  return flow.placing->storage;
}

// Handles the most frequent case quickly: a small message for the receive that was posted first. Returns false if
// nothing was done.
bool Messenger::taken_at_once(channel::Channel& channel, const wire::FrameHeader& header,
                              std::span<const std::byte> payload) {
  constexpr std::uint8_t own_eager = wire::message_frame_kind(wire::MessageKind::eager, wire::own_big_endian);
  const std::uint64_t bytes = payload.size();
  if (header.kind != own_eager || bytes >= placed_bytes || header.first != bytes) return false;
  if (channel.peer() >= flows_.size() || takes(any_source_, header)) return false;
  Flow* flow = flows_[channel.peer()].get();
  if (flow == nullptr || flow->channel != &channel || !flow->fast) return false;
  Request* request = flow->posted.first();
  if (request == nullptr || !accepts(*request, header.context, header.tag) || bytes > request->bytes) return false;
  if ((bytes & ((std::uint64_t{1} << request->element_shift) - 1)) != 0) return false;
  if (header.second > options_.payload_credit_bytes - flow->credit) return false;
  flow->credit += header.second;
  flow->posted.remove(*request);
  request->result.tag = header.tag;
  request->result.bytes = bytes;
  request->result.count = bytes >> request->element_shift;
  if (bytes == sizeof(std::uint64_t)) {
    std::memcpy(request->data, payload.data(), sizeof(std::uint64_t));
  } else if (bytes > 0) {
    std::memcpy(request->data, payload.data(), bytes);
  }
  finish(*request);
  return_credit(*flow, bytes + wire::eager_overhead_bytes);
  return true;
}

// If there is no memory for a message that no receive has asked for, its channel fails with a text that names the peer.
// If a receive has asked for it, that receive fails.
Status Messenger::arrived(channel::Channel& channel, const wire::FrameHeader& header,
                          std::span<const std::byte> payload) {
  if (taken_at_once(channel, header, payload)) [[likely]]
    return {};
  try {
    return dispatch(channel, header, payload);
  } catch (const std::bad_alloc&) {
    return fail(Code::memory, "no memory to take a message of {} bytes from {}", header.first, channel.peer_name());
  }
}

Status Messenger::dispatch(channel::Channel& channel, const wire::FrameHeader& header,
                           std::span<const std::byte> payload) {
  Flow* flow = flow_of(channel);
  if (flow == nullptr) return fail(Code::protocol, "{} has sent a message, but is not a rank", channel.peer_name());
  switch (kind_of(header)) {
    case wire::MessageKind::eager:
      return eager_arrived(*flow, header, payload);
    case wire::MessageKind::envelope:
      return envelope_arrived(*flow, header, payload);
    case wire::MessageKind::clear:
      return clear_arrived(*flow, header);
    case wire::MessageKind::data:
      return data_arrived(*flow, header, payload);
    case wire::MessageKind::done:
      return done_arrived(*flow, header);
    case wire::MessageKind::credit:
      return credit_arrived(*flow, header.first);
    case wire::MessageKind::share:
      return share_arrived(*flow, header, payload);
    case wire::MessageKind::shared:
      return shared_arrived(*flow, header);
  }
  return fail(Code::protocol, "{} sends a message frame of unknown kind {:#04x}", channel.peer_name(), header.kind);
}

// Keeps a message, or its envelope, that no receive has asked for. Returns nullptr if the peer has sent more than it
// may.
Arrival* Messenger::store(Flow& flow, const wire::FrameHeader& header, bool envelope) {
  const std::uint64_t charge = envelope ? 0 : header.first + wire::eager_overhead_bytes;
  if (envelope ? flow.envelopes >= largest_envelope_count : flow.stored + charge > flow.granted) {
    return nullptr;
  }
  Arrival* arrival = arrival_pool_.take();
  arrival->storage = nullptr;
  if (!envelope) {
    try {
      arrival->storage = header.first <= Arrival::inline_bytes ? arrival->small.data() : blocks_.take(header.first);
    } catch (const std::bad_alloc&) {
      arrival_pool_.give(arrival);
      throw;
    }
  }
  arrival->flow = &flow;
  arrival->context = header.context;
  arrival->tag = header.tag;
  arrival->bytes = header.first;
  arrival->charge = charge;
  arrival->envelope = envelope;
  arrival->swap = swaps(header);
  arrival->arriving = false;
  arrival->dead = false;
  arrival->claimed = nullptr;
  flow.stored += charge;
  flow.envelopes += envelope ? 1 : 0;
  flow.arrivals.push_back(*arrival);
  arrivals_.push_back(*arrival);
  if ((header.context & internal_context) == 0) counters_.add(Counter::messages_unexpected);
  return arrival;
}

void Messenger::send_credit(Flow& flow) noexcept {
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::credit);
  header.first = std::exchange(flow.owed, 0) + grow_credit(flow);
  post_control(flow, header, {});
}

Status Messenger::eager_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (header.first != payload.size()) [[unlikely]] {
    return fail(Code::protocol, "{} sends a message of {} bytes in a frame of {}", channels_.peer_name(flow.peer),
                header.first, payload.size());
  }
  const std::uint64_t charge = header.first + wire::eager_overhead_bytes;
  if (header.second != 0) COUPLET_TRY(credit_arrived(flow, header.second));
  if (header.payload_bytes < placed_bytes) [[likely]] {
    if (Request* request = match(flow, header.context, header.tag)) {
      set_source(*request, flow, header.tag, header.first);
      if (prepare_buffer(*request, header.first)) deliver(*request, payload.data(), swaps(header));
      return_credit(flow, charge);
      return {};
    }
  } else if (Request* placed = std::exchange(flow.placed, nullptr)) {
    flow.active.remove(*placed);
    deliver(*placed, payload.data(), swaps(header));
    return_credit(flow, charge);
    return {};
  } else if (std::exchange(flow.dropping, false)) {
    return_credit(flow, charge);
    return {};
  } else if (Arrival* arrival = std::exchange(flow.placing, nullptr)) {
    if (payload.data() != arrival->storage) std::memcpy(arrival->storage, payload.data(), payload.size());
    arrival->arriving = false;
    if (Request* claimant = arrival->claimed) {
      flow.active.remove(*claimant);
      if (prepare_buffer(*claimant, arrival->bytes)) deliver(*claimant, arrival->storage, arrival->swap);
      forget_arrival(*arrival);
    }
    return {};
  } else if (Request* request = match(flow, header.context, header.tag)) {  // the lane did not ask where to put it
    set_source(*request, flow, header.tag, header.first);
    if (prepare_buffer(*request, header.first)) deliver(*request, payload.data(), swaps(header));
    return_credit(flow, charge);
    return {};
  }
  if (ended_.has(header.context)) {
    return_credit(flow, charge);
    return {};
  }
  const Arrival* arrival = store(flow, header, false);
  if (arrival == nullptr) {
    return fail(Code::limit, "{} has sent more than the {} bytes that may wait for a receive",
                channels_.peer_name(flow.peer), flow.granted);
  }
  if (!payload.empty()) std::memcpy(arrival->storage, payload.data(), payload.size());
  return {};
}

Status Messenger::envelope_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  auto envelope = wire::decode_envelope(payload);
  if (!envelope.ok()) return envelope.status().within(channels_.peer_name(flow.peer));
  prove_reach(flow, *envelope);
  if (Request* request = match(flow, header.context, header.tag)) {
    set_source(*request, flow, header.tag, header.first);
    request->swap = swaps(header);
    begin_rendezvous(*request, header.first, header.second, envelope->address);
    return {};
  }
  if (ended_.has(header.context)) {  // its sender would wait for ever
    send_done(flow, header.second);
    return {};
  }
  Arrival* arrival = store(flow, header, true);
  if (arrival == nullptr) {
    return fail(Code::limit, "{} has {} messages waiting here that nobody has received: more than may wait",
                channels_.peer_name(flow.peer), flow.envelopes + 1);
  }
  arrival->cookie = header.second;
  arrival->address = envelope->address;
  return {};
}

// Reads, once for each peer, a number from its memory that only the intended process has there. If there is no memory
// for the reason of a failure, no reason is stored.
void Messenger::prove_reach(Flow& flow, const wire::Envelope& envelope) const noexcept {
  if (flow.reach != Reach::unknown) return;
  try {
    flow.reach_reason = prove(flow, envelope);
    flow.reach = flow.memory != nullptr ? Reach::proven : Reach::refused;
  } catch (const std::bad_alloc&) {
    flow.memory.reset();
  }
}

// Tries to reach the peer's memory, and returns the result as a text. If it succeeds, flow.memory is set.
std::string Messenger::prove(Flow& flow, const wire::Envelope& envelope) const {
  flow.memory.reset();
  if (!options_.read_memory) return "reading the sender's memory is switched off";
  if (!flow.channel->traits().same_memory) {
    return fmt::format("link {} does not share memory", flow.channel->traits().name);
  }
  if (envelope.process == 0) return "the sender does not offer its memory";
  auto memory = os::ProcessMemory::open(envelope.process, {.address = envelope.nonce_address, .bytes = envelope.nonce});
  if (!memory.ok()) return fmt::format("its nonce could not be read: {}", memory.status().text());
  std::string found = fmt::format("its nonce was read from process {}", envelope.process);
  flow.memory = std::move(*memory);
  return found;
}

Status Messenger::clear_arrived(Flow& flow, const wire::FrameHeader& header) {
  Request* request = find_cookie(header.second, flow, true);
  if (request == nullptr || request->stage != Stage::offered) {
    return fail(Code::protocol, "{} asks for a message that was not offered", channels_.peer_name(flow.peer));
  }
  --flow.offered;
  request->peer_cookie = header.first;
  request->total = request->bytes;
  request->moved = 0;
  request->stage = Stage::moving;
  pump(*request);
  return {};
}

Status Messenger::data_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  Request* request = find_cookie(header.second, flow, false);
  if (request == nullptr || request->stage != Stage::collecting || header.first != request->moved ||
      payload.size() > request->total - request->moved || payload.empty()) {
    return fail(Code::protocol, "{} sends {} bytes of a message that was not asked for like that",
                channels_.peer_name(flow.peer), payload.size());
  }
  std::byte* target = request->data + request->moved;
  if (payload.data() != target) std::memcpy(target, payload.data(), payload.size());
  request->moved += payload.size();
  if (request->moved < request->total) return {};
  flow.active.remove(*request);
  if (request->swap) swap_numbers(request->data, request->total, request->type->swap_bytes);
  finish(*request);
  return {};
}

Status Messenger::done_arrived(Flow& flow, const wire::FrameHeader& header) {
  Request* request = find_cookie(header.second, flow, true);
  if (request == nullptr || request->stage != Stage::offered) {
    return fail(Code::protocol, "{} has finished a message that was not offered", channels_.peer_name(flow.peer));
  }
  --flow.offered;
  flow.active.remove(*request);
  finish(*request);
  return {};
}

Status Messenger::credit_arrived(Flow& flow, std::uint64_t bytes) {
  if (bytes > options_.payload_credit_bytes - flow.credit) {
    return fail(Code::protocol, "{} gives back {} bytes of credit that it was not given",
                channels_.peer_name(flow.peer), bytes);
  }
  flow.credit += bytes;
  return {};
}

}  // namespace couplet::message
