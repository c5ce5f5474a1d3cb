#include "connections/lane_dialer.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace couplet::connections {
namespace {

using channel::ChannelState;

// Returns the lanes of the channel over that link which have not broken, the oldest one first.
std::vector<const channel::LaneSlot*> lanes_over(const channel::Channel& channel, std::string_view link) {
  std::vector<const channel::LaneSlot*> found;
  for (const auto& slot : channel.sender().slots()) {
    if (slot->stage != channel::LaneStage::lost && slot->lane->traits().name == link) {
      found.push_back(slot.get());
    }
  }
  std::sort(found.begin(), found.end(), [](const auto* one, const auto* other) { return one->id < other->id; });
  return found;
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
    present.push_back(static_cast<unsigned>(lanes_over(*channel, lanes.link).size()));
  }
  const auto link = more.next(present, os::now_ns());
  if (!link) {
    return;
  }
  link::Transport* const transport = transport_of(transports_, *link);
  if (transport == nullptr) {
    return more.failed(*link, fail(Code::unsupported, "this process does not have it"), os::now_ns());
  }
  const auto address = transports_.address_of(*transport, peer);
  if (address.code() == Code::not_yet) {
    return;
  }
  transport->cancel(peer);
  const auto lane = address.ok() ? transport->dial(*address, link::Purpose::more) : address.status();
  if (lane.code() == Code::not_yet) {  // all transports whose lanes may break answer later
    more.dialing(*link);
  } else {
    more.failed(*link, lane.status(), os::now_ns());
  }
}

Status LaneDialer::consider(const link::Transport& transport, channel::PeerId peer) const {
  const channel::Channel* const channel = table_.find(peer);
  if (channel == nullptr || channel->state() != ChannelState::open) {
    return fail(Code::exists, "the connection is still being made");
  }
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.wanted(transport.name()) == 0) {
    return fail(Code::unsupported, "{} has one lane for this connection (its settings hybrid and tcp_streams)",
                membership_.peer_name(membership_.id()));
  }
  return {};
}

// A peer that makes more lanes than there may be has lost one that seems whole here: the oldest one is dropped. If that
// is another one, nothing is lost, and the peer makes it again.
void LaneDialer::add(const link::Transport& transport, channel::PeerId peer, std::unique_ptr<link::Lane> lane) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.wanted(transport.name()) == 0) {
    return lane->shut();
  }
  channel::Channel& channel = *table_.find(peer);
  const auto present = lanes_over(channel, transport.name());
  if (present.size() >= found->second.wanted(transport.name())) {
    channel.break_lanes({Code::peer_lost, "the peer has lost this lane and made another one"}, present.front()->lane);
  }
  found->second.made(transport.name());
  static_cast<void>(table_.add_lane(peer, std::move(lane)));  // if the channel fails meanwhile, the lane is shut
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
    if (slot->stage != channel::LaneStage::lost) {
      report.lanes.push_back({.link = std::string(slot->lane->traits().name),
                              .carries = channel::carries(channel.sender().policy(), slot->use)});
    }
  }
  report.missing = found->second.reasons();
  return report;
}

}  // namespace couplet::connections
