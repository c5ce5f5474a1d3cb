#include "universe/hub/seats.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t max_listed_ranks = 8;  // in one text
constexpr std::size_t max_listed_programs = 20;

// Has the process come? One that is present has joined. One that only has a connection waits as well, for example for
// the sizes of the other programs.
bool has_come(const Seat& seat) noexcept {
  return seat.info.state == PeerState::present || seat.connection != 0;
}

// Lists those ranks that have not come, or, if all have, those that are not present.
std::string missing_ranks(const Seats::Program& program) {
  const bool all_have_come = std::ranges::all_of(program.seats, has_come);
  std::vector<std::string> ranks;
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < program.seats.size(); ++rank) {
    const auto& seat = program.seats[rank];
    const auto state = seat.info.state;
    if (state == PeerState::present || (!all_have_come && has_come(seat))) {
      continue;
    }
    if (++count <= max_listed_ranks) {
      ranks.push_back(fmt::format("{}{}", rank, state == PeerState::lost ? " (lost)" : ""));
    }
  }
  if (count > max_listed_ranks) {
    ranks.push_back(fmt::format("{} more", count - max_listed_ranks));
  }
  return fmt::format("rank{} {} of '{}'", count == 1 ? "" : "s", joined_list(ranks), program.spec.name);
}

}  // namespace

void hear_contacts(Seat& seat, std::uint16_t incarnation, const link::ContactList& contacts) {
  if (seat.awaited && !can_be_called(seat) && seat.info.incarnation == incarnation) {
    seat.info.contacts = contacts;
  }
}

void add_to_runs(std::vector<PeerRun>& runs, channel::PeerId peer, const PeerInfo& info) {
  if (!runs.empty()) {
    auto& last = runs.back();
    if (last.first + last.count == peer && last.state == info.state && last.incarnation == info.incarnation &&
        last.node == info.node) {
      ++last.count;
      return;
    }
  }
  runs.push_back({peer, 1, info.state, info.incarnation, info.node});
}

Seats::Seats(const std::vector<ProgramSpec>& programs) {
  for (const auto& spec : programs) {
    Program program;
    program.spec = spec;
    program.seats.resize(static_cast<std::size_t>(spec.size));
    programs_.push_back(std::move(program));
  }
}

// ---- sizes

Result<std::int32_t> Seats::program_for(const JoinMessage& message) {
  COUPLET_TRY(check_program_name(message.program));
  const auto index = index_of(message.program);
  if (index < 0) {
    return fail(Code::not_found, "the universe has no program '{}'; it has {}", message.program, quoted_names());
  }
  auto& known = program(index);
  if (message.size < 1 || message.rank < 0 || message.rank >= message.size) {
    return fail(Code::argument, "program '{}': the rank must be from 0 to the size - 1, not rank {} of {}",
                message.program, message.rank, message.size);
  }
  if (known.seats.empty()) {
    if (message.size > max_ranks) {
      return fail(Code::limit, "program '{}' says it has {} ranks, at most {} are possible", message.program,
                  message.size, max_ranks);
    }
    known.seats.resize(static_cast<std::size_t>(message.size));
  } else if (known.seats.size() != static_cast<std::size_t>(message.size)) {
    const auto* const source = known.spec.size > 0 ? "as the hub was told" : "as its first rank said";
    // If the launcher of one MPI starts a program that was built with another MPI, each rank believes that it is alone.
    const auto* const hint = message.size == 1 ? "; was it built with the MPI of its launcher?" : "";
    return fail(Code::mismatch, "program '{}' has {}, {}, but its rank {} on host {} says it has {}{}", message.program,
                counted(known.seats.size(), "rank"), source, message.rank, message.host, message.size, hint);
  }
  return index;
}

Status Seats::adopt_sizes(const std::vector<ProgramInfo>& programs) {
  const auto fits = [&](const Program& ours, const ProgramInfo& theirs) {
    return ours.spec.name == theirs.name &&
           (ours.seats.empty() || ours.seats.size() == static_cast<std::size_t>(theirs.size));
  };
  if (!std::equal(programs_.begin(), programs_.end(), programs.begin(), programs.end(), fits)) {
    return fail(Code::mismatch, "the hub was started again with other programs than before: it has {}, not {}",
                programs_text(infos()), programs_text(programs));
  }
  for (std::size_t index = 0; index < programs.size(); ++index) {
    programs_[index].seats.resize(static_cast<std::size_t>(programs[index].size));
  }
  return {};
}

Result<bool> Seats::settle_sizes() {
  const auto unknown = [](const Program& program) { return program.seats.empty(); };
  if (sizes_known_ || std::any_of(programs_.begin(), programs_.end(), unknown)) {
    return false;
  }
  std::int64_t first_rank = 0;
  for (auto& program : programs_) {
    program.first_rank = static_cast<std::int32_t>(first_rank);
    first_rank += static_cast<std::int64_t>(program.seats.size());
  }
  if (first_rank > max_ranks) {
    return fail(Code::limit, "the programs have {} ranks together, at most {} are possible", first_rank, max_ranks);
  }
  sizes_known_ = true;
  rank_count_ = static_cast<std::size_t>(first_rank);
  return true;
}

