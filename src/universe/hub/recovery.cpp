// After a restart of the hub, or a reset of one connection: what members tell makes the state again
// (docs/formats/hub.md, "A hub that was started again").
#include <algorithm>

#include "universe/hub/hub_state.hpp"

namespace couplet::universe {
namespace {

// A relay that was killed may end its connection by a reset, too. Its readers give up after 2 s, and the next relay of
// its node waits for its place: so a relay that does not listen keeps it for a shorter time.
constexpr double max_relay_reset_patience_s = 0.5;

std::uint64_t after(std::uint64_t now_ns, double seconds) {
  return now_ns + static_cast<std::uint64_t>(seconds * 1e9);
}

}  // namespace

void HubState::cut_off(ConnectionId connection, const std::string& why, std::uint64_t now_ns) {
  const auto found = clients_.find(connection);
  if (found == clients_.end() || found->second.phase != Phase::released || over_ || settings_.reset_patience_s <= 0) {
    disconnected(connection, why, now_ns);
    return;
  }
  const auto& client = found->second;
  note("cut_off", client, fmt::format("{}: {}", client_name(client), why));
  --released_;
  series_.drop(connection);
  outbox_.caught_up(connection);
  auto& seat = *seats_.find(client.place);
  seats_.vacate(connection, client.place);
  seat.awaited = true;
  ++awaited_count_;
  const double patience_s = client.place.relay ? std::min(settings_.reset_patience_s, max_relay_reset_patience_s)
                                               : settings_.reset_patience_s;
  cut_off_[client.peer] = {after(now_ns, patience_s), why};
  next_look_ns_ = now_ns;
  clients_.erase(found);
}

std::vector<ListenerCalls::Target> HubState::cut_off() const {
  std::vector<ListenerCalls::Target> targets;
  for (const auto& [peer, cut] : cut_off_) {
    const auto& info = seats_.find(peer)->info;
    if (info.port != 0) {
      targets.push_back({peer, {.address = info.address, .port = info.port}});
    }
  }
  return targets;
}

void HubState::seen_listening(channel::PeerId peer, std::uint64_t now_ns) {
  if (const auto found = cut_off_.find(peer); found != cut_off_.end()) {
    found->second.deadline_ns = after(now_ns, settings_.reset_patience_s);
  }
}

// The member comes back before the hub has noticed that its old connection is lost. It calls again, and is taken when
// that has ended: until then nobody can take a living member's place.
bool HubState::is_still_connected(const RejoinMessage& message, const Place& place) const {
  const auto* const seat = seats_.find(place);
  return seat != nullptr && seat->connection != 0 && seat->info.incarnation == message.incarnation &&
         clients_.at(seat->connection).phase == Phase::released;
}

Status HubState::check_rejoin(const RejoinMessage& message, Place& place) {
  if (message.run_id != settings_.run_id) {
    return fail(Code::mismatch, "the hub serves the universe {:016x}, but this process belongs to {:016x}",
                settings_.run_id, message.run_id);
  }
  COUPLET_TRY(seats_.adopt_sizes(message.programs));
  place = {};
  settle_sizes();
  if (over_) {
    return fail(Code::mismatch, "the programs have more ranks together than are possible");
  }
  place = seats_.place_of(message.peer);
  const bool fits = place.relay == message.relay && (place.relay ? place.node == message.node : place.program >= 0);
  if (!fits) {
    return fail(Code::mismatch, "universe rank {} does not exist here", message.peer);
  }
  place.node = message.node;
  const auto before = seats_.node_name(message.node);
  COUPLET_TRY(seats_.adopt_node(message.node, message.node_key, message.host));
  if (before != message.host) {
    welcome_.clear();
    changes_.add_node(message.node, message.host);
  }
  return place.relay ? seats_.relay_seat(message.node).status() : Status();
}

// Gives the seat to its process of before.
Status HubState::take_seat_again(ConnectionId connection, const RejoinMessage& message, const Place& place) {
  auto& seat = *seats_.find(place);
  if (seat.connection != 0) {
    auto& other = clients_.at(seat.connection);
    if (other.phase != Phase::admitted) {
      return fail(Code::exists, "{} is at the hub already", client_name(other));
    }
    refuse(seat.connection, other,
           fail(Code::exists, "rank {} of program '{}' is in the universe already, on host {}", place.rank,
                seats_.program(place.program).spec.name, message.host));
  }
  const bool gone_here = seat.info.state == PeerState::left || seat.info.state == PeerState::lost;
  if (message.incarnation < seat.info.incarnation || (gone_here && message.incarnation == seat.info.incarnation)) {
    return fail(Code::peer_lost, "universe rank {} counts as lost at the hub{}", message.peer,
                gone_here ? "" : ": it was started again meanwhile");
  }
  seat.connection = connection;
  if (!seat.awaited) {
    members_ += place.relay ? 0 : 1;
    if (!place.relay) {
      auto& program = seats_.program(place.program);
      ++program.present;
      program.was_present = true;
    }
  } else {
    seat.awaited = false;
    --awaited_count_;
    cut_off_.erase(message.peer);
  }
  seat.info.state = PeerState::present;
  seat.info.node = message.node;
  seat.info.incarnation = message.incarnation;
  seat.next_incarnation = std::max<std::uint16_t>(seat.next_incarnation, message.incarnation + 1U);
  set_contact(seat.info, message.contact);
  return {};
}

void HubState::take(ConnectionId connection, Client& client, const RejoinMessage& message, std::uint64_t now_ns) {
  if (client.phase != Phase::fresh) {
    refuse(connection, client, {Code::protocol, "this connection has joined already"});
    return;
  }
  client.host = message.host;
  client.peer = message.peer;
  Place place;
  auto status = check_rejoin(message, place);
  if (status.ok() && is_still_connected(message, place)) {
    status = {Code::not_yet, "this process has another connection to the hub, which has not ended yet"};
  }
  const bool was_cut_off = cut_off_.contains(message.peer);
  if (status.ok() && message.released && !was_cut_off) {
    await_members(now_ns);
  }
  if (status.ok()) {
    status = take_seat_again(connection, message, place);
  }
  if (!status.ok()) {
    refuse(connection, client, status);
    return;
  }
  client.place = place;
  client.phase = message.released ? Phase::released : Phase::present;
  released_ += message.released ? 1 : 0;
  if (epoch_ <= message.epoch && !was_cut_off) {
    epoch_ = message.epoch + 1;
    series_.book().begin_epoch(epoch_);
  }
  outbox_.say(connection, RejoinedMessage{epoch_});
  note("rejoined", client);
  changed(place, {});
  if (message.released) {
    joining_.erase(connection);
    take_exceptions(message.exceptions, now_ns);
  } else {
    client.since_ns = now_ns;
    client.deadline_ns = message.timeout_s < 0 ? UINT64_MAX : after(now_ns, std::min(message.timeout_s, 1e9));
    client.next_note_ns = now_ns + waiting_note_after_ns;
    may_enter_[place.program].insert(connection);
  }
  if (auto claimed = series_.claim(asker(connection, client), message.series, now_ns); !claimed.ok()) {
    refuse(connection, client, claimed);
    return;
  }
  if (place.relay) {
    series_.relay_came(message.node, message.peer);
  }
  if (message.released && !recovering_) {  // the others have been told everything already
    for (const auto& payload : welcome()) {
      outbox_.say(connection, payload);
    }
    series_.tell_all(connection, message.peer);
  }
  settle_recovery(now_ns);
  release(place.program);
}

// The first member that had been in the complete universe has come: everybody else was there, too, as far as it does
// not say otherwise.
void HubState::await_members(std::uint64_t now_ns) {
  if (awaiting_) {
    return;
  }
  awaiting_ = true;
  complete_ = true;
  recovering_ = true;
  grace_until_ns_ = after(now_ns, settings_.rejoin_grace_s);
  patience_until_ns_ = after(now_ns, settings_.rejoin_patience_s);
  for (std::size_t index = 0; index < seats_.programs().size(); ++index) {
    auto& program = seats_.program(static_cast<std::int32_t>(index));
    for (auto& seat : program.seats) {
      const bool arriving = seat.connection != 0 && clients_.at(seat.connection).phase == Phase::placed;
      if (seat.info.state != PeerState::absent || arriving) {
        continue;
      }
      seat.info.state = PeerState::present;
      seat.info.node = unknown_node;
      seat.awaited = true;
      seat.next_incarnation = std::max<std::uint16_t>(seat.next_incarnation, 1);
      ++awaited_count_;
      ++members_;
      ++program.present;
      program.was_present = true;
    }
  }
  welcome_.clear();
}

void HubState::take_exceptions(const std::vector<PeerRun>& exceptions, std::uint64_t now_ns) {
  std::size_t budget = 2 * (seats_.rank_count() + max_relays);
  for (const auto& run : exceptions) {
    for (std::uint32_t index = 0; index < run.count && budget > 0; ++index, --budget) {
      const auto peer = run.first + index;
      auto* const seat = seats_.find(peer);
      if (seat == nullptr || !seat->awaited || run.incarnation < seat->info.incarnation) {
        continue;
      }
      seat->info.incarnation = run.incarnation;
      seat->next_incarnation = std::max<std::uint16_t>(seat->next_incarnation, run.incarnation + 1U);
      if (run.state != PeerState::present) {
        seen_one(peer, run.state, run.incarnation, "another member knew of it", now_ns);
      }
    }
  }
}

std::vector<PeerRun> HubState::awaited() const {
  std::vector<PeerRun> runs;
  if (awaited_count_ == 0) {
    return runs;
  }
  for (const auto& program : seats_.programs()) {
    auto peer = static_cast<channel::PeerId>(program.first_rank);
    for (const auto& seat : program.seats) {
      if (seat.awaited) {
        add_to_runs(runs, peer, seat.info);
      }
      ++peer;
    }
  }
  for (const auto& [relay, cut] : cut_off_) {
    if (relay >= channel::first_relay_peer) {
      add_to_runs(runs, relay, seats_.find(relay)->info);
    }
  }
  return runs;
}

void HubState::seen_gone(const PeerRun& gone, const std::string& why, std::uint64_t now_ns) {
  for (std::uint32_t index = 0; index < gone.count && awaited_count_ > 0; ++index) {
    seen_one(gone.first + index, gone.state, gone.incarnation, why, now_ns);
  }
  settle_recovery(now_ns);
}

void HubState::take(ConnectionId connection, Client& client, const SeenMessage& message, std::uint64_t now_ns) {
  if (client.phase != Phase::released) {
    refuse(connection, client, {Code::protocol, "message 'seen' out of turn"});
    return;
  }
  for (const auto& gone : message.gone) {
    seen_gone(gone, fmt::format("its process has ended without leaving, as its lock says on host {}", client.host),
              now_ns);
  }
}

// An awaited one will not come: `state` says how it went (absent: it had never been there).
void HubState::seen_one(channel::PeerId peer, PeerState state, std::uint16_t incarnation, const std::string& why,
                        std::uint64_t now_ns) {
  auto* const seat = seats_.find(peer);
  if (seat == nullptr || !seat->awaited || state == PeerState::present || incarnation != seat->info.incarnation) {
    return;
  }
  const auto place = seats_.place_of(peer);
  seat->awaited = false;
  --awaited_count_;
  members_ -= place.relay ? 0 : 1;
  cut_off_.erase(peer);
  seat->info.state = state;
  seat->info.contact_known = false;
  Client gone;
  gone.place = place;
  gone.peer = peer;
  gone.host = seats_.node_name(seat->info.node);
  if (state == PeerState::absent) {
    auto& program = seats_.program(place.program);
    program.was_present = --program.present > 0;
    seat->next_incarnation = 0;
  } else {
    const bool lost = state == PeerState::lost;
    note(lost ? "lost" : "left", gone, lost ? fmt::format("{} is lost: {}", client_name(gone), why) : std::string());
    rank_gone(place, peer, now_ns);
  }
  changed(place, why);
  if (seat->connection != 0) {  // somebody waits for this place
    this->place(seat->connection, clients_.at(seat->connection));
  }
}

// Asks one member of each node whether processes that have not come back live there.
void HubState::look_for_awaited(std::uint64_t now_ns) {
  look_at_cut_off(now_ns);
  if (awaited_count_ == 0) {
    return;
  }
  if (awaiting_ && now_ns >= patience_until_ns_) {
    for (const auto& run : awaited()) {
      seen_gone({run.first, run.count, PeerState::lost, run.incarnation, run.node},
                "it did not come back to the hub, which was started again", now_ns);
    }
    return;
  }
  if (now_ns < next_look_ns_) {
    return;
  }
  next_look_ns_ = now_ns + look_every_ns;
  auto runs = awaited();
  runs.resize(std::min(runs.size(), max_runs_per_message));
  const auto message = payload_of(LookMessage{std::move(runs)});
  std::set<std::int32_t> nodes;
  for (const auto& [connection, client] : clients_) {
    if (client.phase == Phase::released && nodes.insert(client.place.node).second) {
      outbox_.say(connection, message);
    }
  }
}

void HubState::look_at_cut_off(std::uint64_t now_ns) {
  const auto all = cut_off_;
  for (const auto& [peer, cut] : all) {
    if (now_ns >= cut.deadline_ns) {
      seen_one(peer, PeerState::lost, seats_.find(peer)->info.incarnation, cut.why, now_ns);
    }
  }
}

void HubState::take(ConnectionId connection, Client& client, const RecordMessage& message, std::uint64_t now_ns) {
  if (client.phase != Phase::released) {
    refuse(connection, client, {Code::protocol, "message 'record' out of turn"});
    return;
  }
  if (auto status = series_.take(asker(connection, client), message, now_ns); !status.ok()) {
    refuse(connection, client, status);
  }
}

// Everybody has come back, or joining has waited for long enough: what this hub knows holds from now on.
void HubState::settle_recovery(std::uint64_t now_ns) {
  if (!recovering_) {
    return;
  }
  if (grace_until_ns_ == 0) {
    grace_until_ns_ = after(now_ns, settings_.rejoin_grace_s);
  }
  const bool everybody = awaited_count_ == 0 && (awaiting_ || seats_.required_are_present());
  if (!everybody && now_ns < grace_until_ns_) {
    return;
  }
  recovering_ = false;
  for (const auto& [connection, client] : clients_) {
    if (client.phase == Phase::released) {
      for (const auto& payload : welcome()) {
        outbox_.say(connection, payload);
      }
    }
  }
  for (const auto connection : std::vector<ConnectionId>(joining_.begin(), joining_.end())) {
    place(connection, clients_.at(connection));
  }
  release_all();
}

}  // namespace couplet::universe
