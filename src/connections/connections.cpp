#include "connections/connections.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "channel/progress.hpp"
#include "os/clock.hpp"

namespace couplet::connections {
namespace {

using channel::ChannelState;
using link::Address;
using link::Lane;
using link::Offer;
using link::Origin;
using link::Party;
using link::Purpose;
using link::Transport;
using universe::LossProof;
using universe::PeerState;

constexpr int min_refusals = 3;
constexpr int max_futile_at_once = 8;
// The network brings something of what a process sent before it left, or its end, within this time.
constexpr std::uint64_t max_silence_ns = 5'000'000'000;
// How long receives wait for a hub that is away before they dial their sources. `couplet run` starts it again sooner.
constexpr std::uint64_t hub_patience_ns = 5'000'000'000;

bool gone(const universe::PeerInfo& info) {
  return info.state == PeerState::left || info.state == PeerState::lost;
}

// Does this process lack something (descriptors, memory)? Its caller can do something about that, so it is told at
// once.
bool own_lack(Code code) {
  return code == Code::limit || code == Code::memory;
}

// Returns the error of a walk that has failed.
Status given_up(const std::string& peer_name, const Walk& walk) {
  const Code code = verdict_of(walk.code()) == Verdict::never ? Code::unsupported : Code::peer_lost;
  return fail(code, "no connection to {}: {}", peer_name, walk.reasons());
}

// Sums up the numbers of all channels, so that counting costs nothing for each frame.
void update_counters(const channel::ChannelTable& table, counters::Counters& counters) {
  using counters::Counter;
  std::array<std::uint64_t, 4> sums{};
  table.for_each([&sums](const channel::Channel& channel) {
    sums[0] += channel.frames_sent();
    sums[1] += channel.frames_received();
    sums[2] += channel.opened() ? 1U : 0U;
    const bool failed = channel.state() == ChannelState::failed;
    sums[3] += failed && channel.opened() && channel.failure().code() != Code::end ? 1U : 0U;
  });
  counters.set(Counter::frames_sent, sums[0]);
  counters.set(Counter::frames_received, sums[1]);
  counters.set(Counter::connections_opened, sums[2]);
  counters.set(Counter::connections_lost, sums[3]);
}

}  // namespace

Connections::Connections(universe::Membership& membership, engine::Engine& engine, const ConnectionsOptions& options,
                         counters::Counters& counters)
    : TransportSet(engine),
      membership_(membership),
      engine_(engine),
      options_(options),
      counters_(counters),
      table_(*this, {}, {.resume = true, .patience_ns = os::never, .policy = options.policy}),
      sources_(engine, table_),
      more_(membership, *this, table_, options.lanes) {
  engine_.add(ticks_, engine::Rate::often);
  membership_.on_call_back([this](channel::PeerId peer) { call_back(peer); });
}

Connections::~Connections() {
  membership_.on_call_back({});
  clear();
  engine_.remove(ticks_);
}

// ---- opening --------------------------------------------------------------------------------------------------------

bool Connections::knows(channel::PeerId peer, std::uint16_t incarnation) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.incarnation == incarnation;
}

Result<channel::Channel*> Connections::channel_to(channel::PeerId peer) {
  const auto& info = membership_.peer(peer);
  if (!knows(peer, info.incarnation)) {
    if (gone(info)) {
      return fail(Code::peer_lost, "{} is gone", membership_.peer_name(peer));
    }
    retire(peer);
  }
  return table_.find_or_open(peer);
}

