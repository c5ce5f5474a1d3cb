#include "link/sim/sim_transport.hpp"

#include <utility>

#include "base/assert.hpp"

namespace couplet::link {

SimTransport::SimTransport(TransportHost& host, SimExchange& exchange, const Party& own)
    : host_(host), exchange_(exchange), own_(own) {
  exchange_.transports_[own.id] = this;
}

SimTransport::~SimTransport() {
  if (exchange_.transports_[own_.id] == this) {
    exchange_.transports_.erase(own_.id);
  }
  for (const Incoming& incoming : offers_) {
    if (const auto dialer = exchange_.transports_.find(incoming.offer.peer.id); dialer != exchange_.transports_.end()) {
      dialer->second->outcomes_.push_back(
          {.peer = own_.id, .number = incoming.number, .why = fail(Code::peer_lost, "sim: {} has ended", own_.id)});
    }
  }
}

Result<std::unique_ptr<Lane>> SimTransport::dial(const Address& peer, Purpose purpose) {
  if (peer.contact.empty()) {
    return fail(Code::unsupported, "sim: it has no contact");
  }
  const Dial dial{.peer = peer.party, .purpose = purpose, .number = next_number_++};
  COUPLET_ASSERT(dials_.emplace(peer.party.id, dial).second);  // the host cancels the earlier one first
  const auto target = exchange_.transports_.find(peer.party.id);
  if (target == exchange_.transports_.end()) {
    outcomes_.push_back({.peer = peer.party.id,
                         .number = dial.number,
                         .why = fail(Code::peer_lost, "sim: nobody answers as {}", peer.party.id)});
  } else {
    target->second->offers_.push_back({{own_, purpose}, peer.party, dial.number});
  }
  return Code::not_yet;
}

int SimTransport::poll(std::uint64_t /*now_ns*/) {
  int work = 0;
  for (std::size_t left = offers_.size(); left > 0; --left) {
    Incoming incoming = offers_.front();
    offers_.pop_front();
    if (!answer(incoming)) {
      offers_.push_back(incoming);
    } else {
      ++work;
    }
  }
  for (std::size_t left = outcomes_.size(); left > 0; --left) {
    Outcome outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    tell(std::move(outcome));
    ++work;
  }
  return work;
}

bool SimTransport::answer(const Incoming& incoming) {
  const Party& peer = incoming.offer.peer;
  Status status = incoming.target == own_
                      ? host_.consider(*this, incoming.offer)
                      : fail(Code::mismatch, "sim: {} (incarnation {}) was dialed, but incarnation {} answers", own_.id,
                             incoming.target.incarnation, own_.incarnation);
  if (status.code() == Code::not_yet) {
    return false;
  }
  if (status.ok() && dials_.contains(peer.id) && own_.id < peer.id) {
    status = fail(Code::exists, "both have dialed; the dial of the lower number is used");
  }
  const auto dialer = exchange_.transports_.find(peer.id);
  if (dialer == exchange_.transports_.end() || dialer->second->own_ != peer) {
    return true;  // it has ended
  }
  const auto dial = dialer->second->dials_.find(own_.id);
  if (dial == dialer->second->dials_.end() || dial->second.number != incoming.number) {
    return true;  // it was cancelled
  }
  Outcome outcome{.peer = own_.id, .number = incoming.number, .why = status};
  if (status.ok()) {
    auto [theirs, ours] = exchange_.network().connect(static_cast<SimNetwork::Endpoint>(peer.id),
                                                      static_cast<SimNetwork::Endpoint>(own_.id));
    outcome.lane = std::move(theirs);
    dialer->second->outcomes_.push_back(std::move(outcome));
    cancel(peer.id);
    host_.connected(*this, incoming.offer, std::move(ours), Origin::offered);
  } else {
    dialer->second->outcomes_.push_back(std::move(outcome));
  }
  return true;
}

void SimTransport::tell(Outcome outcome) {
  const auto dial = dials_.find(outcome.peer);
  if (dial == dials_.end() || dial->second.number != outcome.number) {
    return;  // the dial was cancelled, and the lane ends here
  }
  const Dial done = dial->second;
  dials_.erase(dial);
  if (outcome.lane) {
    host_.connected(*this, {done.peer, done.purpose}, std::move(outcome.lane), Origin::dialed);
  } else {
    host_.not_connected(*this, done.peer, outcome.why);
  }
}

}  // namespace couplet::link