std::int32_t Seats::index_of(const std::string& name) const {
  const auto same = [&](const Program& program) { return program.spec.name == name; };
  const auto found = std::find_if(programs_.begin(), programs_.end(), same);
  return found == programs_.end() ? -1 : static_cast<std::int32_t>(found - programs_.begin());
}

std::vector<ProgramInfo> Seats::infos() const {
  std::vector<ProgramInfo> infos;
  infos.reserve(programs_.size());
  for (const auto& program : programs_) {
    infos.push_back({program.spec.name, static_cast<std::int32_t>(program.seats.size()), program.first_rank,
                     program.spec.required});
  }
  return infos;
}

bool Seats::required_are_present() const {
  return sizes_known_ && std::all_of(programs_.begin(), programs_.end(),
                                     [](const Program& program) { return !program.spec.required || program.full(); });
}

// ---- places

const Seat* Seats::find(const Place& place) const {
  if (place.relay) {
    const auto found = place.node < 0 ? relays_.end() : relays_.find(static_cast<std::uint16_t>(place.node));
    return found == relays_.end() ? nullptr : &found->second;
  }
  if (place.program < 0) {
    return nullptr;
  }
  const auto& seats = program(place.program).seats;
  const auto rank = static_cast<std::size_t>(place.rank);
  return rank < seats.size() ? &seats[rank] : nullptr;
}

Seat* Seats::find(const Place& place) {
  return const_cast<Seat*>(std::as_const(*this).find(place));
}

Place Seats::place_of(channel::PeerId peer) const {
  if (peer >= channel::first_relay_peer) {
    return {true, -1, -1,
            static_cast<std::int32_t>(std::min<channel::PeerId>(peer - channel::first_relay_peer, 65535))};
  }
  const auto after =
      std::upper_bound(programs_.begin(), programs_.end(), peer, [](channel::PeerId value, const Program& program) {
        return value < static_cast<channel::PeerId>(program.first_rank);
      });
  if (!sizes_known_ || peer >= rank_count_ || after == programs_.begin()) {
    return {};
  }
  const auto found = std::prev(after);
  return {false, static_cast<std::int32_t>(found - programs_.begin()),
          static_cast<std::int32_t>(peer) - found->first_rank, -1};
}

channel::PeerId Seats::peer_of(const Place& place) const {
  return place.relay ? channel::first_relay_peer + static_cast<channel::PeerId>(place.node)
                     : static_cast<channel::PeerId>(program(place.program).first_rank + place.rank);
}

const Seat* Seats::find(channel::PeerId peer) const {
  return find(place_of(peer));
}

Seat* Seats::find(channel::PeerId peer) {
  return find(place_of(peer));
}

Result<Seat*> Seats::relay_seat(std::uint16_t node) {
  if (!relays_.contains(node) && relays_.size() >= max_relays) {
    return fail(Code::limit, "the universe has {} relays, the most that are possible", max_relays);
  }
  return &relays_[node];
}

void Seats::vacate(ConnectionId connection, const Place& place) {
  auto* const seat = find(place);
  if (seat == nullptr || seat->connection != connection) {
    return;
  }
  seat->connection = 0;
  if (place.relay || sizes_known_) {
    return;
  }
  auto& known = program(place.program);
  const auto taken = [](const Seat& each) { return each.connection != 0; };
  if (known.spec.size == 0 && std::none_of(known.seats.begin(), known.seats.end(), taken)) {
    known.seats.clear();  // no rank is left that has given the size: the next one gives it
  }
}

// ---- nodes

Result<Seats::NumberedNode> Seats::node_for(const std::string& key, const std::string& host, std::uint16_t noted,
                                            std::size_t first_new) {
  if (const auto found = node_of_key_.find(key); found != node_of_key_.end()) {
    return NumberedNode{found->second, false};
  }
  if (noted != unknown_node && adopt_node(noted, key, host).ok()) {
    return NumberedNode{noted, true};
  }
  if (nodes_.size() >= max_nodes) {
    return fail(Code::limit, "the universe has {} nodes, the most that are possible", max_nodes);
  }
  const auto number = first_new < max_nodes ? std::max(nodes_.size(), first_new) : nodes_.size();
  const auto node = static_cast<std::uint16_t>(number);
  node_of_key_.emplace(key, node);
  nodes_.resize(number);
  nodes_.push_back({key, host});
  return NumberedNode{node, true};
}

