#include "universe/hub/hub_state.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "os/clock.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t table_entries_per_frame = 16384;
constexpr std::size_t most_listed = 8;  // ranks that a sentence names

std::shared_ptr<const std::string> shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::uint64_t deadline(std::uint64_t now_ns, double timeout_s) noexcept {
  return os::deadline_after(timeout_s, now_ns);
}

}  // namespace

HubState::HubState(HubSettings settings) : settings_(std::move(settings)) {
  for (const auto& spec : settings_.programs) {
    Program program;
    program.spec = spec;
    program.seats.resize(static_cast<std::size_t>(spec.size));
    programs_.push_back(std::move(program));
  }
  settle_sizes();
}

// ---- connections

void HubState::connected(ConnectionId connection, std::uint64_t now_ns) {
  auto& client = clients_[connection];
  client.since_ns = now_ns;
}

void HubState::received(ConnectionId connection, const MemberMessage& message, std::uint64_t now_ns) {
  const auto found = clients_.find(connection);
  if (found == clients_.end() || found->second.phase == Phase::refused || over_) {
    return;
  }
  std::visit([&](const auto& each) { take(connection, found->second, each, now_ns); }, message);
  check_over(now_ns);
}

void HubState::broken(ConnectionId connection, const Status& why, std::uint64_t now_ns) {
  const auto found = clients_.find(connection);
  if (found == clients_.end() || found->second.phase == Phase::refused || over_) {
    return;
  }
  gone(connection, found->second, PeerState::lost, why.text(), now_ns);
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
  clients_.erase(connection);
  check_over(now_ns);
}

void HubState::fell_behind(ConnectionId connection) {
  if (const auto found = clients_.find(connection); found != clients_.end()) {
    found->second.behind = true;
  }
}

void HubState::caught_up(ConnectionId connection) {
  const auto found = clients_.find(connection);
  if (found == clients_.end()) {
    return;
  }
  auto& client = found->second;
  client.behind = false;
  if (!std::exchange(client.missed, false) || client.phase != Phase::released || over_) {
    return;
  }
  for (auto output : welcome_now()) {
    output.to = connection;
    outputs_.push_back(std::move(output));
  }
  for (const auto* const record : series_.read_by(client.peer)) {
    say(connection, SeriesMessage{record->name, record->program, record->incarnation, record->closed});
  }
}

// True: the connection is behind, and is not told this change.
bool HubState::misses(ConnectionId connection) {
  auto& client = clients_[connection];
  client.missed = client.missed || client.behind;
  return client.behind;
}

void HubState::tick(std::uint64_t now_ns) {
  if (over_) {
    return;
  }
  for (auto& [connection, client] : clients_) {
    if (client.phase == Phase::released || client.phase == Phase::refused) {
      continue;
    }
    if (now_ns >= client.deadline_ns) {
      const auto text =
          fmt::format("joining took longer than {:.1f} s: {}",
                      static_cast<double>(client.deadline_ns - client.since_ns) / 1e9, missing(client.program));
      gone(connection, client, PeerState::lost, "it gave up", now_ns);
      refuse(connection, client, {Code::timeout, text});
    } else if (now_ns >= client.next_note_ns && client.rank <= 0) {
      client.next_note_ns = now_ns + waiting_note_every_ns;
      const auto text = missing(client.program);
      say(connection, WaitingMessage{text});
      note("waiting", client, text);
    }
  }
  check_over(now_ns);
}

void HubState::stop(const std::string& why) {
  if (!over_) {
    end(why);
  }
}

// ---- joining

void HubState::take(ConnectionId connection, Client& client, const JoinMessage& message, std::uint64_t now_ns) {
  if (client.phase != Phase::fresh) {
    refuse(connection, client, {Code::protocol, "this connection has joined already"});
    return;
  }
  client.since_ns = now_ns;
  client.deadline_ns = deadline(now_ns, message.timeout_s);
  client.next_note_ns = now_ns + waiting_note_after_ns;
  client.host = message.host;
  client.relay = message.relay;
  if (auto status = admit(connection, client, message); !status.ok()) {
    refuse(connection, client, status);
    return;
  }
  client.phase = Phase::admitted;
  members_ += client.relay ? 0 : 1;
  say(connection, AdmittedMessage{settings_.run_id, settings_.settings});
  settle_sizes();
}