// The hub tells of all deaths, and locks tell of those on this node. Without a hub, the death of a process on another
// node shows only in a connection to it. The hub is given time to come back first, since a firewall may refuse what
// this process dials although the peer lives. A hub that was away may not know of a death either: a peer that died
// meanwhile is one that has not come back to it yet, for which it waits as long as for one that computes.
void Connections::waits_for(channel::PeerId peer) noexcept {
  try {
    if (lost_.contains(peer)) look_for_returned();  // the caller asks next whether the peer is lost
    const bool is_there = membership_.hub().ok();
    if (is_there) {
      hub_.missed = {};
      if (!hub_.was_away) return;
    } else {
      hub_.missed.look(os::now_ns());
      hub_.was_away = true;
    }
    const auto& info = membership_.peer(peer);
    const bool dialed = knows(peer, info.incarnation) && table_.find(peer) != nullptr;  // no channel: no memory
    if ((is_there || hub_.missed.total_ns() >= hub_patience_ns) && info.node != membership_.node() && !dialed) {
      static_cast<void>(channel_to(peer));  // the next wait tries again if that is not possible now
    }
  } catch (const std::bad_alloc&) {
    return;
  }
}

// Gives up the channel of an earlier incarnation. Its handlers are told at once, before anything arrives from the new
// one.
void Connections::retire(channel::PeerId peer) {
  if (channel::Channel* const old = table_.find(peer)) {
    table_.forget(peer, fail(Code::peer_lost, "{} was started again", old->peer_name()));
    old->poll(1);
  }
  more_.forget(peer);
  peers_.erase(peer);
}

Result<std::unique_ptr<Lane>> Connections::connect(channel::PeerId id) {
  const auto& info = membership_.peer(id);
  Peer& peer = peers_[id];
  peer = {};
  peer.incarnation = info.incarnation;
  peer.absent = info.state == PeerState::absent || !membership_.ask_contact(id);
  if (peer.absent) {
    return Code::not_yet;  // every tick tries again
  }
  begin_walk(id, peer, Purpose::first);
  auto lane = go_on(id, peer);
  const bool waiting = lane.code() == Code::not_yet;
  if (waiting && !peer.walk->under_way() && own_lack(peer.walk->code())) {
    const Status lack(peer.walk->code(),
                      fmt::format("no connection to {}: {}", membership_.peer_name(id), peer.walk->reasons()));
    peers_.erase(id);
    return lack;
  }
  if (!lane.ok() && !waiting) {
    peers_.erase(id);
  }
  return lane;
}

Result<std::unique_ptr<Lane>> Connections::reconnect(channel::PeerId id, const Status& why) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || gone(membership_.peer(id))) {
    return why;
  }
  Peer& peer = found->second;
  const std::uint64_t received = table_.find(id)->frames_received();
  peer.futile = received == peer.frames_received ? peer.futile + 1 : 0;
  peer.frames_received = received;
  begin_walk(id, peer, Purpose::again);
  // Something between the two processes ends each connection: dial less and less often.
  if (peer.futile > max_futile_at_once) {
    const auto pause_ns = static_cast<std::uint64_t>(peer.futile) * options_.walk.min_delay_ns;
    peer.walk->pause_until(os::now_ns() + std::min(pause_ns, options_.walk.max_delay_ns));
  }
  peer.why = "it was lost and is made again: " + why.text();
  return go_on(id, peer);
}

void Connections::begin_walk(channel::PeerId id, Peer& peer, Purpose purpose) {
  std::vector<std::string> names;
  names.reserve(TransportSet::count());
  for (std::size_t index = 0; index < TransportSet::count(); ++index) {
    names.emplace_back(at(index).name());
  }
  more_.cancel(id);  // there is one dial over each transport, and the walk needs it
  peer.purpose = purpose;
  peer.walk.emplace(std::move(names), options_.walk, (std::uint64_t{membership_.id()} << 32U) + id);
  for (std::size_t index = 0; index < TransportSet::count(); ++index) {
    at(index).cancel(id);  // such a dial was made because the peer asked for it
    if (!in_use(index)) {
      peer.walk->leave_out(index, "is switched off here");
    } else if (purpose == Purpose::again && !at(index).may_break()) {
      peer.walk->leave_out(index, "");
    }
  }
}