Status Seats::adopt_node(std::uint16_t node, const std::string& key, const std::string& host) {
  if (nodes_.size() <= node) {
    nodes_.resize(node + std::size_t{1});
  }
  const auto known = node_of_key_.find(key);
  const bool ours = known == node_of_key_.end() ? nodes_[node].key.empty() : known->second == node;
  if (!ours) {
    return known == node_of_key_.end()
               ? fail(Code::mismatch,
                      "host {}: the hub that was started again has given the number {} of this node to {}", host, node,
                      nodes_[node].name)
               : fail(Code::mismatch,
                      "host {}: the hub that was started again has given this node the number {}, not {}", host,
                      known->second, node);
  }
  node_of_key_.emplace(key, node);
  nodes_[node] = {key, host};
  return {};
}

const std::string& Seats::node_name(std::uint16_t node) const {
  static const std::string unknown = "unknown";
  return node < nodes_.size() && !nodes_[node].name.empty() ? nodes_[node].name : unknown;
}

// ---- telling

std::vector<NodesMessage> Seats::node_names(std::size_t max_names) const {
  std::vector<NodesMessage> messages;
  bool goes_on = false;  // the last message, with the next number
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].key.empty() && nodes_[node].name.empty()) {  // no such node: numbers have gaps
      goes_on = false;
      continue;
    }
    if (!goes_on || messages.back().names.size() >= max_names) {
      messages.push_back({static_cast<std::uint16_t>(node), {}});
      goes_on = true;
    }
    messages.back().names.push_back(node_name(static_cast<std::uint16_t>(node)));
  }
  return messages;
}

std::vector<PeerRun> Seats::runs() const {
  std::vector<PeerRun> runs;
  for (const auto& program : programs_) {
    auto peer = static_cast<channel::PeerId>(program.first_rank);
    for (const auto& seat : program.seats) {
      add_to_runs(runs, peer++, seat.info);
    }
  }
  for (const auto& [node, seat] : relays_) {
    if (seat.info.state != PeerState::absent) {  // a hub that was started again may know less than its members
      add_to_runs(runs, channel::first_relay_peer + node, seat.info);
    }
  }
  return runs;
}

std::vector<ContactEntry> Seats::contacts(channel::PeerId first, std::size_t count) const {
  std::vector<ContactEntry> entries;
  for (std::size_t index = 0; index < count && index <= UINT32_MAX - first; ++index) {
    const auto peer = static_cast<channel::PeerId>(first + index);
    const auto* const seat = find(peer);
    if (seat == nullptr && peer >= rank_count_ && peer < channel::first_relay_peer) {
      break;
    }
    if (seat != nullptr && seat->info.contact_known) {
      entries.push_back({peer, seat->info.incarnation, contact_of(seat->info)});
    }
  }
  return entries;
}

std::vector<ContactEntry> Seats::relay_contacts() const {
  std::vector<ContactEntry> entries;
  for (const auto& [node, seat] : relays_) {
    if (seat.info.contact_known) {
      entries.push_back({channel::first_relay_peer + node, seat.info.incarnation, contact_of(seat.info)});
    }
  }
  return entries;
}

std::string Seats::missing(std::int32_t also, bool required) const {
  const auto incomplete = [&](std::size_t index) {
    return ((required && programs_[index].spec.required) || also == static_cast<std::int32_t>(index)) &&
           !programs_[index].full();
  };
  const auto waits_itself = [&](std::size_t index) {
    const auto& seats = programs_[index].seats;
    return !seats.empty() && std::ranges::all_of(seats, has_come);
  };
  bool others_are_missing = false;
  for (std::size_t index = 0; index < programs_.size(); ++index) {
    others_are_missing = others_are_missing || (incomplete(index) && !waits_itself(index));
  }
  std::vector<std::string> parts;
  std::size_t count = 0;
  for (std::size_t index = 0; index < programs_.size(); ++index) {
    const auto& program = programs_[index];
    if (!incomplete(index) || (others_are_missing && waits_itself(index)) || ++count > max_listed_programs) {
      continue;
    }
    if (std::ranges::any_of(program.seats, has_come)) {
      parts.push_back(missing_ranks(program));
      continue;
    }
    const auto of = program.seats.empty()
                        ? std::string("? ranks")
                        : fmt::format("{} rank{}", program.seats.size(), program.seats.size() == 1 ? "" : "s");
    parts.push_back(
        fmt::format("program '{}' (0 of {}{})", program.spec.name, of, program.was_present ? ", lost" : ""));
  }
  if (count > max_listed_programs) {
    parts.push_back(fmt::format("{} more programs", count - max_listed_programs));
  }
  return parts.empty() ? std::string() : "waiting for " + joined_list(parts);
}

std::string Seats::quoted_names() const {
  std::vector<std::string> names;
  for (std::size_t index = 0; index < programs_.size() && index < max_listed_programs; ++index) {
    names.push_back(fmt::format("'{}'", programs_[index].spec.name));
  }
  if (programs_.size() > max_listed_programs) {
    names.push_back(fmt::format("{} more", programs_.size() - max_listed_programs));
  }
  return joined_list(names);
}

}  // namespace couplet::universe
