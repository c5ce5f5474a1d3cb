#include "message/arriving.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "base/swap.hpp"

namespace couplet::message {
namespace {

// A payload of fewer bytes is copied from the lane's own memory. A larger one is put by the lane where it belongs.
constexpr std::uint32_t placed_bytes = link::most_unplaced_bytes + 1;

wire::MessageKind kind_of(const wire::FrameHeader& header) {
  return static_cast<wire::MessageKind>(header.kind & wire::message_kind_mask);
}

}  // namespace

std::byte* Arriving::place(channel::Channel& channel, const wire::FrameHeader& header) {
  if (header.payload_bytes < placed_bytes) return nullptr;
  try {
    Flow* flow = peers_.of(channel);
    return flow != nullptr ? place_in(*flow, header) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;  // if there is no memory then either, arrived() reports it
  }
}

std::byte* Arriving::place_in(Flow& flow, const wire::FrameHeader& header) {
  if (kind_of(header) == wire::MessageKind::data) {
    const Request* request = requests_.find(header.second, flow, false);
    const bool fits = request != nullptr && request->stage == Stage::collecting && header.first == request->moved &&
                      header.payload_bytes <= request->total - request->moved;
    return fits ? request->data + request->moved : nullptr;
  }
  if (kind_of(header) != wire::MessageKind::eager || header.first != header.payload_bytes) return nullptr;
  if (flow.placed != nullptr || flow.placing != nullptr || flow.dropping) return nullptr;
  if (Request* request = matching_.match(flow, header.context, header.tag)) {
    Receiving::set_source(*request, flow, header.tag, header.first);
    if (!receiving_.prepare_buffer(*request, header.first)) {
      flow.dropping = true;
      return nullptr;
    }
    request->stage = Stage::placing;
    flow.active.push_back(*request);
    flow.placed = request;
    return request->data;
  }
  flow.placing = matching_.store(flow, header, false);
  if (flow.placing == nullptr) return nullptr;
  flow.placing->arriving = true;
  return flow.placing->storage;
}

// Handles the most frequent case quickly: a small message for the receive that was posted first. Returns false if
// nothing was done.
[[gnu::always_inline]] inline bool Arriving::take_at_once(channel::Channel& channel, const wire::FrameHeader& header,
                                                          std::span<const std::byte> payload) {
  constexpr std::uint8_t own_eager = wire::message_frame_kind(wire::MessageKind::eager, wire::own_big_endian);
  const std::uint64_t bytes = payload.size();
  if (header.kind != own_eager || bytes >= placed_bytes || header.first != bytes) return false;
  if (!peers_.has(channel.peer()) || matching_.any_source_accepts(header.context, header.tag)) return false;
  Flow* flow = peers_.find(channel.peer());
  if (flow == nullptr || flow->channel != &channel || !flow->fast) return false;
  Request* request = flow->posted.first();
  if (request == nullptr || !accepts(*request, header.context, header.tag) || bytes > request->bytes) return false;
  if ((bytes & ((std::uint64_t{1} << request->element_shift) - 1)) != 0) return false;
  if (!credit_.can_take(*flow, header.second)) return false;
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
  requests_.finish(*request);
  credit_.give_back(*flow, bytes + wire::eager_overhead_bytes);
  return true;
}

Status Arriving::arrived(channel::Channel& channel, const wire::FrameHeader& header,
                         std::span<const std::byte> payload) {
  if (take_at_once(channel, header, payload)) [[likely]]
    return {};
  return take(channel, header, payload);
}

Status Arriving::take(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  try {
    return dispatch(channel, header, payload);
  } catch (const std::bad_alloc&) {
    return fail(Code::memory, "no memory to take a message of {} bytes from {}", header.first, channel.peer_name());
  }
}

Status Arriving::dispatch(channel::Channel& channel, const wire::FrameHeader& header,
                          std::span<const std::byte> payload) {
  Flow* flow = peers_.of(channel);
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
      return credit_.take(*flow, header.first);
    case wire::MessageKind::share:
      return share_arrived(*flow, header, payload);
    case wire::MessageKind::shared:
      return shared_arrived(*flow, header);
  }
  return fail(Code::protocol, "{} sends a message frame of unknown kind {:#04x}", channel.peer_name(), header.kind);
}

Status Arriving::eager_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (header.first != payload.size()) [[unlikely]] {
    return fail(Code::protocol, "{} sends a message of {} bytes in a frame of {}", peers_.name(flow.peer), header.first,
                payload.size());
  }
  const std::uint64_t charge = header.first + wire::eager_overhead_bytes;
  if (header.second != 0) COUPLET_TRY(credit_.take(flow, header.second));
  if (header.payload_bytes >= placed_bytes && end_placed(flow, header, payload)) return {};
  if (Request* request = matching_.match(flow, header.context, header.tag)) {
    Receiving::set_source(*request, flow, header.tag, header.first);
    receiving_.deliver(*request, payload, swaps(header));
    credit_.give_back(flow, charge);
    return {};
  }
  if (matching_.ended().has(header.context)) {
    credit_.give_back(flow, charge);
    return {};
  }
  const Arrival* arrival = matching_.store(flow, header, false);
  if (arrival == nullptr) {
    return fail(Code::limit, "{} has sent more than the {} bytes that may wait for a receive", peers_.name(flow.peer),
                flow.granted);
  }
  if (!payload.empty()) std::memcpy(arrival->storage, payload.data(), payload.size());
  return {};
}