// Dials until there is a lane, or a dial is under way, or nothing can be done now (not_yet). Any other error ends the
// walk.
Result<std::unique_ptr<Lane>> Connections::go_on(channel::PeerId id, Peer& peer) {
  while (true) {
    const Walk::Step step = peer.walk->next(os::now_ns());
    if (step.action == Walk::Action::wait) {
      return Code::not_yet;
    }
    if (step.action == Walk::Action::give_up) {
      return given_up(membership_.peer_name(id), *peer.walk);
    }
    Transport& transport = at(step.transport);
    const auto address = address_of(transport, id);
    if (address.code() == Code::not_yet) {
      return Code::not_yet;  // where the peer listens is not known (yet): the next tick asks again
    }
    auto lane = address.ok() ? transport.dial(*address, peer.purpose) : address.status();
    if (lane.ok() || lane.code() == Code::not_yet) {
      peer.walk->dialing(step.transport);
      if (lane.ok()) {
        peer.why = fmt::format("{} was dialed", transport.name());
        peer.not_taken = peer.walk->reasons();
      }
      return lane;
    }
    note_failure(id, peer, step.transport, lane.status());
  }
}

// This process cannot reach the peer, but perhaps the peer can reach this process: asks the hub to let the peer dial,
// again after each dial that finds no process.
void Connections::note_failure(channel::PeerId id, Peer& peer, std::size_t transport, const Status& why) {
  peer.walk->failed(transport, why, os::now_ns());
  // A process listens as long as it lives, so repeated refusals mean that it has ended. The membership is told, since
  // it informs everything that waits for the peer, and not only what uses this connection: a relay, for example, then
  // ends the peer's holds.
  const bool nobody_listens = peer.walk->refused() >= min_refusals;
  if (nobody_listens || (peer.walk->unanswered() > 0 && at(transport).may_break())) {
    const Status proof = fail(Code::peer_lost, "nobody listens at its port: {}", why.text());
    membership_.cannot_reach(id, peer.incarnation, nobody_listens ? LossProof::without_hub : LossProof::none, proof);
  }
  // While this process shuts its connections, a peer that has ended one has in most cases heard the goodbye, perhaps in
  // the middle of a frame, so that no goodbye of its own comes. There is nothing left to connect for.
  const bool peer_has_ended = shutting_ && why.code() == Code::state;
  if ((nobody_listens && !membership_.hub().ok()) || peer_has_ended) {
    peer.walk->end();
  }
}

// The peer asks this process to dial: its own dials find no process, or its connection has broken and this process has
// not noticed.
void Connections::call_back(channel::PeerId id) {
  if (gone(membership_.peer(id))) {
    return;
  }
  const auto channel = channel_to(id);  // dials if there was no channel
  if (!channel.ok() || (*channel)->state() == ChannelState::failed) {
    return;
  }
  Peer& peer = peers_.at(id);
  const bool waits = (*channel)->state() != ChannelState::open;
  if (waits && peer.walk && !peer.walk->under_way()) {
    peer.walk->hurry();
    go_on_and_tell(id);
    return;
  }
  if (waits || !(*channel)->may_resume() || !(*channel)->traits().may_break) {
    return;
  }
  // The connection seems whole from here. If the dial succeeds, the new connection replaces it.
  for (std::size_t index = 0; index < TransportSet::count(); ++index) {
    const auto address = address_of(at(index), id);
    if (in_use(index) && at(index).may_break() && address.ok()) {
      more_.cancel(id);
      at(index).cancel(id);
      static_cast<void>(at(index).dial(*address, Purpose::again));
      return;
    }
  }
}

void Connections::go_on_and_tell(channel::PeerId id) {
  Peer& peer = peers_.at(id);
  auto lane = go_on(id, peer);
  if (lane.ok()) {
    static_cast<void>(table_.adopt(id, std::move(*lane)));
  } else if (lane.code() != Code::not_yet) {
    peer.walk.reset();
    table_.fail(id, lane.status());
  }
}

