// After a restart of the hub, or the break of one connection: rebuilds the state from what members tell
// (docs/formats/hub.md, "A hub that was started again").
#include <algorithm>

#include "channel/identities.hpp"
#include "universe/hub/hub_state.hpp"
#include "universe/series_record.hpp"

namespace couplet::universe {
namespace {

std::uint64_t after(std::uint64_t now_ns, double seconds) {
  return now_ns + static_cast<std::uint64_t>(seconds * 1e9);
}

// Returns the awaited ranks of which the hub does not know where they listened. If there are many, a part of them that
// depends on `turn`.
std::vector<PeerRun> without_contact(const Seats& seats, std::uint64_t turn) {
  std::vector<std::pair<channel::PeerId, const PeerInfo*>> found;
  for (const auto& program : seats.programs()) {
    auto peer = static_cast<channel::PeerId>(program.first_rank);
    for (const auto& seat : program.seats) {
      if (seat.awaited && !can_be_called(seat)) {
        found.emplace_back(peer, &seat.info);
      }
      ++peer;
    }
  }
  const auto parts = (found.size() + max_contacts_looked_for - 1) / max_contacts_looked_for;
  const auto begin = parts == 0 ? 0 : turn % parts * max_contacts_looked_for;
  std::vector<PeerRun> runs;
  for (auto index = begin; index < std::min(found.size(), begin + max_contacts_looked_for); ++index) {
    add_to_runs(runs, found[index].first, *found[index].second);
  }
  return runs;
}

// Only the process that has proven to be a member may return as that member.
Status check_returning(const Caller& caller, const RejoinMessage& message) {
  if (caller.id == message.peer && caller.incarnation == message.incarnation) {
    return {};
  }
  return fail(Code::authentication,
              "it wants to return as {} (incarnation {}), but has proven to be {} (incarnation {})",
              channel::peer_text(message.peer), message.incarnation, channel::peer_text(caller.id), caller.incarnation);
}

}  // namespace

void HubState::cut_off(ConnectionId connection, const std::string& why, std::uint64_t now_ns) {
  const auto found = clients_.find(connection);
  const bool present =
      found != clients_.end() && (found->second.phase == Phase::present || found->second.phase == Phase::released);
  if (!present || over_ || settings_.reset_patience_s <= 0) {
    disconnected(connection, why, now_ns);
    return;
  }
  const auto& client = found->second;
  note("cut_off", client, fmt::format("{}: {}", client_name(client), why));
  released_ -= client.phase == Phase::released ? 1 : 0;
  joining_.erase(connection);
  entering_.waiting[client.place.program].erase(connection);
  series_.drop(connection);
  outbox_.caught_up(connection);
  auto& seat = *seats_.find(client.place);
  seats_.vacate(connection, client.place);
  seat.awaited = true;
  ++after_restart_.awaited_count;
  absences_.add(client.peer, why,
                {.refusing_s = settings_.reset_patience_s, .unreachable_s = settings_.connection_patience_s}, now_ns);
  after_restart_.next_look_ns = now_ns;
  clients_.erase(found);
}

// A member that has not come back after a restart of the hub may compute for long, and its port may refuse the hub
// for reasons of the network. So it is called only if there are other doubts, if its series or their names are asked
// for, if its successor waits for its place, if processes of its program wait to be let in, or if the hub has no
// other member left.
std::vector<ListenerCalls::Target> HubState::cut_off() const {
  std::vector<ListenerCalls::Target> targets;
  const bool alone = std::none_of(clients_.begin(), clients_.end(), [](const auto& item) {
    return item.second.phase == Phase::released && !item.second.place.relay;
  });
  for (const auto peer : absences_.peers()) {
    const Seat& seat = *seats_.find(peer);
    const auto waiting = entering_.waiting.find(seats_.place_of(peer).program);
    const bool is_waited_for = waiting != entering_.waiting.end() && !waiting->second.empty();
    const auto listened_at = link::tcp_listener(seat.info.contacts);
    if (listened_at.port != 0 && (absences_.doubted(peer) || seat.connection != 0 || is_waited_for || alone)) {
      targets.push_back({peer, listened_at});
    }
  }
  return targets;
}

void HubState::seen_at_port(const ListenerCalls::Answer& answer, std::uint64_t now_ns) {
  if (answer.listens) {
    absences_.seen_listening(answer.peer, now_ns);
    release(seats_.place_of(answer.peer).program);
  } else {
    absences_.seen_refusing(answer.peer, now_ns);
  }
}

// Has the member come back before the hub has noticed the loss of its old connection? It then dials again, and is
// accepted when the old connection has ended. Until then no other process can take a living member's place.
bool HubState::is_still_connected(const RejoinMessage& message, const Place& place) const {
  const auto* const seat = seats_.find(place);
  if (seat == nullptr || seat->connection == 0 || seat->info.incarnation != message.incarnation) {
    return false;
  }
  const auto phase = clients_.at(seat->connection).phase;
  return phase == Phase::present || phase == Phase::released;
}

Status HubState::check_rejoin(const RejoinMessage& message, Place& place) {
  if (!std::all_of(message.series.begin(), message.series.end(),
                   [](const SeriesClaim& claim) { return is_name(claim.name, max_series_name); })) {
    return fail(Code::protocol, "message 'rejoin' has a series with a name that is empty or has control characters");
  }
  if (message.run_id != settings_.run_id) {
    return fail(Code::mismatch, "the hub serves run {:016x}, but this process belongs to run {:016x}", settings_.run_id,
                message.run_id);
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
    if (!after_restart_.recovering) {  // otherwise everybody will be told everything later
      changes_.add_node(message.node, message.host);
    }
  }
  return place.relay ? seats_.relay_seat(message.node).status() : Status();
}

// Gives the place back to the process that had it before.
Status HubState::take_seat_again(ConnectionId connection, const RejoinMessage& message, const Place& place) {
  auto& seat = *seats_.find(place);
  if (seat.connection != 0) {
    auto& other = clients_.at(seat.connection);
    if (other.phase != Phase::admitted) {
      return fail(Code::exists, "{} is connected to the hub already", client_name(other));
    }
    const auto who = place.relay
                         ? std::string("the relay of its node")
                         : fmt::format("rank {} of program '{}'", place.rank, seats_.program(place.program).spec.name);
    refuse(seat.connection, other, fail(Code::exists, "{} is in the universe already, on host {}", who, message.host));
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
    --after_restart_.awaited_count;
    absences_.remove(message.peer);
  }
  seat.info.state = PeerState::present;
  seat.info.node = message.node;
  seat.info.incarnation = message.incarnation;
  seat.forgotten = false;
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
  auto status = settings_.sign ? check_returning(client.caller, message) : Status();
  if (status.ok()) {
    status = check_rejoin(message, place);
  }
  if (status.ok() && is_still_connected(message, place)) {
    status = {Code::not_yet, "this process has another connection to the hub, which has not ended yet"};
  }
  const bool after_restart = settings_.restarted && !absences_.was_cut_off(message.peer);
  if (status.ok() && message.released && after_restart) {
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
  if (after_restart_.epoch <= message.epoch && after_restart) {
    after_restart_.epoch = message.epoch + 1;
    series_.book().begin_epoch(after_restart_.epoch);
  }
  after_restart_.found = true;
  outbox_.say(connection, RejoinedMessage{after_restart_.epoch});
  note("rejoined", client);
  changed(place, {});
  if (message.released) {
    joining_.erase(connection);
    take_exceptions(message.exceptions, now_ns);
  } else {
    client.since_ns = now_ns;
    client.deadline_ns = message.timeout_s < 0 ? UINT64_MAX : after(now_ns, std::min(message.timeout_s, 1e9));
    client.next_note_ns = now_ns + waiting_note_after_ns;
    entering_.waiting[place.program].emplace(connection, client.since_ns);
  }
  if (auto claimed = series_.claim(asker(connection, client), message, now_ns); !claimed.ok()) {
    refuse(connection, client, claimed);
    return;
  }
  if (place.relay) {
    series_.relay_came(message.node, message.peer);
  }
  if (message.released && !after_restart_.recovering) {  // the others have already been told everything
    for (const auto& payload : welcome()) {
      outbox_.say(connection, payload);
    }
  }
  if (message.released) {
    series_.tell_all(connection, message.peer);  // while it was away, another member may have brought news of them
  }
  // It may leave at once, and be the only one that knows where those listened that have left unheard.
  if (message.released && after_restart_.awaited_count > 0 && after_restart_.awaited_count <= max_contacts_looked_for) {
    if (auto unknown = without_contact(seats_, 0); !unknown.empty()) {
      outbox_.say(connection, payload_of(LookMessage{{}, std::move(unknown)}));
    }
  }
  settle_recovery(now_ns);
  release(place.program);
}

// The first member that had been told `complete` has come, or the earlier hub has written down that all had been told.
// All others were there, too, except for those of which either says something else.
void HubState::await_members(std::uint64_t now_ns) {
  if (after_restart_.awaiting) {
    return;
  }
  after_restart_.awaiting = true;
  complete_ = true;
  after_restart_.recovering = true;
  after_restart_.grace_until_ns = after(now_ns, settings_.rejoin_grace_s);
  for (std::size_t index = 0; index < seats_.programs().size(); ++index) {
    auto& program = seats_.program(static_cast<std::int32_t>(index));
    for (auto& seat : program.seats) {
      const auto peer = static_cast<channel::PeerId>(program.first_rank + (&seat - program.seats.data()));
      const bool arriving = seat.connection != 0 && clients_.at(seat.connection).phase == Phase::placed;
      const bool never_came = !settings_.earlier.programs.empty() && !settings_.earlier.ranks.contains(peer);
      if (seat.info.state != PeerState::absent || arriving || never_came) {
        continue;
      }
      seat.info.state = PeerState::present;
      seat.info.node = unknown_node;
      seat.awaited = true;
      absences_.add(peer, "it did not come back to the hub, which was started again",
                    {.cause = Absences::Cause::restart_of_the_hub,
                     .refusing_s = settings_.reset_patience_s,
                     .unreachable_s = settings_.rejoin_patience_s},
                    now_ns);
      ++after_restart_.awaited_count;
      ++members_;
      ++program.present;
      program.was_present = true;
    }
  }
  for (auto [name, series] : settings_.earlier.series) {
    std::erase_if(series.writers, [this](channel::PeerId peer) {
      const auto* const seat = seats_.find(peer);
      return seat == nullptr || !seat->awaited;
    });
    const auto program = series.writers.empty() ? -1 : seats_.place_of(*series.writers.begin()).program;
    series_.book().remember(name, program < 0 ? std::string() : seats_.program(program).spec.name, series);
  }
  welcome_.clear();
  std::vector<PeerRun> known;
  known.reserve(settings_.earlier.ranks.size());
  for (const auto& [peer, member] : settings_.earlier.ranks) {
    known.push_back({peer, 1, member.state, member.incarnation, unknown_node});
  }
  take_exceptions(known, now_ns);
  for (const auto& [peer, member] : settings_.earlier.ranks) {
    if (auto* const seat = seats_.find(peer); seat != nullptr && member.listened_at.port != 0) {
      link::ContactList contacts;
      contacts.add(link::tcp_transport_name, link::tcp_contact(member.listened_at));
      hear_contacts(*seat, member.incarnation, contacts);
    }
  }
}

void HubState::take_exceptions(const std::vector<PeerRun>& exceptions, std::uint64_t now_ns) {
  std::size_t budget = 2 * (seats_.rank_count() + max_relays);
  for (const auto& run : exceptions) {
    for (std::uint32_t index = 0; index < run.count && budget > 0; ++index, --budget) {
      const auto peer = run.first + index;
      // A relay that does not come back is not awaited. The next one is a later incarnation.
      if (const auto place = seats_.place_of(peer); place.relay) {
        const auto relay = seats_.relay_seat(static_cast<std::uint16_t>(place.node));
        if (relay.ok()) {
          (*relay)->next_incarnation = std::max<std::uint16_t>((*relay)->next_incarnation, run.incarnation + 1U);
        }
        continue;
      }
      auto* const seat = seats_.find(peer);
      if (seat == nullptr || !seat->awaited || run.incarnation < seat->info.incarnation) {
        continue;
      }
      const bool was_seen = absences_.was_cut_off(peer) || settings_.earlier.ranks.contains(peer);
      if (run.state == PeerState::absent && was_seen) {
        continue;  // this member has not heard of it yet, but this hub, or the one before it, has seen it
      }
      if (run.incarnation > seat->info.incarnation) {
        seat->info.contacts = {};  // they were those of the earlier incarnation
        seat->info.contact_known = false;
      }
      seat->info.incarnation = run.incarnation;
      if (run.state != PeerState::absent) {
        seat->next_incarnation = std::max<std::uint16_t>(seat->next_incarnation, run.incarnation + 1U);
      }
      if (run.state != PeerState::present) {
        seen_one(peer, run.state, run.incarnation, "another member knew of it", now_ns);
      }
    }
  }
}

std::vector<PeerRun> HubState::awaited() const {
  std::vector<PeerRun> runs;
  if (after_restart_.awaited_count == 0) {
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
  for (const auto peer : absences_.peers()) {
    if (peer >= channel::first_relay_peer) {
      add_to_runs(runs, peer, seats_.find(peer)->info);
    }
  }
  return runs;
}

void HubState::seen(const PeerRun& run, const std::string& why, std::uint64_t now_ns) {
  for (std::uint32_t index = 0; index < run.count && after_restart_.awaited_count > 0; ++index) {
    seen_one(run.first + index, run.state, run.incarnation, why, now_ns);
  }
  settle_recovery(now_ns);
}

void HubState::take(ConnectionId connection, Client& client, const SeenMessage& message, std::uint64_t now_ns) {
  // A process that waits for an awaited place is asked, too. It may have got the place before its answer comes.
  const bool may_have_been_asked = client.node_key && client.phase != Phase::fresh;
  if (client.phase != Phase::released && !may_have_been_asked) {
    refuse(connection, client, {Code::protocol, "message 'seen' out of turn"});
    return;
  }
  for (const auto& run : message.seen) {
    seen(run, fmt::format("its process has ended without leaving, as its lock says on host {}", client.host), now_ns);
  }
  for (const auto& entry : message.contacts) {
    if (auto* const seat = seats_.find(entry.peer); seat != nullptr) {
      hear_contacts(*seat, entry.incarnation, entry.contact.transports);
    }
  }
}

// What is known of an awaited process. present: it lives. Otherwise it will not come back, and `state` says why
// (absent: it had never been there).
void HubState::seen_one(channel::PeerId peer, PeerState state, std::uint16_t incarnation, const std::string& why,
                        std::uint64_t now_ns) {
  auto* const seat = seats_.find(peer);
  if (seat == nullptr || !seat->awaited || incarnation != seat->info.incarnation) {
    return;
  }
  if (state == PeerState::present) {
    absences_.seen_alive(peer, now_ns);
    release(seats_.place_of(peer).program);
    return;
  }
  const auto place = seats_.place_of(peer);
  seat->awaited = false;
  --after_restart_.awaited_count;
  members_ -= place.relay ? 0 : 1;
  absences_.remove(peer);
  seat->info.state = state;
  seat->info.contact_known = false;
  Client gone;
  gone.place = place;
  gone.peer = peer;
  gone.host = seats_.node_name(seat->info.node);
  if (state == PeerState::absent) {
    auto& program = seats_.program(place.program);
    --program.present;
    program.was_present = std::any_of(program.seats.begin(), program.seats.end(),
                                      [](const Seat& each) { return each.info.state != PeerState::absent; });
    series_.peer_gone(peer, now_ns);
  } else {
    seat->next_incarnation = std::max<std::uint16_t>(seat->next_incarnation, seat->info.incarnation + 1U);
    const bool lost = state == PeerState::lost;
    note(lost ? "lost" : "left", gone, lost ? fmt::format("{} is lost: {}", client_name(gone), why) : std::string());
    rank_gone(place, peer, now_ns);
  }
  changed(place, why);
  if (seat->connection != 0) {  // another process waits for this place
    this->place(seat->connection, clients_.at(seat->connection));
  }
}

// Asks one member of each node, and one process of each node that joins there, whether the processes that have not come
// back live on its node, and ends the waiting for them. A process that was started again may be the only one on the
// node of its predecessor.
void HubState::look_for_awaited(std::uint64_t now_ns) {
  look_at_absent(now_ns);
  if (!settings_.earlier.programs.empty() && !after_restart_.awaiting) {
    if (!seats_.adopt_sizes(settings_.earlier.programs).ok()) {
      settings_.earlier = {};  // it was started again with other programs
    } else if (settle_sizes(); !over_) {
      await_members(now_ns);
    }
  }
  if (settings_.restarted && !after_restart_.awaiting && (after_restart_.patience_until_ns == 0 || members_ > 0)) {
    after_restart_.patience_until_ns = after(now_ns, settings_.rejoin_patience_s);
  }
  if (settings_.restarted && !complete_ && members_ == 0 && now_ns >= after_restart_.patience_until_ns) {
    end(
        fmt::format("no process of before has come back within {:g} s, and none has joined (setting "
                    "hub.rejoin_patience_s)",
                    settings_.rejoin_patience_s));
    return;
  }
  if (after_restart_.awaited_count == 0) {
    if (after_restart_.awaiting && !std::exchange(after_restart_.all_are_known, true) &&
        settings_.earlier.programs.empty()) {
      outbox_.note({.name = "programs", .programs = seats_.infos()});  // no hub has written it down for the next one
    }
    return;
  }
  if (now_ns < after_restart_.next_look_ns) {
    return;
  }
  after_restart_.next_look_ns = now_ns + look_every_ns;
  auto runs = awaited();
  runs.resize(std::min(runs.size(), max_runs_per_message));
  // A process may have made no call since the hub was started again, and then have left without the hub hearing of it.
  // If it was the last one on its node, only its port shows that it has ended. Other members know this port, so one of
  // them is asked for it.
  const std::uint64_t turn = now_ns / look_every_ns;
  const auto unknown = without_contact(seats_, turn);
  const auto knower = unknown.empty() || released_ == 0 ? SIZE_MAX : turn % released_;
  const auto message = payload_of(LookMessage{runs, {}});
  std::set<std::int32_t> nodes;
  std::size_t number = 0;
  for (const auto& [connection, client] : clients_) {
    if (client.phase != Phase::released) {
      continue;
    }
    const bool first_of_node = nodes.insert(client.place.node).second;
    if (number++ == knower) {
      outbox_.say(connection, payload_of(LookMessage{first_of_node ? runs : std::vector<PeerRun>(), unknown}));
    } else if (first_of_node) {
      outbox_.say(connection, message);
    }
  }
  std::set<std::string> keys;
  for (const auto connection : joining_) {
    const auto& client = clients_.at(connection);
    if (client.phase == Phase::admitted && client.node_key && keys.insert(*client.node_key).second) {
      outbox_.say(connection, message);
    }
  }
}

void HubState::look_at_absent(std::uint64_t now_ns) {
  for (const auto& ended : absences_.due(now_ns)) {
    seen_one(ended.peer, PeerState::lost, seats_.find(ended.peer)->info.incarnation, ended.why, now_ns);
  }
  for (const auto peer : absences_.newly_unreachable(settings_.reset_patience_s, now_ns)) {
    Client absent;
    absent.place = seats_.place_of(peer);
    absent.peer = peer;
    absent.host = seats_.node_name(seats_.find(peer)->info.node);
    const auto text = fmt::format(
        "{} cannot be reached by the hub. Its process may live: it counts as lost if this "
        "lasts for {:g} s (setting connection_patience_s)",
        client_name(absent), settings_.connection_patience_s);
    note("unreachable", absent, text);
    for (const auto& [connection, client] : clients_) {
      if (client.phase == Phase::released && client.place.rank == 0) {
        outbox_.say(connection, WaitingMessage{text});
      }
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

// All have come back, or joining has waited for long enough. From now on, the hub relies on what it knows.
void HubState::settle_recovery(std::uint64_t now_ns) {
  if (!after_restart_.recovering) {
    return;
  }
  if (after_restart_.grace_until_ns == 0) {
    after_restart_.grace_until_ns = after(now_ns, settings_.rejoin_grace_s);
  }
  const bool everybody =
      after_restart_.awaited_count == 0 && (after_restart_.awaiting || seats_.required_are_present());
  if (!everybody && now_ns < after_restart_.grace_until_ns) {
    return;
  }
  after_restart_.recovering = false;
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