Status HubState::admit(ConnectionId connection, Client& client, const JoinMessage& message) {
  if (message.relay) {
    return {};
  }
  COUPLET_TRY(check_program_name(message.program));
  const auto same = [&](const Program& program) { return program.spec.name == message.program; };
  const auto found = std::find_if(programs_.begin(), programs_.end(), same);
  if (found == programs_.end()) {
    return fail(Code::not_found, "the universe has no program '{}'; it has {}", message.program,
                quoted_list(program_names()));
  }
  auto& program = *found;
  if (message.size < 1 || message.rank < 0 || message.rank >= message.size) {
    return fail(Code::argument, "program '{}': rank {} of {} makes no sense", message.program, message.rank,
                message.size);
  }
  if (program.seats.empty()) {
    if (message.size > most_ranks) {
      return fail(Code::limit, "program '{}' says it has {} ranks, at most {} are possible", message.program,
                  message.size, most_ranks);
    }
    program.seats.resize(static_cast<std::size_t>(message.size));
  } else if (program.seats.size() != static_cast<std::size_t>(message.size)) {
    const auto* const source = program.spec.size > 0 ? "as the hub was told" : "as its first rank said";
    return fail(Code::mismatch, "program '{}' has {} ranks, {}, but its rank {} on host {} says it has {}",
                message.program, program.seats.size(), source, message.rank, message.host, message.size);
  }
  auto& seat = program.seats[static_cast<std::size_t>(message.rank)];
  if (seat.connection != 0) {
    const auto& other = clients_[seat.connection];
    return fail(Code::exists,
                "rank {} of program '{}' is in the universe already, on host {}{}; it cannot join again from host {}",
                message.rank, message.program, other.host,
                seat.info.state == PeerState::present ? fmt::format(" (process {})", seat.info.process) : "",
                message.host);
  }
  seat.connection = connection;
  client.program = static_cast<std::int32_t>(found - programs_.begin());
  client.rank = message.rank;
  return {};
}

void HubState::settle_sizes() {
  const auto unknown = [](const Program& program) { return program.seats.empty(); };
  if (sizes_known_ || std::any_of(programs_.begin(), programs_.end(), unknown)) {
    return;
  }
  sizes_known_ = true;
  std::int64_t first_rank = 0;
  for (auto& program : programs_) {
    program.first_rank = static_cast<std::int32_t>(first_rank);
    first_rank += static_cast<std::int64_t>(program.seats.size());
  }
  if (first_rank > most_ranks) {
    end(fmt::format("the programs have {} ranks together, at most {} are possible", first_rank, most_ranks));
    return;
  }
  for (auto& [connection, client] : clients_) {
    if (client.phase == Phase::admitted && client.node >= 0) {
      place(connection, client);
    }
  }
}

void HubState::take(ConnectionId connection, Client& client, const NodeMessage& message, std::uint64_t /*now_ns*/) {
  if (client.phase != Phase::admitted || client.node >= 0) {
    refuse(connection, client, {Code::protocol, "message 'node' out of turn"});
    return;
  }
  auto found = node_of_key_.find(message.key);
  if (found == node_of_key_.end()) {
    if (nodes_.size() >= most_nodes) {
      refuse(connection, client,
             fail(Code::limit, "the universe has {} nodes, the most that are possible", most_nodes));
      return;
    }
    found = node_of_key_.emplace(message.key, static_cast<std::uint16_t>(nodes_.size())).first;
    nodes_.push_back({message.key, client.host});
  }
  client.node = found->second;
  if (sizes_known_) {
    place(connection, client);
  }
}