// ---- called by transports -------------------------------------------------------------------------------------------

std::string Connections::name_of(std::uint32_t id) const {
  return membership_.peer_name(id);
}

Result<Address> Connections::address_of(const Transport& transport, std::uint32_t id) const {
  const auto& info = membership_.peer(id);
  if (info.state == PeerState::absent || !membership_.ask_contact(id)) {
    return Code::not_yet;
  }
  const bool is_self = id == membership_.id();
  return Address{.party = {id, info.incarnation},
                 .contact = is_self ? transport.contact() : info.contacts.find(transport.contact_name()),
                 .on_other_node = info.node != membership_.node()};
}

Status Connections::consider(Transport& transport, const Offer& offer) {
  const channel::PeerId id = offer.peer.id;
  const auto& info = membership_.peer(id);
  // The hub lets the peer in when it has told this process of it, and of the losses before. A message of the peer must
  // not be handled before that.
  if (membership_.catch_up(universe::CatchUp::read) || info.state == PeerState::absent ||
      offer.peer.incarnation > info.incarnation) {
    return Code::not_yet;  // the hub's message about the peer has to be handled first
  }
  const channel::Channel* const known = knows(id, offer.peer.incarnation) ? table_.find(id) : nullptr;
  const ChannelState state = known == nullptr ? ChannelState::opening : known->state();
  if (state == ChannelState::failed) {
    return fail(Code::state, "the peer has ended the connection: {}", known->failure().text());
  }
  if (offer.peer.incarnation < info.incarnation || gone(info)) {
    const bool holds_last_words = gone(info) && offer.peer.incarnation == info.incarnation && !transport.may_break();
    return holds_last_words && state == ChannelState::opening
               ? Status()
               : fail(Code::peer_lost, "the peer counts {} as lost", membership_.peer_name(id));
  }
  if (!in_use(index_of(transport))) {
    return fail(Code::unsupported, "{} is switched off in {}", transport.name(),
                membership_.peer_name(membership_.id()));
  }
  if (offer.purpose == Purpose::more && state != ChannelState::broken) {
    return more_.consider(transport, offer);
  }
  const bool goes_on = transport.may_break() && (state == ChannelState::broken || offer.purpose == Purpose::again);
  if (state != ChannelState::opening && !goes_on) {
    return fail(Code::exists, "there is a connection already");
  }
  return {};
}

void Connections::connected(Transport& transport, const Offer& offer, std::unique_ptr<Lane> lane, Origin origin) {
  const channel::PeerId id = offer.peer.id;
  if (!knows(id, offer.peer.incarnation)) {
    retire(id);
    peers_[id].incarnation = offer.peer.incarnation;
  }
  const channel::Channel* const known = table_.find(id);
  const bool open = known != nullptr && known->state() == ChannelState::open;
  if (open && offer.purpose == Purpose::more) {
    return more_.add(transport, id, std::move(lane));
  }
  more_.cancel_all(id);
  const auto adopted = open ? table_.replace(id, std::move(lane)) : table_.adopt(id, std::move(lane));
  if (!adopted.ok()) {
    return;
  }
  Peer& peer = peers_[id];
  peer.absent = false;
  peer.why = fmt::format("{} {}", transport.name(), origin == Origin::dialed ? "was dialed" : "was dialed by the peer");
  peer.not_taken = peer.walk ? peer.walk->reasons() : "";
  peer.walk.reset();
  more_.begin(id, transport.name());
  if (gone(membership_.peer(id))) {  // the peer has ended, and this lane contains what it sent before
    drain(id);
    table_.fail(id, fail(Code::peer_lost, "{} has ended", membership_.peer_name(id)));
  } else {
    more_.dial_missing(id);
  }
  look_for_returned();
}

