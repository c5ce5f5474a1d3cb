#include "runtime/reach.hpp"

#include <sodium.h>

#include <algorithm>
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
  self.features = channel::feature_cma;
  if (membership.encrypt()) {
    self.features |= channel::feature_encryption;
  }
  if (crypto_aead_aes256gcm_is_available() != 0) {
    self.features |= channel::feature_aes256_gcm;
  }
  return self;
}

}  // namespace

Reach::Reach(universe::Membership& membership, engine::Engine& engine, const ReachOptions& options)
    : membership_(membership), engine_(engine), options_(options) {
  engine_.add(memory_, engine::Rate::often);
  engine_.add(sockets_, engine::Rate::seldom);
}

Reach::~Reach() {
  for (auto& [peer, contact] : contacts_) {
    unwatch(*contact);
  }
  meetings_.reset();
  engine_.remove(sockets_);
  engine_.remove(memory_);
}

Result<std::unique_ptr<Reach>> Reach::open(universe::Membership& membership, engine::Engine& engine,
                                           std::unique_ptr<link::TcpListener> listener, const ReachOptions& options) {
  std::unique_ptr<Reach> reach(new Reach(membership, engine, options));
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

void Reach::set_handler(wire::FrameFamily family, channel::FrameHandler& handler) {
  handlers_[static_cast<std::size_t>(family)] = &handler;
}

link::ShmPeer Reach::shm_peer(channel::PeerId peer) const {
  const auto& info = membership_.peer(peer);
  return {peer, info.incarnation, info.memory_nonce};
}

// ---- opening ---------------------------------------------------------------------------------------------------------

Reach::Contact* Reach::find(channel::PeerId peer, std::uint16_t incarnation) const {
  const auto found = contacts_.find(peer);
  return found != contacts_.end() && found->second->incarnation == incarnation ? found->second.get() : nullptr;
}

Result<channel::Channel*> Reach::channel_to(channel::PeerId peer) {
  const auto& info = membership_.peer(peer);
  if (const Contact* known = find(peer, info.incarnation)) {
    return known->channel.get();
  }
  if (gone(info)) {
    return fail(Code::peer_lost, "{} is gone", membership_.peer_name(peer));
  }
  Contact& contact = make_contact(peer, info.incarnation);
  COUPLET_TRY(connect(peer, contact));
  return contact.channel.get();
}

Reach::Contact& Reach::make_contact(channel::PeerId peer, std::uint16_t incarnation) {
  retire(peer);
  auto contact = std::make_unique<Contact>();
  contact->channel = std::make_unique<channel::Channel>(peer, membership_.peer_name(peer), handlers_);
  contact->incarnation = incarnation;
  return *(contacts_[peer] = std::move(contact));
}

// The channel of an earlier incarnation.
void Reach::retire(channel::PeerId peer) {
  const auto found = contacts_.find(peer);
  if (found == contacts_.end()) {
    return;
  }
  Contact& old = *found->second;
  unwatch(old);
  std::erase(memory_.contacts, &old);
  std::erase(sockets_.contacts, &old);
  if (old.channel->state() != channel::ChannelState::failed) {
    old.channel->fail(fail(Code::peer_lost, "{} came again", old.channel->peer_name()));
    old.channel->poll(1);
  }
  retired_.push_back(std::move(found->second));
  contacts_.erase(found);
}

// Fails a channel; whether or not it has a lane, the next poll tells its handlers.
void Reach::tell_failure(Contact& contact, const Status& why) {
  const bool polled = contact.channel->state() == channel::ChannelState::open;
  contact.channel->fail(why);
  if (!polled) {
    memory_.contacts.push_back(&contact);
  }
}

Status Reach::connect(channel::PeerId peer, Contact& contact) {
  const auto& info = membership_.peer(peer);
  contact.waiting = info.state == PeerState::absent;
  if (contact.waiting) {
    return {};  // tried again at each tick
  }
  if (peer == membership_.id()) {
    COUPLET_TRY_VALUE(auto lane, link::make_self_lane());
    attach(contact, std::move(lane), "the process itself");
    return {};
  }
  std::string why_not = "shm is switched off";
  if (shm_ && info.node == membership_.node()) {
    auto lane = shm_->connect(shm_peer(peer));
    if (lane) {
      attach(contact, std::move(*lane), "memory is shared: its page was opened and holds its nonce");
      return {};
    }
    why_not = lane.status().text();
  } else if (shm_) {
    why_not = "another node";
  }
  return call(peer, contact, why_not);
}

Status Reach::call(channel::PeerId peer, Contact& contact, const std::string& why_not_memory) {
  const auto& info = membership_.peer(peer);
  if (!meetings_) {
    return fail(Code::unsupported, "no link to {}: {}; tcp is switched off", membership_.peer_name(peer),
                why_not_memory);
  }
  contact.why = why_not_memory;
  return meetings_->call(peer, info.incarnation, endpoint_of(info));
}

void Reach::attach(Contact& contact, std::unique_ptr<link::Lane> lane, std::string why) {
  contact.socket = lane->descriptor() >= 0;
  contact.waiting = false;
  if (!why.empty()) {
    contact.why = std::move(why);
  }
  contact.channel->attach(std::move(lane));
  (contact.socket ? sockets_ : memory_).contacts.push_back(&contact);
  watch(contact);
}

// ---- those who come --------------------------------------------------------------------------------------------------

int Reach::take_knocks() {
  auto knocks = membership_.page().take_knocks(channel::first_relay_peer);
  knocks.insert(knocks.end(), open_knocks_.begin(), open_knocks_.end());
  open_knocks_.clear();
  for (const channel::PeerId peer : knocks) {
    if (!answer_knock(peer)) {
      open_knocks_.push_back(peer);
    }
  }
  return static_cast<int>(knocks.size() - open_knocks_.size());
}

bool Reach::answer_knock(channel::PeerId peer) {
  const auto& info = membership_.peer(peer);
  if (info.state == PeerState::absent || !shm_) {
    return !shm_;
  }
  auto lane = shm_->accept(shm_peer(peer));
  if (!lane) {
    return true;  // it has gone again, or this side had joined the ring already
  }
  Contact* known = find(peer, info.incarnation);
  attach(known != nullptr ? *known : make_contact(peer, info.incarnation), std::move(*lane),
         "memory is shared: it came with a ring");
  return true;
}

Status Reach::may_enter(const channel::HandshakePeer& peer) {
  const auto& info = membership_.peer(peer.id);
  if (peer.incarnation < info.incarnation || (peer.incarnation == info.incarnation && gone(info))) {
    return fail(Code::peer_lost, "{} counts as lost here", membership_.peer_name(peer.id));
  }
  const Contact* known = find(peer.id, peer.incarnation);
  if (known != nullptr && known->channel->state() != channel::ChannelState::opening) {
    return fail(Code::exists, "there is a channel already");
  }
  return {};
}

void Reach::met(channel::PeerId peer, std::unique_ptr<link::Lane> lane, const channel::HandshakePeer& proven) {
  Contact* known = find(peer, proven.incarnation);
  Contact& contact = known != nullptr ? *known : make_contact(peer, proven.incarnation);
  attach(contact, std::move(lane), contact.why.empty() ? "it called by tcp" : "");
}

void Reach::not_met(channel::PeerId peer, const Status& why) {
  const auto found = contacts_.find(peer);
  if (found != contacts_.end() && found->second->channel->state() == channel::ChannelState::opening) {
    tell_failure(*found->second,
                 fail(Code::peer_lost, "{} cannot be reached by tcp: {}", membership_.peer_name(peer), why.text()));
  }
}

std::string Reach::meeting_name(channel::PeerId peer) const {
  return peer == channel::no_peer ? "a caller" : membership_.peer_name(peer);
}

// ---- polling ---------------------------------------------------------------------------------------------------------

int Reach::Part::poll(std::uint64_t /*now_ns*/, int budget) {
  int work =
      !sockets_ && (reach_.membership_.page().knocked() || !reach_.open_knocks_.empty()) ? reach_.take_knocks() : 0;
  for (std::size_t index = 0; index < contacts.size(); ++index) {  // handlers may open more channels
    Contact& contact = *contacts[index];
    work += contact.channel->poll(budget);
    if (contact.watched >= 0) {
      reach_.watch(contact);
    }
    if (contact.channel->settled()) {
      reach_.unwatch(contact);
      contact.channel->release_lanes();
      contacts.erase(contacts.begin() + static_cast<std::ptrdiff_t>(index--));
    }
  }
  return work;
}

bool Reach::Part::ready() const {
  return (!sockets_ && reach_.membership_.page().knocked()) ||
         std::any_of(contacts.begin(), contacts.end(),
                     [](const Contact* contact) { return contact->channel->ready(); });
}

void Reach::Part::tick(std::uint64_t /*now_ns*/) {
  if (!sockets_) {
    reach_.look_for_returned();
  }
}

void Reach::watch(Contact& contact) {
  if (contact.channel->lanes().empty()) {
    return;
  }
  const auto& lane = *contact.channel->lanes().front();
  const bool write = lane.want_write();
  if (lane.descriptor() < 0 || (contact.watched == lane.descriptor() && contact.watched_write == write)) {
    return;
  }
  if (engine_.watch(lane.descriptor(), write, sockets_).ok()) {
    contact.watched = lane.descriptor();
    contact.watched_write = write;
  }
}

void Reach::unwatch(Contact& contact) {
  if (contact.watched >= 0) {
    engine_.unwatch(std::exchange(contact.watched, -1));
  }
}

void Reach::look_for_returned() {
  std::vector<channel::PeerId> arrived;
  for (const auto& [peer, contact] : contacts_) {
    if (contact->waiting && membership_.peer(peer).state != PeerState::absent) {
      arrived.push_back(peer);
    }
  }
  for (const channel::PeerId peer : arrived) {
    const Status connected = connect(peer, *contacts_[peer]);
    if (!connected.ok()) {
      not_met(peer, connected);
    }
  }
  for (auto entry = lost_.begin(); entry != lost_.end();) {
    const auto& info = membership_.peer(entry->first);
    if (info.state == PeerState::present && info.incarnation != entry->second) {
      retire(entry->first);
      if (messenger_ != nullptr) {
        messenger_->peer_returned(entry->first);
      }
      entry = lost_.erase(entry);
    } else {
      ++entry;
    }
  }
}

// ---- ends ------------------------------------------------------------------------------------------------------------

void Reach::lost(channel::PeerId peer, const Status& why) {
  lost_[peer] = membership_.peer(peer).incarnation;
  const auto found = contacts_.find(peer);
  if (found != contacts_.end()) {
    Contact& contact = *found->second;
    // What it sent before it went lies in the ring, and counts; it cannot send more, so that this ends.
    while (contact.channel->state() == channel::ChannelState::open && contact.channel->poll(64) > 0) {
    }
    if (contact.channel->state() != channel::ChannelState::failed) {
      tell_failure(contact, why);
    }
  }
  if (messenger_ != nullptr && peer < channel::first_relay_peer) {
    messenger_->peer_lost(peer, why);
  }
}

void Reach::shut(std::uint64_t deadline_ns) {
  for (auto& [peer, contact] : contacts_) {
    contact->channel->shut();
  }
  // What went through memory that the peer has joined stays there; what went into a socket has to be taken.
  const auto arriving = [&] {
    return std::any_of(contacts_.begin(), contacts_.end(), [](const auto& entry) {
      const auto& [peer, contact] = entry;
      const auto& lanes = contact->channel->lanes();
      const bool open = contact->channel->state() == channel::ChannelState::open;
      const bool joined = std::all_of(lanes.begin(), lanes.end(), [](const auto& lane) { return lane->joined(); });
      return open && (contact->socket || contact->channel->sending() || !joined);
    });
  };
  static_cast<void>(
      engine_.wait([&] { return !arriving(); }, deadline_ns, [] { return "the last bytes to be taken"; }));
}

std::vector<ReachReport> Reach::report() const {
  std::vector<ReachReport> result;
  for (const auto& [peer, contact] : contacts_) {
    const auto& channel = *contact->channel;
    const bool open = channel.state() == channel::ChannelState::open;
    result.push_back({peer, channel.peer_name(), open ? std::string(channel.traits().name) : "",
                      open ? contact->why : channel.failure().text()});
  }
  return result;
}

}  // namespace couplet::runtime