void HubState::place(ConnectionId connection, Client& client) {
  const auto node = static_cast<std::uint16_t>(client.node);
  if (client.relay) {
    client.peer = channel::first_relay_peer + node;
    auto& seat = relays_[node];
    if (seat.connection != 0 || relays_.size() > most_relays) {
      const auto status =
          seat.connection != 0
              ? fail(Code::exists, "node {} has a relay already", nodes_[node].name)
              : fail(Code::limit, "the universe has {} relays, the most that are possible", most_relays);
      refuse(connection, client, status);
      return;
    }
    seat.connection = connection;
  } else {
    client.peer =
        static_cast<channel::PeerId>(programs_[static_cast<std::size_t>(client.program)].first_rank + client.rank);
  }
  auto& seat = *seat_of(client);
  seat.info.node = node;
  seat.info.incarnation = seat.next_incarnation;
  client.phase = Phase::placed;
  PlacedMessage placed{client.peer, node, seat.info.incarnation, {}};
  for (const auto& program : programs_) {
    placed.programs.push_back({program.spec.name, static_cast<std::int32_t>(program.seats.size()), program.first_rank,
                               program.spec.required});
  }
  say(connection, placed);
}

void HubState::take(ConnectionId connection, Client& client, const PresentMessage& message, std::uint64_t /*now_ns*/) {
  if (client.phase != Phase::placed) {
    refuse(connection, client, {Code::protocol, "message 'present' out of turn"});
    return;
  }
  auto& seat = *seat_of(client);
  ++seat.next_incarnation;
  seat.info.address = message.address;
  seat.info.port = message.port;
  seat.info.process = message.process;
  seat.info.memory_nonce = message.memory_nonce;
  seat.info.state = PeerState::present;
  client.phase = Phase::present;
  if (!client.relay) {
    auto& program = programs_[static_cast<std::size_t>(client.program)];
    ++program.present;
    program.was_present = true;
  }
  note("joined", client);
  if (complete_) {
    say_all_released(PeerMessage{client.peer, seat.info, nodes_[seat.info.node].name, {}});
  }
  if (client.relay) {
    answer_relays(seat.info.node, client.peer);
  }
  release();
}

bool HubState::may_go(const Client& client) const {
  if (client.phase != Phase::present) {
    return false;
  }
  if (client.relay) {
    return true;
  }
  const auto& program = programs_[static_cast<std::size_t>(client.program)];
  return program.present == static_cast<std::int32_t>(program.seats.size());
}

void HubState::release() {
  if (!complete_) {
    const auto there = [](const Program& program) {
      return !program.spec.required ||
             (program.present == static_cast<std::int32_t>(program.seats.size()) && program.present > 0);
    };
    if (!sizes_known_ || !std::all_of(programs_.begin(), programs_.end(), there)) {
      return;
    }
    complete_ = true;
    events_.push_back({.name = "complete"});
  }
  std::vector<HubOutput> welcome;  // the same for all
  for (auto& [connection, client] : clients_) {
    if (!may_go(client)) {
      continue;
    }
    if (welcome.empty()) {
      welcome = welcome_now();
    }
    client.phase = Phase::released;
    for (auto output : welcome) {
      output.to = connection;
      outputs_.push_back(std::move(output));
    }
  }
}

std::vector<HubOutput> HubState::welcome_now() const {
  std::vector<HubOutput> welcome;
  const auto entries = table();
  for (std::size_t first = 0; first < entries.size(); first += table_entries_per_frame) {
    const auto part = std::span(entries).subspan(first, std::min(table_entries_per_frame, entries.size() - first));
    welcome.push_back({0, control_peer_table, shared(wire::encode_peer_table(part)), false});
  }
  CompleteMessage message;
  for (const auto& node : nodes_) {
    message.nodes.push_back(node.name);
  }
  welcome.push_back({0, control_json, shared(encode(HubMessage(message))), false});
  return welcome;
}

// ---- leaving

void HubState::take(ConnectionId connection, Client& client, const LeaveMessage& /*message*/, std::uint64_t now_ns) {
  gone(connection, client, PeerState::left, {}, now_ns);
  client.phase = Phase::refused;
  say(connection, GoodbyeMessage{}, true);
}