// Ends an eager message for which the lane has asked where to put it. Returns false if it has not asked.
bool Arriving::end_placed(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (Arrival* arrival = std::exchange(flow.placing, nullptr)) {
    if (payload.data() != arrival->storage) std::memcpy(arrival->storage, payload.data(), payload.size());
    arrival->arriving = false;
    if (Request* claimant = arrival->claimed) {
      flow.active.remove(*claimant);
      receiving_.deliver(*claimant, {arrival->storage, arrival->bytes}, arrival->swap);
      receiving_.forget(*arrival);
    }
    return true;
  }
  Request* placed = std::exchange(flow.placed, nullptr);
  if (placed == nullptr && !std::exchange(flow.dropping, false)) return false;
  if (placed != nullptr) {
    flow.active.remove(*placed);
    receiving_.complete(*placed, payload.data(), swaps(header));
  }
  credit_.give_back(flow, header.first + wire::eager_overhead_bytes);
  return true;
}

Status Arriving::envelope_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  auto envelope = wire::decode_envelope(payload);
  if (!envelope.ok()) return envelope.status().within(peers_.name(flow.peer));
  memory_.prove(flow, *envelope);
  if (Request* request = matching_.match(flow, header.context, header.tag)) {
    Receiving::set_source(*request, flow, header.tag, header.first);
    request->swap = swaps(header);
    receiving_.begin_rendezvous(*request, header.first, header.second, envelope->address);
    return {};
  }
  if (matching_.ended().has(header.context)) {  // its sender would wait for ever
    frames_.post_done(flow, header.second);
    return {};
  }
  Arrival* arrival = matching_.store(flow, header, true);
  if (arrival == nullptr) {
    return fail(Code::limit, "{} has {} messages waiting here that nobody has received: more than may wait",
                peers_.name(flow.peer), flow.envelopes + 1);
  }
  arrival->cookie = header.second;
  arrival->address = envelope->address;
  return {};
}

Status Arriving::clear_arrived(Flow& flow, const wire::FrameHeader& header) {
  Request* request = requests_.find(header.second, flow, true);
  if (request == nullptr || request->stage != Stage::offered) {
    return fail(Code::protocol, "{} asks for a message that was not offered", peers_.name(flow.peer));
  }
  --flow.offered;
  sending_.send_pieces(*request, header.first);
  return {};
}

Status Arriving::data_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  Request* request = requests_.find(header.second, flow, false);
  if (request == nullptr || request->stage != Stage::collecting || header.first != request->moved ||
      payload.size() > request->total - request->moved || payload.empty()) {
    return fail(Code::protocol, "{} sends {} bytes of a message that was not asked for like that",
                peers_.name(flow.peer), payload.size());
  }
  std::byte* target = request->data + request->moved;
  if (payload.data() != target) std::memcpy(target, payload.data(), payload.size());
  request->moved += payload.size();
  if (request->moved < request->total) return {};
  flow.active.remove(*request);
  if (request->swap) swap_numbers(request->data, request->total, request->type->swap_bytes);
  requests_.finish(*request);
  return {};
}

Status Arriving::done_arrived(Flow& flow, const wire::FrameHeader& header) {
  Request* request = requests_.find(header.second, flow, true);
  if (request == nullptr || request->stage != Stage::offered) {
    return fail(Code::protocol, "{} has finished a message that was not offered", peers_.name(flow.peer));
  }
  --flow.offered;
  flow.active.remove(*request);
  requests_.finish(*request);
  return {};
}

// The receiver of a message from this process has begun to copy it.
Status Arriving::share_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  const Request* request = requests_.find(header.second, flow, true);
  if (request == nullptr || request->stage != Stage::offered) {
    return fail(Code::protocol, "{} shares a message that was not offered", peers_.name(flow.peer));
  }
  return sharing_.help(flow, *request, header, payload);
}

// The sender has copied its pieces.
Status Arriving::shared_arrived(Flow& flow, const wire::FrameHeader& header) {
  Request* request = requests_.find(header.second, flow, false);
  if (request == nullptr || request->stage != Stage::shared) {
    return fail(Code::protocol, "{} has copied pieces of a message that is not shared", peers_.name(flow.peer));
  }
  flow.active.remove(*request);
  receiving_.end_shared(*request, SharedCopy::end(flow, *request, header.first));
  return {};
}

void Arriving::lost(channel::Channel& channel, const Status& why) {
  if (!peers_.has(channel.peer())) return;
  try {
    Flow& flow = peers_.to(channel.peer());
    if (flow.channel != nullptr && flow.channel != &channel) return;  // this channel is of an earlier incarnation
    lose(flow, why);
  } catch (const std::bad_alloc&) {
    // Only Peers::to throws. No request depends on a peer without a state, and the membership tells of the loss again.
    return;
  }
}

void Arriving::lose(Flow& flow, const Status& why) noexcept {
  if (flow.lost) {
    flow.channel = nullptr;
    return;
  }
  peers_.lose(flow, why);
  flow.placed = nullptr;
  flow.dropping = false;
  flow.sharing = nullptr;
  matching_.lose(flow);
  flow.offered = flow.owed = 0;
  while (Request* request = flow.posted.pop_front()) {
    Peers::told(*request);
    requests_.finish(*request, flow.loss);
  }
  for (Request* request = flow.active.first(); request != nullptr;) {
    Request* next = RequestChain::after(*request);
    if (!is_under_way(*request)) {  // otherwise the channel gives it back to Sending
      flow.active.remove(*request);
      Peers::told(*request);
      requests_.finish(*request, flow.loss);
    }
    request = next;
  }
  flow.channel = nullptr;
  lose_any_source();
}

// Ends receives from any source for which no sender is left. The caller itself does not count as a sender, since it
// waits.
void Arriving::lose_any_source() {
  for (Request* request = matching_.any_source().first(); request != nullptr;) {
    Request* next = RequestChain::after(*request);
    if (const Status status = peers_.all_others_lost(*request->group); !status.ok()) {
      receiving_.end_with(*request, status);
    }
    request = next;
  }
}

}  // namespace couplet::message
