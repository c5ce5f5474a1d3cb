#include "runtime/reach.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <utility>

#include "link/self/self_lane.hpp"
#include "os/clock.hpp"

namespace couplet::runtime {
namespace {

using universe::PeerState;

bool gone(const universe::PeerInfo& info) {
  return info.state == PeerState::left || info.state == PeerState::lost;
}

os::Endpoint endpoint_of(const universe::PeerInfo& info) {
  os::Endpoint endpoint;
  endpoint.address = info.address;
  endpoint.port = info.port;
  return endpoint;
}

channel::HandshakeSelf handshake_self(const universe::Membership& membership) {
  channel::HandshakeSelf self;
  self.id = membership.id();
  self.role = self.id >= channel::first_relay_peer ? wire::Role::relay : wire::Role::rank;
  self.incarnation = membership.peer(self.id).incarnation;
  self.run_id = membership.run_id();
  self.features = channel::feature_cma | channel::features_of(membership.protection());
  if (crypto_aead_aes256gcm_is_available() != 0) {
    self.features |= channel::feature_aes256_gcm;
  }
  return self;
}

}  // namespace

Reach::Reach(universe::Membership& membership, engine::Engine& engine, const ReachOptions& options,
             counters::Counters& counters)
    : membership_(membership),
      engine_(engine),
      options_(options),
      counters_(counters),
      table_(*this, {}),
      sources_(engine, table_) {
  engine_.add(arrivals_, engine::Rate::often);
}

Reach::~Reach() {
  meetings_.reset();
  engine_.remove(arrivals_);
}

Result<std::unique_ptr<Reach>> Reach::open(universe::Membership& membership, engine::Engine& engine,
                                           std::unique_ptr<link::TcpListener> listener, const ReachOptions& options,
                                           counters::Counters& counters) {
  std::unique_ptr<Reach> reach(new Reach(membership, engine, options, counters));
  if (options.shm) {
    COUPLET_TRY_VALUE(reach->shm_, link::ShmLink::open(membership.node_directory(), reach->shm_peer(membership.id()),
                                                       options.shm_options));
  }
  if (options.tcp && listener) {
    COUPLET_TRY_VALUE(reach->meetings_, TcpMeetings::open(*reach, engine, std::move(listener), membership.secret(),
                                                          handshake_self(membership), options.tcp_options));
  }
  return reach;
}

link::ShmPeer Reach::shm_peer(channel::PeerId peer) const {
  const auto& info = membership_.peer(peer);
  return {peer, info.incarnation, info.memory_nonce};
}

// ---- opening ---------------------------------------------------------------------------------------------------------

bool Reach::knows(channel::PeerId peer, std::uint16_t incarnation) const {
  const auto found = contacts_.find(peer);
  return found != contacts_.end() && found->second.incarnation == incarnation;
}

Result<channel::Channel*> Reach::channel_to(channel::PeerId peer) {
  const auto& info = membership_.peer(peer);
  if (!knows(peer, info.incarnation)) {
    if (gone(info)) {
      return fail(Code::peer_lost, "{} is gone", membership_.peer_name(peer));
    }
    retire(peer);
  }
  return table_.find_or_open(peer);
}

// The channel of an earlier incarnation: its handlers are told at once, before anything comes from the new one.
void Reach::retire(channel::PeerId peer) {
  if (channel::Channel* const old = table_.find(peer)) {
    table_.forget(peer, fail(Code::peer_lost, "{} came again", old->peer_name()));
    old->poll(1);
  }
  if (meetings_) {
    meetings_->hang_up(peer);
  }
  contacts_.erase(peer);
}

Result<std::unique_ptr<link::Lane>> Reach::connect(channel::PeerId peer) {
  Contact contact;
  auto lane = lane_to(peer, contact);
  if (lane.ok() || lane.code() == Code::not_yet) {
    contacts_[peer] = std::move(contact);
  }
  return lane;
}

Result<std::unique_ptr<link::Lane>> Reach::lane_to(channel::PeerId peer, Contact& contact) {
  const auto& info = membership_.peer(peer);
  contact.incarnation = info.incarnation;
  contact.waiting = info.state == PeerState::absent;
  if (contact.waiting) {
    return Code::not_yet;  // tried again at each tick
  }
  if (peer == membership_.id()) {
    contact.why = "the process itself";
    return link::make_self_lane();
  }
  contact.why = "shm is switched off";
  if (shm_ && info.node == membership_.node()) {
    auto lane = shm_->connect(shm_peer(peer));
    if (lane) {
      contact.why = "memory is shared: its page was opened and holds its nonce";
      return lane;
    }
    contact.why = lane.status().text();
  } else if (shm_) {
    contact.why = "another node";
  }
  if (!meetings_) {
    return fail(Code::unsupported, "no link to {}: {}; tcp is switched off", membership_.peer_name(peer), contact.why);
  }
  if (const Status called = meetings_->call(peer, info.incarnation, endpoint_of(info)); !called.ok()) {
    return called.within("calling " + membership_.peer_name(peer));
  }
  return Code::not_yet;
}

// ---- those who come --------------------------------------------------------------------------------------------------

void Reach::adopt(channel::PeerId peer, std::uint16_t incarnation, std::unique_ptr<link::Lane> lane, std::string why) {
  if (!knows(peer, incarnation)) {
    retire(peer);
    contacts_[peer].incarnation = incarnation;
  }
  if (table_.adopt(peer, std::move(lane)).ok()) {  // else there is an open channel, which stays
    Contact& contact = contacts_[peer];
    contact.waiting = false;
    if (!why.empty()) {
      contact.why = std::move(why);
    }
  }
}

int Reach::take_knocks() {
  auto knocks = known_knocks();
  if (membership_.page().knocked()) {
    const auto fresh = membership_.page().take_knocks(channel::first_relay_peer);
    knocks.insert(knocks.end(), fresh.begin(), fresh.end());
  }
  for (const channel::PeerId peer : knocks) {
    answer_knock(peer);
  }
  return static_cast<int>(knocks.size());
}

void Reach::answer_knock(channel::PeerId peer) {
  if (!shm_) {
    return;
  }
  const auto& info = membership_.peer(peer);
  Result<std::unique_ptr<link::Lane>> lane = Code::unsupported;
  if (info.state == PeerState::present) {
    lane = shm_->accept(shm_peer(peer));
  }
  if (lane) {
    adopt(peer, info.incarnation, std::move(*lane), "memory is shared: it came with a ring");
  } else if (lane.code() == Code::unsupported) {  // the hub has not told us yet who that is
    open_knocks_[peer] = {info.state, info.incarnation};
  }  // else it has gone again, or this side had joined the ring already
}

std::vector<channel::PeerId> Reach::known_knocks() {
  std::vector<channel::PeerId> known;
  std::erase_if(open_knocks_, [&](const auto& entry) {
    const auto& info = membership_.peer(entry.first);
    const bool changed = info.state != entry.second.state || info.incarnation != entry.second.incarnation;
    if (changed) {
      known.push_back(entry.first);
    }
    return changed;
  });
  return known;
}

Status Reach::may_enter(const channel::HandshakePeer& peer) {
  const auto& info = membership_.peer(peer.id);
  if (peer.incarnation > info.incarnation) {
    return Code::not_yet;  // what the hub says of the one before comes first
  }
  if (peer.incarnation < info.incarnation || gone(info)) {
    return fail(Code::peer_lost, "{} counts as lost here", membership_.peer_name(peer.id));
  }
  const channel::Channel* const known = knows(peer.id, peer.incarnation) ? table_.find(peer.id) : nullptr;
  if (known != nullptr && known->state() == channel::ChannelState::failed) {
    return fail(Code::peer_lost, "the connection has broken: {}", known->failure().text());
  }
  if (known != nullptr && known->state() == channel::ChannelState::open) {
    return fail(Code::exists, "there is a channel already");
  }
  return {};
}

void Reach::met(channel::PeerId peer, std::unique_ptr<link::Lane> lane, const channel::HandshakePeer& proven) {
  adopt(peer, proven.incarnation, std::move(lane), knows(peer, proven.incarnation) ? "" : "it called by tcp");
}

void Reach::not_met(channel::PeerId peer, const Status& why) {
  const channel::Channel* const channel = table_.find(peer);
  if (channel != nullptr && channel->state() == channel::ChannelState::opening) {
    table_.fail(peer,
                fail(Code::peer_lost, "{} cannot be reached by tcp: {}", membership_.peer_name(peer), why.text()));
  }
}

std::string Reach::meeting_name(channel::PeerId peer) const {
  return peer == channel::no_peer ? "a caller" : membership_.peer_name(peer);
}

int Reach::Arrivals::poll(std::uint64_t /*now_ns*/, int /*budget*/) {
  return ready() || !reach_.open_knocks_.empty() ? reach_.take_knocks() : 0;
}

void Reach::Arrivals::tick(std::uint64_t /*now_ns*/) {
  reach_.look_for_absent();
  reach_.look_for_returned();
  reach_.count();
}

void Reach::look_for_absent() {
  std::vector<channel::PeerId> arrived;
  for (auto& [peer, contact] : contacts_) {
    if (contact.waiting && membership_.peer(peer).state != PeerState::absent) {
      contact.waiting = false;
      arrived.push_back(peer);
    }
  }
  for (const channel::PeerId peer : arrived) {
    auto lane = connect(peer);
    if (lane.ok()) {
      static_cast<void>(table_.adopt(peer, std::move(*lane)));
    } else if (lane.code() != Code::not_yet) {
      not_met(peer, lane.status());
    }
  }
}

void Reach::look_for_returned() {
  for (auto entry = lost_.begin(); entry != lost_.end();) {
    const auto& info = membership_.peer(entry->first);
    if (info.state == PeerState::present && info.incarnation != entry->second) {
      if (!knows(entry->first, info.incarnation)) {
        retire(entry->first);
      }
      if (messenger_ != nullptr && entry->first < channel::first_relay_peer) {
        messenger_->peer_returned(entry->first);
      }
      entry = lost_.erase(entry);
    } else {
      ++entry;
    }
  }
}

// Sums over all channels, so that a frame costs nothing here.
void Reach::count() {
  using counters::Counter;
  std::array<std::uint64_t, 4> sums{};
  table_.for_each([&sums](const channel::Channel& channel) {
    sums[0] += channel.frames_sent();
    sums[1] += channel.frames_received();
    sums[2] += channel.opened() ? 1U : 0U;
    const bool failed = channel.state() == channel::ChannelState::failed;
    sums[3] += failed && channel.opened() && channel.failure().code() != Code::end ? 1U : 0U;
  });
  counters_.set(Counter::frames_sent, sums[0]);
  counters_.set(Counter::frames_received, sums[1]);
  counters_.set(Counter::connections_opened, sums[2]);
  counters_.set(Counter::connections_lost, sums[3]);
}

// ---- ends ------------------------------------------------------------------------------------------------------------

void Reach::lost(channel::PeerId peer, const Status& why) {
  lost_[peer] = membership_.peer(peer).incarnation;
  if (channel::Channel* const channel = table_.find(peer)) {
    // What it sent before it went lies in the ring, and counts; it cannot send more, so that this ends.
    while (channel->state() == channel::ChannelState::open && channel->poll(64) > 0) {
    }
    table_.fail(peer, why);
  }
  if (messenger_ != nullptr && peer < channel::first_relay_peer) {
    messenger_->peer_lost(peer, why);
  }
}

void Reach::shut(std::uint64_t deadline_ns) {
  table_.shut();
  // What went through memory that the peer has joined stays there; what went into a socket has to be taken.
  const auto arriving = [this] {
    bool any = false;
    table_.for_each([&any](const channel::Channel& channel) {
      const auto& lanes = channel.lanes();
      const bool there = std::all_of(lanes.begin(), lanes.end(),
                                     [](const auto& lane) { return lane->joined() && lane->descriptor() < 0; });
      any = any || (channel.state() == channel::ChannelState::open && (channel.sending() || !there));
    });
    return any;
  };
  static_cast<void>(
      engine_.wait([&] { return !arriving(); }, deadline_ns, [] { return "the last bytes to be taken"; }));
}

std::vector<ReachReport> Reach::report() const {
  std::vector<ReachReport> result;
  for (const auto& [peer, contact] : contacts_) {
    const channel::Channel* const channel = table_.find(peer);
    if (channel != nullptr) {
      const bool open = channel->state() == channel::ChannelState::open;
      result.push_back({peer, channel->peer_name(), open ? std::string(channel->traits().name) : "",
                        open ? contact.why : channel->failure().text()});
    }
  }
  return result;
}

}  // namespace couplet::runtime