void HubState::gone(ConnectionId connection, Client& client, PeerState state, const std::string& why,
                    std::uint64_t now_ns) {
  if (client.phase == Phase::fresh || client.phase == Phase::refused) {
    return;
  }
  members_ -= client.relay ? 0 : 1;
  const bool was_present = client.phase == Phase::present || client.phase == Phase::released;
  const bool was_released = client.phase == Phase::released;
  client.pending.clear();
  client.phase = Phase::refused;
  auto* const seat = seat_of(client);
  vacate(connection, client);
  if (!was_present) {
    return;
  }
  COUPLET_ASSERT(seat != nullptr);
  seat->info.state = state;
  const bool lost = state == PeerState::lost;
  const auto text = lost ? fmt::format("{} is lost: {}", client_name(client), why) : std::string();
  note(lost ? "lost" : "left", client, text);
  if (complete_ || was_released) {
    say_all_released(PeerMessage{client.peer, seat->info, nodes_[seat->info.node].name, text});
  }
  if (client.relay) {
    return;
  }
  tell_series(series_.peer_gone(client.peer, now_ns));
  auto& program = programs_[static_cast<std::size_t>(client.program)];
  if (--program.present == 0) {
    series_.program_gone(program.spec.name);
  }
}

void HubState::vacate(ConnectionId connection, const Client& client) {
  auto* const seat = seat_of(client);
  if (seat == nullptr || seat->connection != connection) {
    return;
  }
  seat->connection = 0;
  if (client.relay || sizes_known_) {
    return;
  }
  auto& program = programs_[static_cast<std::size_t>(client.program)];
  const auto taken = [](const Seat& each) { return each.connection != 0; };
  if (program.spec.size == 0 && std::none_of(program.seats.begin(), program.seats.end(), taken)) {
    program.seats.clear();  // nobody is there whose word counts: the next joiner says the size
  }
}

void HubState::check_over(std::uint64_t now_ns) {
  if (over_ || !complete_) {
    return;
  }
  const auto only_reads = [&](const auto& item) {
    const auto& client = item.second;
    const bool member = client.phase != Phase::fresh && client.phase != Phase::refused && !client.relay;
    return !member || (client.phase == Phase::released && series_.reads(client.peer));
  };
  const bool limited = settings_.linger_s >= 0;
  const bool readers_only = members_ > 0 && limited && !series_.empty() && series_.finished() &&
                            std::all_of(clients_.begin(), clients_.end(), only_reads);
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
  } else if (members_ == 0 && series_.finished() && now_ns >= series_.lingers_until_ns()) {
    end("every program has ended");
  }
}

void HubState::end(const std::string& text) {
  over_ = true;
  events_.push_back({.name = "over", .text = text});
  const auto message = shared(encode(HubMessage(OverMessage{text})));
  for (const auto& [connection, client] : clients_) {
    outputs_.push_back({connection, control_json, message, true});
  }
}

// ---- sentences

std::string HubState::missing(std::int32_t also) const {
  std::vector<std::string> parts;
  for (std::size_t index = 0; index < programs_.size(); ++index) {
    const auto& program = programs_[index];
    const bool counts = program.spec.required || also == static_cast<std::int32_t>(index);
    if (!counts || (program.present == static_cast<std::int32_t>(program.seats.size()) && program.present > 0)) {
      continue;
    }
    if (program.seats.empty() || program.present == 0) {
      const auto of = program.seats.empty()
                          ? std::string("? ranks")
                          : fmt::format("{} rank{}", program.seats.size(), program.seats.size() == 1 ? "" : "s");
      parts.push_back(
          fmt::format("program '{}' (0 of {}{})", program.spec.name, of, program.was_present ? ", lost" : ""));
      continue;
    }
    std::vector<std::string> ranks;
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < program.seats.size(); ++rank) {
      const auto state = program.seats[rank].info.state;
      if (state == PeerState::present) {
        continue;
      }
      if (++count <= most_listed) {
        ranks.push_back(fmt::format("{}{}", rank, state == PeerState::lost ? " (lost)" : ""));
      }
    }
    if (count > most_listed) {
      ranks.push_back(fmt::format("{} more", count - most_listed));
    }
    parts.push_back(fmt::format("rank{} {} of '{}'", count == 1 ? "" : "s", joined_list(ranks), program.spec.name));
  }
  return parts.empty() ? std::string() : "waiting for " + joined_list(parts);
}