void Connections::not_connected(Transport& transport, const Party& party, const link::DialFailure& failure) {
  if (failure.died) {
    membership_.cannot_reach(party.id, party.incarnation, LossProof::certain, failure.why);
  }
  const auto found = peers_.find(party.id);
  if (found == peers_.end() || found->second.incarnation != party.incarnation) {
    return;
  }
  if (more_.failed(transport, party.id, failure.why) || !found->second.walk) {
    return;
  }
  note_failure(party.id, found->second, index_of(transport), failure.why);
  go_on_and_tell(party.id);
}

// ---- as time passes -------------------------------------------------------------------------------------------------

void Connections::tick(std::uint64_t now_ns) {
  if (membership_.hub().ok()) {
    hub_.missed = {};
    hub_.away = {};
  } else {
    hub_.away.look(now_ns);
    hub_.was_away = true;
  }
  const bool never_told = hub_.away.total_ns() >= options_.walk.patience_ns;
  std::vector<channel::PeerId> waiting;
  for (auto& [id, peer] : peers_) {
    const bool arrived = peer.absent && membership_.peer(id).state != PeerState::absent && membership_.ask_contact(id);
    if (arrived) {
      peer.absent = false;
      peer.incarnation = membership_.peer(id).incarnation;
      begin_walk(id, peer, Purpose::first);
    } else if (peer.absent && never_told) {
      peer.absent = false;
      lost(id,
           fail(Code::peer_lost, "no connection to {}: the hub was lost before it had told where this process is: {}",
                membership_.peer_name(id), membership_.hub().text()));
    }
    if (peer.walk) {
      waiting.push_back(id);
    }
  }
  for (const channel::PeerId id : waiting) {
    const auto found = peers_.find(id);
    if (found == peers_.end() || !found->second.walk) {
      continue;
    }
    const channel::Channel* const channel = table_.find(id);
    if (channel == nullptr || channel->state() == ChannelState::failed) {
      found->second.walk.reset();
    } else if (channel->state() != ChannelState::open || look_at_offer(id, found->second)) {
      go_on_and_tell(id);
    }
  }
  more_.dial_missing();
  look_for_returned();
  update_counters(table_, counters_);
}

// Checks a lane that the peer had not joined so far. Returns true if the peer has refused it and the walk continues.
bool Connections::look_at_offer(channel::PeerId id, Peer& peer) {
  const Lane& lane = *table_.find(id)->lanes().front();
  const Status refusal = lane.refusal();
  if (refusal.ok()) {
    if (lane.joined()) {
      peer.walk.reset();
    }
    return false;
  }
  const auto under_way = peer.walk->under_way();
  table_.take_back(id);
  peer.walk->failed(under_way.value_or(0), refusal, os::now_ns());
  return true;
}

// What is told of a return may change the list.
void Connections::look_for_returned() {
  for (auto entry = lost_.begin(); entry != lost_.end();) {
    const auto [peer, incarnation] = *entry;
    const auto& info = membership_.peer(peer);
    if (info.state == PeerState::present && info.incarnation != incarnation) {
      if (!knows(peer, info.incarnation)) {
        retire(peer);
      }
      if (returned_) {
        returned_(peer);
      }
      if (const auto told = lost_.find(peer); told != lost_.end() && told->second == incarnation) {
        lost_.erase(told);
      }
    }
    entry = lost_.upper_bound(peer);
  }
}

// ---- ends -----------------------------------------------------------------------------------------------------------

// Takes what a peer that has ended sent before. This ends, since the peer cannot send more.
void Connections::drain(channel::PeerId id) {
  // A channel to an earlier incarnation has nothing of this one.
  const channel::Channel* known = knows(id, membership_.peer(id).incarnation) ? table_.find(id) : nullptr;
  for (std::size_t index = 0; index < TransportSet::count(); ++index) {
    if (known != nullptr && known->state() != ChannelState::opening) {
      break;
    }
    const auto address = address_of(at(index), id);
    auto lane = address.ok() ? at(index).left_by(*address) : address.status();
    if (lane.ok()) {
      if (!knows(id, address->party.incarnation)) {
        retire(id);
        peers_[id].incarnation = address->party.incarnation;
      }
      static_cast<void>(table_.adopt(id, std::move(*lane)));
      known = table_.find(id);
    }
  }
  if (channel::Channel* const channel = table_.find(id)) {
    while (channel->state() == ChannelState::open && channel->poll(64) > 0) {
    }
  }
}

