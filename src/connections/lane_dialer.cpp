#include "connections/lane_dialer.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace couplet::connections {
namespace {

using channel::ChannelState;

bool is_over(const channel::LaneSlot& slot, std::string_view link) {
  return slot.serves() && slot.lane->traits().name == link;
}

// Returns how many lanes over that link the channel uses.
unsigned lanes_over(const channel::Channel& channel, std::string_view link) {
  const auto& slots = channel.sender().slots();
  return static_cast<unsigned>(
      std::count_if(slots.begin(), slots.end(), [link](const auto& slot) { return is_over(*slot, link); }));
}

const link::Lane& oldest_lane_over(const channel::Channel& channel, std::string_view link) {
  const channel::LaneSlot* oldest = nullptr;
  for (const auto& slot : channel.sender().slots()) {
    if (is_over(*slot, link) && (oldest == nullptr || slot->id < oldest->id)) {
      oldest = slot.get();
    }
  }
  return *oldest->lane;
}

link::Transport* transport_of(const TransportSet& transports, std::string_view link) {
  for (std::size_t index = 0; index < transports.count(); ++index) {
    if (transports.at(index).name() == link) {
      return &transports.at(index);
    }
  }
  return nullptr;
}

}  // namespace

void LaneDialer::begin(channel::PeerId peer, std::string_view first_link) {
  auto wanted = wanted_lanes(plan_, first_link);
  const auto found = peers_.find(peer);
  if (found != peers_.end() && found->second.all() == wanted) {
    return;
  }
  if (found != peers_.end()) {
    peers_.erase(found);
  }
  if (!wanted.empty()) {
    const std::uint64_t seed = (std::uint64_t{membership_.id()} << 32U) + peer;
    peers_.emplace(peer, MoreLanes(std::move(wanted), membership_.id() < peer, seed));
  }
}

void LaneDialer::dial_missing() {
  for (auto entry = peers_.begin(); entry != peers_.end();) {
    const channel::PeerId peer = entry->first;
    ++entry;
    dial_missing(peer);
  }
}

void LaneDialer::dial_missing(channel::PeerId peer) {
  const auto found = peers_.find(peer);
  const channel::Channel* const channel = found == peers_.end() ? nullptr : table_.find(peer);
  if (channel == nullptr || channel->state() != ChannelState::open || channel->resuming() || channel->shutting()) {
    return;
  }
  MoreLanes& more = found->second;
  std::vector<unsigned> present;
  for (const WantedLanes& lanes : more.all()) {
    present.push_back(lanes_over(*channel, lanes.link));
  }
  const auto link = more.next(present, os::now_ns());
  if (!link) {
    return;
  }
  link::Transport* const transport = transport_of(transports_, *link);
  if (transport == nullptr) {
    return more.failed(*link, fail(Code::unsupported, "this process does not have it"), os::now_ns());
  }
  auto address = transports_.address_of(*transport, peer);
  if (address.code() == Code::not_yet) {
    return;
  }
  transport->cancel(peer);
  if (address.ok()) {
    address->lanes = lanes_over(*channel, *link);
  }
  const auto lane = address.ok() ? transport->dial(*address, link::Purpose::more) : address.status();
  if (lane.code() == Code::not_yet) {  // all transports whose lanes may break answer later
    more.dialing(*link);
  } else {
    more.failed(*link, lane.status(), os::now_ns());
  }
}

Status LaneDialer::consider(const link::Transport& transport, const link::Offer& offer) const {
  const channel::PeerId peer = offer.peer.id;
  const channel::Channel* const channel = table_.find(peer);
  if (channel == nullptr || channel->state() != ChannelState::open) {
    return fail(Code::exists, "the connection is still being made");
  }
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.wanted(transport.name()) == 0) {
    return fail(Code::unsupported, "{} has one lane for this connection (its settings hybrid and tcp_streams)",
                membership_.peer_name(membership_.id()));
  }
  const unsigned wanted = found->second.wanted(transport.name());
  const unsigned present = lanes_over(*channel, transport.name());
  if (present >= wanted && offer.lanes && *offer.lanes >= present) {
    return fail(Code::unsupported, "{} uses {} lanes over {} for this connection (its setting tcp_streams)",
                membership_.peer_name(membership_.id()), wanted, transport.name());
  }
  return {};
}

// A peer that makes a lane although all seem to be there has lost one that seems whole here (see consider()): the
// oldest one retires. If that is another one, nothing is lost, and the peer makes it again.
void LaneDialer::add(const link::Transport& transport, channel::PeerId peer, std::unique_ptr<link::Lane> lane) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.wanted(transport.name()) == 0) {
    return lane->shut();
  }
  channel::Channel& channel = *table_.find(peer);
  const bool one_is_lost = lanes_over(channel, transport.name()) >= found->second.wanted(transport.name());
  const link::Lane* const old = one_is_lost ? &oldest_lane_over(channel, transport.name()) : nullptr;
  const auto retire_old = [&channel, old] {
    if (old != nullptr) {
      channel.break_lanes({Code::peer_lost, "the peer has lost this lane and made another one"}, old);
    }
  };
  const bool is_full = channel.lanes().size() == channel::max_lanes;
  found->second.made(transport.name());
  if (is_full) {
    retire_old();
  }
  static_cast<void>(table_.add_lane(peer, std::move(lane)));  // if the channel fails meanwhile, the lane is shut
  if (!is_full) {
    retire_old();
  }
  dial_missing(peer);
}

bool LaneDialer::failed(const link::Transport& transport, channel::PeerId peer, const Status& why) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || !found->second.is_dialing(transport.name())) {
    return false;
  }
  found->second.failed(transport.name(), why, os::now_ns());
  return true;
}

void LaneDialer::cancel(channel::PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return;
  }
  for (const WantedLanes& lanes : found->second.all()) {
    link::Transport* const transport = transport_of(transports_, lanes.link);
    if (transport != nullptr && found->second.is_dialing(lanes.link)) {
      transport->cancel(peer);
    }
  }
  found->second.cancelled();
}

void LaneDialer::cancel_all(channel::PeerId peer) {
  for (std::size_t index = 0; index < transports_.count(); ++index) {
    transports_.at(index).cancel(peer);
  }
  if (const auto found = peers_.find(peer); found != peers_.end()) {
    found->second.cancelled();
  }
}

void LaneDialer::forget(channel::PeerId peer) {
  cancel_all(peer);
  peers_.erase(peer);
}

LanesReport LaneDialer::report(channel::PeerId peer, const channel::Channel& channel) const {
  LanesReport report;
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return report;
  }
  for (const auto& slot : channel.sender().slots()) {
    if (slot->serves()) {
      report.lanes.push_back({.link = std::string(slot->lane->traits().name),
                              .carries = channel::carries(channel.sender().policy(), slot->use)});
    }
  }
  report.missing = found->second.reasons();
  return report;
}

}  // namespace couplet::connections