std::string HubState::client_name(const Client& client) const {
  if (client.relay) {
    return fmt::format("the relay of node {}", client.host);
  }
  const auto& program = programs_[static_cast<std::size_t>(client.program)];
  return fmt::format("program '{}' rank {} (universe rank {}) on host {}", program.spec.name, client.rank, client.peer,
                     client.host);
}

void HubState::note(const char* name, const Client& client, const std::string& text, const std::string& series) {
  HubEvent event;
  event.name = name;
  if (client.program >= 0) {
    event.program = programs_[static_cast<std::size_t>(client.program)].spec.name;
  }
  event.rank = client.rank;
  event.peer = client.peer;
  event.node = client.host;
  event.series = series;
  event.text = text;
  if (const auto* const seat = seat_of(client); seat != nullptr) {
    event.incarnation = seat->info.incarnation;
  }
  events_.push_back(std::move(event));
}

std::vector<std::string> HubState::program_names() const {
  std::vector<std::string> names;
  names.reserve(programs_.size());
  for (const auto& program : programs_) {
    names.push_back(program.spec.name);
  }
  return names;
}

// ---- look-ups

const HubState::Seat* HubState::seat_of(const Client& client) const {
  if (client.relay) {
    const auto found = client.node < 0 ? relays_.end() : relays_.find(static_cast<std::uint16_t>(client.node));
    return found == relays_.end() ? nullptr : &found->second;
  }
  if (client.program < 0) {
    return nullptr;
  }
  const auto& seats = programs_[static_cast<std::size_t>(client.program)].seats;
  const auto rank = static_cast<std::size_t>(client.rank);
  return rank < seats.size() ? &seats[rank] : nullptr;
}

HubState::Seat* HubState::seat_of(const Client& client) {
  return const_cast<Seat*>(std::as_const(*this).seat_of(client));
}

std::vector<wire::PeerEntry> HubState::table() const {
  std::vector<wire::PeerEntry> entries;
  for (const auto& program : programs_) {
    auto peer = static_cast<channel::PeerId>(program.first_rank);
    for (const auto& seat : program.seats) {
      entries.push_back(entry_of(peer++, seat.info));
    }
  }
  for (const auto& [node, seat] : relays_) {
    entries.push_back(entry_of(channel::first_relay_peer + node, seat.info));
  }
  return entries;
}

ConnectionId HubState::connection_of(channel::PeerId peer) const {
  for (const auto& program : programs_) {
    const auto first = static_cast<channel::PeerId>(program.first_rank);
    if (peer >= first && peer - first < program.seats.size()) {
      return program.seats[peer - first].connection;
    }
  }
  return 0;
}

// ---- speaking

void HubState::say(ConnectionId connection, const HubMessage& message, bool last) {
  outputs_.push_back({connection, control_json, shared(encode(message)), last});
}

void HubState::say_all_released(const HubMessage& message) {
  std::shared_ptr<const std::string> bytes;
  for (const auto& [connection, client] : clients_) {
    if (client.phase != Phase::released || misses(connection)) {
      continue;
    }
    if (bytes == nullptr) {
      bytes = shared(encode(message));
    }
    outputs_.push_back({connection, control_json, bytes, false});
  }
}

void HubState::refuse(ConnectionId connection, Client& client, const Status& why) {
  gone(connection, client, PeerState::lost, why.text(), client.since_ns);
  client.phase = Phase::refused;
  say(connection, RefusedMessage{why.code(), why.text()}, true);
}

}  // namespace couplet::universe