bool Connections::still_sends(channel::PeerId id) {
  channel::Channel* const channel = knows(id, membership_.peer(id).incarnation) ? table_.find(id) : nullptr;
  if (channel == nullptr || channel->state() != ChannelState::open || !channel->traits().may_break) {
    leaving_.erase(id);
    return false;
  }
  channel->mute();
  while (channel->state() == ChannelState::open && channel->poll(64) > 0) {
  }
  Silence& silence = leaving_[id];
  if (const std::uint64_t arrived = arrived_from_peer(*channel); silence.arrived != arrived) {
    silence = {.arrived = arrived, .waited = {}};
  }
  silence.waited.look(os::now_ns());
  const bool goes_on = channel->state() == ChannelState::open && silence.waited.total_ns() < max_silence_ns;
  if (!goes_on) {
    leaving_.erase(id);
  }
  return goes_on;
}

void Connections::lost(channel::PeerId peer, const Status& why) {
  lost_[peer] = membership_.peer(peer).incarnation;
  if (const auto found = peers_.find(peer); found != peers_.end()) {
    found->second.absent = false;  // otherwise the channel that waited for this life would be one to the next life
  }
  drain(peer);
  more_.cancel_all(peer);
  table_.fail(peer, why);
}

void Connections::shut(std::uint64_t limit_ns, const std::function<void(engine::PeerPatience&)>& first) {
  shutting_ = true;
  engine::PeerPatience patience(limit_ns, [this] {
    std::uint64_t sum = 0;
    table_.for_each([&sum](const channel::Channel& channel) { sum += taken_by_peer(channel); });
    return sum;
  });
  first(patience);
  for (const auto& [peer, silence] : std::exchange(leaving_, {})) {
    table_.fail(peer, fail(Code::peer_lost, "{} has left", membership_.peer_name(peer)));
  }
  table_.shut();
  // What is in shared memory stays there for the peer. What was given to a socket has to be acknowledged by the peer.
  const auto under_way = [this] {
    bool any = false;
    table_.for_each([&any](const channel::Channel& channel) {
      const auto& lanes = channel.lanes();
      const bool stays = std::all_of(lanes.begin(), lanes.end(),
                                     [](const auto& lane) { return lane->descriptor() < 0 && lane->leave_behind(); });
      const bool goes_on = channel.state() == ChannelState::open || channel.state() == ChannelState::broken;
      any = any || (goes_on && (channel.sending() || !stays));
      any = any || (channel.state() == ChannelState::opening && channel.sending());
    });
    return any;
  };
  static_cast<void>(patience.wait(
      engine_, [&] { return !under_way(); }, [] { return "the last bytes to be taken"; }));
}

std::vector<ConnectionReport> Connections::report() const {
  std::vector<ConnectionReport> result;
  for (const auto& [id, peer] : peers_) {
    const channel::Channel* const channel = table_.find(id);
    if (channel == nullptr) {
      continue;
    }
    ConnectionReport entry{
        .peer = id, .name = channel->peer_name(), .link = {}, .why = peer.why, .not_taken = peer.not_taken};
    if (channel->state() == ChannelState::open) {
      entry.link = channel->traits().name;
      entry.lanes = more_.report(id, *channel);
      entry.link = entry.lanes.lanes.empty() ? entry.link : entry.lanes.lanes.front().link;
    } else if (channel->state() == ChannelState::failed) {
      entry.why = channel->failure().text();
    } else if (peer.walk) {
      entry.not_taken = peer.walk->reasons();
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace couplet::connections
