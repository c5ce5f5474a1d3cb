#include "universe/hub/hub_state.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "os/clock.hpp"

namespace couplet::universe {
namespace {

// A hub that does not know which tickets were signed before gives numbers from the epoch times this number on. An area
// is marked with the low seven bits of an incarnation: the last one of before has to be a little behind the new one.
constexpr std::uint32_t unknown_tickets_step = 129;

std::uint64_t deadline(std::uint64_t now_ns, double timeout_s) noexcept {
  return os::deadline_after(timeout_s, now_ns);
}

std::string relay_mode(const SettingMap& settings) {
  const auto mode = settings.find("relay");
  return mode == settings.end() ? std::string() : mode->second;
}

// missing: what Seats::missing() says, perhaps nothing.
std::string waiting_also_for(const std::string& missing, const std::string& more) {
  return (missing.empty() ? "waiting for " : missing + ", and for ") + more;
}

// Returns the number of the next process that has this seat. No ticket with this number was signed before, also not by
// an earlier hub. epoch: how often the hub was started again.
std::uint32_t unused_incarnation(channel::PeerId peer, const Seat& seat, const EarlierMembers& earlier,
                                 std::uint32_t epoch) {
  std::uint32_t number = seat.next_incarnation;
  bool skips = seat.forgotten;
  if (const auto found = earlier.tickets.find(peer); found != earlier.tickets.end() && found->second >= number) {
    number = found->second + 1U;
    skips = true;
  }
  if (skips && seat.info.state == PeerState::absent) {  // nobody has heard of these processes
    number = std::max<std::uint32_t>(number, unheard_incarnation);
  }
  if (!earlier.tickets_are_known) {
    number = std::max(number, std::max(epoch, 1U) * unknown_tickets_step);
  }
  return number;
}

std::string doubtful_rank(std::size_t rank, const std::string& program, double patience_s) {
  return fmt::format(
      "rank {} of program '{}', which has no connection to the hub: it is not known yet whether its process lives (it "
      "counts as lost after {:g} s, setting connection_patience_s)",
      rank, program, patience_s);
}

}  // namespace

HubState::HubState(HubSettings settings)
    : settings_(std::move(settings)),
      seats_(settings_.programs),
      series_(seats_, outbox_, relay_mode(settings_.settings),
              {.tell_changes = [this](ConnectionId to) { tell_changes(to); },
               .is_awaiting = [this] { return after_restart_.awaited_count > 0; },
               .doubt = [this](channel::PeerId peer) { absences_.doubt(peer); }}),
      second_comers_(settings_.has_unheard) {
  after_restart_.recovering = settings_.restarted;
  after_restart_.epoch = settings_.first_epoch;
  series_.book().begin_epoch(after_restart_.epoch);
  settle_sizes();
}

// ---- connections

void HubState::connected(ConnectionId connection, std::uint64_t now_ns, const Caller& caller) {
  auto& client = clients_[connection];
  client.caller = caller;
  client.since_ns = now_ns;
  if (over_) {  // it dialed before the end, and has proven the secret only now
    client.phase = Phase::refused;
    outbox_.say(connection, OverMessage{*over_}, true);
    return;
  }
  joining_.insert(connection);
}

void HubState::received(ConnectionId connection, const MemberMessage& message, std::uint64_t now_ns) {
  const auto found = clients_.find(connection);
  if (found == clients_.end() || found->second.phase == Phase::refused || over_) {
    return;
  }
  std::visit([&](const auto& each) { take(connection, found->second, each, now_ns); }, message);
  if (members_ == 0) {
    check_over(now_ns);
  }
}

template <typename Message>
void HubState::take(ConnectionId connection, Client& client, const Message& message, std::uint64_t now_ns) {
  if constexpr (requires { series_.take(asker(connection, client), message, now_ns); }) {
    series_.take(asker(connection, client), message, now_ns);
  } else {
    series_.take(asker(connection, client), message);
  }
}

void HubState::broken(ConnectionId connection, const Status& why, std::uint64_t now_ns) {
  const auto found = clients_.find(connection);
  if (found == clients_.end() || found->second.phase == Phase::refused || over_) {
    return;
  }
  refuse(connection, found->second, why);
  check_over(now_ns);
}

void HubState::disconnected(ConnectionId connection, const std::string& why, std::uint64_t now_ns) {
  const auto found = clients_.find(connection);
  if (found == clients_.end()) {
    return;
  }
  if (!over_) {
    gone(connection, found->second, PeerState::lost, why, now_ns);
  }
  joining_.erase(connection);
  outbox_.caught_up(connection);
  clients_.erase(found);
  if (members_ == 0) {
    check_over(now_ns);
  }
}

void HubState::fell_behind(ConnectionId connection) {
  if (clients_.contains(connection)) {
    outbox_.fell_behind(connection);
  }
}

void HubState::caught_up(ConnectionId connection) {
  const auto found = clients_.find(connection);
  const bool missed = outbox_.caught_up(connection);
  if (!missed || found == clients_.end() || found->second.phase != Phase::released || over_) {
    return;
  }
  for (const auto& payload : welcome()) {
    outbox_.say(connection, payload);
  }
  series_.tell_all(connection, found->second.peer);
}

void HubState::tick(std::uint64_t now_ns) {
  if (over_) {
    return;
  }
  for (const auto connection : second_comers_.take()) {
    const auto found = clients_.find(connection);
    if (found == clients_.end()) {
      continue;
    }
    auto& client = found->second;
    client.decide_by_ns = now_ns < client.decide_by_ns ? client.decide_by_ns : 0;
    if (client.phase == Phase::fresh && client.join) {
      take(connection, client, JoinMessage(*client.join), now_ns);
    } else {
      place(connection, client);
    }
  }
  // Computed once for each program, since each is a walk over all its ranks.
  std::map<std::int32_t, std::string> known;
  const auto text_for = [&](const Client& client) {
    auto found = known.find(client.place.program);
    if (found == known.end()) {
      found = known.emplace(client.place.program, missing(client.place.program)).first;
    }
    const auto& programs = found->second;
    if (const auto* const seat = seats_.find(client.place);
        client.phase == Phase::admitted && seat != nullptr && seat->awaited) {
      const auto what = client.place.relay ? std::string("the relay of this node")
                                           : fmt::format("rank {} of program '{}'", client.place.rank,
                                                         seats_.program(client.place.program).spec.name);
      return waiting_also_for(
          programs, fmt::format("the process that was {} before, which may still live: it has not come back to the "
                                "hub, and no process on its node has said that it has ended (it counts as lost after "
                                "{:g} s, setting hub.rejoin_patience_s)",
                                what, settings_.rejoin_patience_s));
    }
    if (after_restart_.recovering) {
      return waiting_also_for(programs, fmt::format("members of before, since the hub was started again (at most {:g} "
                                                    "s, setting hub.rejoin_grace_s)",
                                                    settings_.rejoin_grace_s));
    }
    const auto rank = complete_ && client.phase == Phase::present
                          ? entering_.rank_in_doubt(client.place.program, seats_, absences_)
                          : std::nullopt;
    if (rank) {
      const auto& name = seats_.program(client.place.program).spec.name;
      return waiting_also_for(programs, doubtful_rank(*rank, name, settings_.connection_patience_s));
    }
    return programs.empty() ? "waiting for this process itself to name its node and its address" : programs;
  };
  for (const auto connection : std::vector<ConnectionId>(joining_.begin(), joining_.end())) {
    auto& client = clients_.at(connection);
    if (now_ns >= client.deadline_ns) {
      const auto text = fmt::format("joining took longer than {:.1f} s: {}",
                                    static_cast<double>(client.deadline_ns - client.since_ns) / 1e9, text_for(client));
      gone(connection, client, PeerState::lost, "it gave up", now_ns);
      refuse(connection, client, {Code::timeout, text});
    } else if (now_ns >= client.next_note_ns && client.place.rank <= 0) {
      client.next_note_ns = now_ns + waiting_note_every_ns;
      const auto text = text_for(client);
      outbox_.say(connection, WaitingMessage{text});
      note("waiting", client, text);
    }
  }
  settle_recovery(now_ns);
  look_for_awaited(now_ns);
  check_over(now_ns);
}

void HubState::flush(std::uint64_t now_ns) {
  if (over_ || changes_.due_ns() > now_ns) {
    return;
  }
  const auto payloads = changes_.take(now_ns, released_, settings_.tells_contacts(seats_.rank_count()));
  for (const auto& [connection, client] : clients_) {
    if (client.phase == Phase::released) {
      for (const auto& payload : payloads) {
        outbox_.say_change(connection, payload);
      }
    }
  }
  for (const auto program : std::exchange(entering_.with_next_batch, {})) {
    release(program);
  }
}

// Tells one member now what the next batch will tell all.
void HubState::tell_changes(ConnectionId connection) {
  const auto found = clients_.find(connection);
  if (found != clients_.end() && found->second.phase == Phase::released) {
    for (const auto& payload : changes_.look(settings_.tells_contacts(seats_.rank_count()))) {
      outbox_.say_change(connection, payload);
    }
  }
}

void HubState::stop(const std::string& why) {
  if (!over_) {
    end(why);
  }
}

bool HubState::may_be_missed() const noexcept {
  const bool nothing_is_known = settings_.restarted && !after_restart_.awaiting && !after_restart_.found;
  return after_restart_.awaited_count > 0 || nothing_is_known;
}

// ---- joining

void HubState::take(ConnectionId connection, Client& client, const JoinMessage& message, std::uint64_t now_ns) {
  if (client.phase != Phase::fresh) {
    refuse(connection, client, {Code::protocol, "this connection has joined already"});
    return;
  }
  if (!client.join) {
    client.since_ns = now_ns;
    client.deadline_ns = deadline(now_ns, message.timeout_s);
    client.next_note_ns = now_ns + waiting_note_after_ns;
    client.decide_by_ns = now_ns + hear_out_ns;
    client.host = message.host;
    client.place.relay = message.relay;
  }
  if (auto status = admit(connection, client, message); !status.ok()) {
    if (status.code() != Code::not_yet) {
      refuse(connection, client, status);
    }
    return;
  }
  client.phase = Phase::admitted;
  members_ += client.place.relay ? 0 : 1;
  outbox_.say(connection, AdmittedMessage{settings_.run_id, after_restart_.epoch, settings_.settings});
  settle_sizes();
}

Status HubState::admit(ConnectionId connection, Client& client, const JoinMessage& message) {
  if (message.relay) {
    return {};
  }
  COUPLET_TRY_VALUE(const auto program, seats_.program_for(message));
  const Place place{false, program, message.rank, -1};
  auto& seat = *seats_.find(place);
  if (seat.connection != 0) {
    const auto& other = clients_.at(seat.connection);
    if (client.decide_by_ns > 0 && second_comers_.wait(connection, seat.connection)) {
      client.join = message;
      return Code::not_yet;
    }
    return fail(Code::exists,
                "rank {} of program '{}' is in the universe already, on host {}{}; it cannot join again from host {}",
                message.rank, message.program, other.host,
                seat.info.state == PeerState::present ? fmt::format(" (process {})", seat.info.process) : "",
                message.host);
  }
  seat.connection = connection;
  client.place = place;
  return {};
}

void HubState::settle_sizes() {
  const auto settled = seats_.settle_sizes();
  if (!settled.ok()) {
    end(settled.status().text());
    return;
  }
  if (*settled) {
    for (const auto connection : std::vector<ConnectionId>(joining_.begin(), joining_.end())) {
      place(connection, clients_.at(connection));
    }
  }
}

void HubState::take(ConnectionId connection, Client& client, const NodeMessage& message, std::uint64_t /*now_ns*/) {
  if (client.phase != Phase::admitted || client.node_key) {
    refuse(connection, client, {Code::protocol, "message 'node' out of turn"});
    return;
  }
  client.node_key = message.key;
  client.noted_node = message.node;
  place(connection, client);
}

// Gives an admitted client its number, once everything that the number depends on is known.
void HubState::place(ConnectionId connection, Client& client) {
  if (client.phase != Phase::admitted || !client.node_key || !seats_.sizes_known() || after_restart_.recovering) {
    return;
  }
  if (client.place.node < 0) {
    // A hub that was started again does not know all numbers that its predecessors have given to nodes, since their
    // members may come back late: a new node gets one that no predecessor has reached.
    const auto epoch = settings_.restarted ? std::max<std::size_t>(after_restart_.epoch, 1) : 0;
    const auto first_new = epoch * std::max(min_nodes_of_a_hub, seats_.rank_count());
    const auto numbered = seats_.node_for(*client.node_key, client.host, client.noted_node, first_new);
    if (!numbered.ok()) {
      refuse(connection, client, numbered.status());
      return;
    }
    client.place.node = numbered->number;
    if (numbered->is_new) {
      welcome_.clear();
      if (complete_) {
        changes_.add_node(numbered->number, client.host);
      }
    }
  }
  const auto node = static_cast<std::uint16_t>(client.place.node);
  if (client.place.relay) {
    const auto seat = seats_.relay_seat(node);
    if (!seat.ok() || ((*seat)->connection != 0 && (*seat)->connection != connection)) {
      const bool waits = seat.ok() && client.decide_by_ns > 0 && second_comers_.wait(connection, (*seat)->connection);
      if (!waits) {
        refuse(connection, client,
               seat.ok() ? fail(Code::exists, "node {} has a relay already", seats_.node_name(node)) : seat.status());
      }
      return;
    }
    (*seat)->connection = connection;
  }
  auto& seat = *seats_.find(client.place);
  if (seat.awaited) {
    return;  // the process that had the place before may still live, which is being found out
  }
  if (settings_.restarted && !after_restart_.awaiting) {
    seat.next_incarnation = std::max(seat.next_incarnation, unheard_incarnation);
  }
  client.peer = seats_.peer_of(client.place);
  const auto number = unused_incarnation(client.peer, seat, settings_.earlier, after_restart_.epoch);
  if (number > max_incarnation) {
    refuse(connection, client,
           fail(Code::limit, "{} was started {} times, the most that are possible", client_name(client), number));
    return;
  }
  // The number is used up from now on, even if the process is never present: it has the ticket.
  client.incarnation = static_cast<std::uint16_t>(number);
  seat.next_incarnation = static_cast<std::uint16_t>(number + 1U);
  seat.forgotten = false;
  client.phase = Phase::placed;
  channel::Signature signature{};
  if (settings_.sign) {
    signature = settings_.sign(client.peer, client.incarnation, client.caller.key);
    outbox_.note({.name = "ticket", .peer = client.peer, .incarnation = client.incarnation});
  }
  outbox_.say(connection, PlacedMessage{client.peer, node, client.incarnation, signature, seats_.infos()});
}

void HubState::take(ConnectionId connection, Client& client, const PresentMessage& message, std::uint64_t /*now_ns*/) {
  if (client.phase != Phase::placed) {
    refuse(connection, client, {Code::protocol, "message 'present' out of turn"});
    return;
  }
  auto& seat = *seats_.find(client.place);
  seat.info.node = static_cast<std::uint16_t>(client.place.node);
  seat.info.incarnation = client.incarnation;
  set_contact(seat.info, message.contact);
  seat.info.state = PeerState::present;
  client.phase = Phase::present;
  after_restart_.found = true;
  if (!client.place.relay) {
    auto& program = seats_.program(client.place.program);
    ++program.present;
    program.was_present = true;
  }
  note("joined", client);
  changed(client.place, {});
  if (client.place.relay) {
    series_.relay_came(seat.info.node, client.peer);
  }
  entering_.waiting[client.place.program].emplace(connection, client.since_ns);
  release(client.place.program);
}

void HubState::take(ConnectionId connection, Client& client, const CatchUpMessage& message, std::uint64_t /*now_ns*/) {
  if (client.phase != Phase::released) {
    refuse(connection, client, {Code::protocol, "message 'catch_up' out of turn"});
    return;
  }
  tell_changes(connection);
  outbox_.answer(connection, message.request, {});
}

void HubState::take(ConnectionId connection, Client& client, const ContactsOfMessage& message,
                    std::uint64_t /*now_ns*/) {
  if (client.phase != Phase::released) {
    refuse(connection, client, {Code::protocol, "message 'contacts_of' out of turn"});
    return;
  }
  for (auto& payload : encode_contacts(seats_.contacts(message.first, message.count))) {
    outbox_.say(connection, std::move(payload));
  }
}

// Tells a peer that this member cannot reach it, and waits for the peer to dial. If the peer has not come back to a hub
// that was started again, the hub did not know where it listens: it calls there from now on.
void HubState::take(ConnectionId connection, Client& client, const CallMeBackMessage& message,
                    std::uint64_t /*now_ns*/) {
  const auto* const own = seats_.find(client.place);
  auto* const seat = seats_.find(message.peer);
  if (client.phase != Phase::released || own == nullptr) {
    refuse(connection, client, {Code::protocol, "message 'call_me_back' out of turn"});
  } else if (seat != nullptr && seat->awaited) {
    if (seat->info.incarnation == message.incarnation) {
      hear_contacts(*seat, message.incarnation, message.contact.transports);
      absences_.doubt(message.peer);
    }
  } else if (seat != nullptr && seat->connection != 0 && seat->info.state == PeerState::present) {
    outbox_.say_change(seat->connection, payload_of(CallBackMessage{client.peer, own->info.incarnation}));
  }
}

// ---- leaving

void HubState::take(ConnectionId connection, Client& client, const LeaveMessage& /*message*/, std::uint64_t now_ns) {
  gone(connection, client, PeerState::left, {}, now_ns);
  client.phase = Phase::refused;
  joining_.erase(connection);
  outbox_.say(connection, GoodbyeMessage{}, true);
}

void HubState::gone(ConnectionId connection, Client& client, PeerState state, const std::string& why,
                    std::uint64_t now_ns) {
  if (client.phase == Phase::fresh || client.phase == Phase::refused) {
    return;
  }
  members_ -= client.place.relay ? 0 : 1;
  released_ -= client.phase == Phase::released ? 1 : 0;
  const bool was_present = client.phase == Phase::present || client.phase == Phase::released;
  const bool has_only_a_ticket = client.phase == Phase::placed;
  client.phase = Phase::refused;
  series_.drop(connection);
  entering_.waiting[client.place.program].erase(connection);
  auto* const seat = seats_.find(client.place);
  if (has_only_a_ticket && seat != nullptr) {
    seat->forgotten = true;
  }
  seats_.vacate(connection, client.place);
  if (!was_present) {
    return;
  }
  COUPLET_ASSERT(seat != nullptr);
  seat->info.state = state;
  seat->info.contact_known = false;
  const bool lost = state == PeerState::lost;
  note(lost ? "lost" : "left", client, lost ? fmt::format("{} is lost: {}", client_name(client), why) : std::string());
  changed(client.place, why);
  rank_gone(client.place, client.peer, now_ns);
}

// The state of this place has changed, which all members are to be told.
void HubState::changed(const Place& place, const std::string& why) {
  welcome_.clear();
  const auto& info = seats_.find(place)->info;
  const bool told_later =
      after_restart_.recovering && info.state == PeerState::present;  // everybody will be told everything then
  if (complete_ && !told_later) {
    changes_.add(seats_.peer_of(place), info, why);
  }
}

void HubState::rank_gone(const Place& place, channel::PeerId peer, std::uint64_t now_ns) {
  if (place.relay) {
    return;
  }
  series_.peer_gone(peer, now_ns);
  auto& program = seats_.program(place.program);
  if (--program.present == 0) {
    series_.program_gone(program.spec.name);
  }
}

bool HubState::only_readers() const {
  return after_restart_.awaited_count == 0 && std::all_of(clients_.begin(), clients_.end(), [&](const auto& item) {
           const auto& client = item.second;
           const bool member = client.phase != Phase::fresh && client.phase != Phase::refused && !client.place.relay;
           return !member || (client.phase == Phase::released && series_.book().reads(client.peer));
         });
}

void HubState::check_over(std::uint64_t now_ns) {
  if (over_ || !complete_) {
    return;
  }
  const auto& book = series_.book();
  const bool limited = settings_.linger_s >= 0;
  const bool readers_only = members_ > 0 && limited && !book.empty() && book.finished() && only_readers();
  if (members_ > 0 && !readers_only) {
    idle_since_ns_ = 0;
    return;
  }
  if (idle_since_ns_ == 0) {
    idle_since_ns_ = now_ns;
  }
  const auto limit = limited ? deadline(idle_since_ns_, settings_.linger_s) : UINT64_MAX;
  if (now_ns >= limit) {
    end("the time that the universe lingers has passed");
  } else if (members_ == 0 && book.finished() && now_ns >= book.lingers_until_ns()) {
    end("every program has ended");
  }
}

void HubState::end(const std::string& text) {
  over_ = text;
  outbox_.note({.name = "over", .text = text});
  const auto message = payload_of(OverMessage{text});
  for (const auto& [connection, client] : clients_) {
    outbox_.say(connection, message, true);
  }
}

void HubState::refuse(ConnectionId connection, Client& client, const Status& why) {
  gone(connection, client, PeerState::lost, why.text(), client.since_ns);
  client.phase = Phase::refused;
  joining_.erase(connection);
  outbox_.say(connection, RefusedMessage{why.code(), why.text()}, true);
}

// ---- texts

std::string HubState::client_name(const Client& client) const {
  if (client.place.relay) {
    return fmt::format("the relay of node {}", client.host);
  }
  return fmt::format("program '{}' rank {} (universe rank {}) on host {}",
                     seats_.program(client.place.program).spec.name, client.place.rank, client.peer, client.host);
}

void HubState::note(const char* name, const Client& client, const std::string& text) {
  HubEvent event;
  event.name = name;
  if (client.place.program >= 0) {
    event.program = seats_.program(client.place.program).spec.name;
  }
  event.rank = client.place.rank;
  event.peer = client.peer;
  event.node = client.host;
  event.text = text;
  if (const auto* const seat = seats_.find(client.place); seat != nullptr) {
    event.incarnation = seat->info.incarnation;
    event.listens_at = link::tcp_listener(seat->info.contacts);
  }
  outbox_.note(std::move(event));
}

Asker HubState::asker(ConnectionId connection, const Client& client) const {
  return {.connection = connection,
          .place = client.place,
          .peer = client.peer,
          .host = client.host,
          .released = client.phase == Phase::released,
          .recovering = after_restart_.recovering};
}

}  // namespace couplet::universe
