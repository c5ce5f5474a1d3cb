#include "message/matching.hpp"

#include <new>
#include <utility>

#include "message/frame_sender.hpp"
#include "message/options.hpp"

namespace couplet::message {

// Frees messages that no receive has asked for.
Matching::~Matching() {
  while (Arrival* arrival = arrivals_.pop_front()) release_storage(*arrival);
}

// Returns the first posted of the receives from this peer that take the message.
Request* Matching::first_posted(const Flow& flow, std::uint32_t context, std::int32_t tag) noexcept {
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

Request* Matching::match(Flow& flow, std::uint32_t context, std::int32_t tag) noexcept {
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

Arrival* Matching::store(Flow& flow, const wire::FrameHeader& header, bool is_envelope) {
  const std::uint64_t charge = is_envelope ? 0 : header.first + wire::eager_overhead_bytes;
  if (is_envelope ? flow.envelopes >= largest_envelope_count : flow.stored + charge > flow.granted) {
    return nullptr;
  }
  Arrival* arrival = pool_.take();
  arrival->storage = nullptr;
  if (!is_envelope) {
    try {
      arrival->storage = header.first <= Arrival::inline_bytes ? arrival->small.data() : blocks_.take(header.first);
    } catch (const std::bad_alloc&) {
      pool_.give(arrival);
      throw;
    }
  }
  arrival->flow = &flow;
  arrival->context = header.context;
  arrival->tag = header.tag;
  arrival->bytes = header.first;
  arrival->charge = charge;
  arrival->envelope = is_envelope;
  arrival->swap = swaps(header);
  arrival->arriving = false;
  arrival->dead = false;
  arrival->deaths = flow.deaths;
  arrival->claimed = nullptr;
  flow.stored += charge;
  flow.envelopes += is_envelope ? 1 : 0;
  flow.arrivals.push_back(*arrival);
  arrivals_.push_back(*arrival);
  if ((header.context & internal_context) == 0) counters_.add(counters::Counter::messages_unexpected);
  return arrival;
}

Arrival* Matching::search(const Request& request) const noexcept {
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

void Matching::release_storage(Arrival& arrival) noexcept {
  if (arrival.storage != nullptr && arrival.storage != arrival.small.data()) {
    blocks_.give(arrival.storage, arrival.bytes);
  }
  arrival.storage = nullptr;
}

std::uint64_t Matching::forget(Arrival& arrival) noexcept {
  Flow& flow = *arrival.flow;
  flow.arrivals.remove(arrival);
  arrivals_.remove(arrival);
  release_storage(arrival);
  const std::uint64_t charge = arrival.envelope ? 0 : arrival.charge;
  if (arrival.envelope && !arrival.dead) --flow.envelopes;
  flow.stored -= charge;
  pool_.give(&arrival);
  return charge;
}

void Matching::lose(Flow& flow) noexcept {
  if (Arrival* half = std::exchange(flow.placing, nullptr)) static_cast<void>(forget(*half));
  for (Arrival* arrival = flow.arrivals.first(); arrival != nullptr;) {
    Arrival* const next = ArrivalList::after(*arrival);
    arrival->charge = 0;
    arrival->dead = arrival->envelope;
    const bool greets = (arrival->context & internal_context) != 0 && arrival->tag == greeting_tag;
    if (greets && arrival->claimed == nullptr) static_cast<void>(forget(*arrival));
    arrival = next;
  }
  flow.stored = flow.envelopes = 0;
}

}  // namespace couplet::message
