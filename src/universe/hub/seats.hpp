// The places of a universe: programs with their ranks, nodes, and a relay for each node. Knows who holds which place,
// in which incarnation and state. Pure; a part of HubState. Invariants: sizes never change once all are known; a place
// is held by at most one connection; `present` of a program counts its ranks in state present. Tests:
// tests/unit/universe/test_hub_state.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "universe/control.hpp"
#include "universe/hub/outbox.hpp"
#include "universe/membership.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_relays = 4096;
inline constexpr std::size_t max_nodes = unknown_node;

// Who is meant: a rank of a program, or the relay of a node.
struct Place {
  bool relay = false;
  std::int32_t program = -1;
  std::int32_t rank = -1;
  std::int32_t node = -1;
};

// One rank (or relay): what all know of it, and who it is here. 64 bytes or less, since there may be many.
struct Seat {
  PeerInfo info;
  ConnectionId connection = 0;  // 0: nobody
  std::uint16_t next_incarnation = 0;
  bool awaited = false;  // it was there before the hub was started again, and has not come back yet
};
static_assert(sizeof(Seat) <= 64);

class Seats {
 public:
  struct Program {
    ProgramSpec spec;
    std::int32_t first_rank = 0;
    std::int32_t present = 0;
    bool was_present = false;
    std::vector<Seat> seats;
    [[nodiscard]] bool full() const noexcept {
      return present > 0 && present == static_cast<std::int32_t>(seats.size());
    }
  };
  explicit Seats(const std::vector<ProgramSpec>& programs);

  // The program that a joiner names; its size is taken from the first one who tells it. not_found, argument, mismatch,
  // limit.
  Result<std::int32_t> program_for(const JoinMessage& message);
  // The sizes of all programs as a member was told them before the hub was started again. mismatch: they contradict
  // ours.
  Status adopt_sizes(const std::vector<ProgramInfo>& programs);
  // True once, when the sizes of all programs have become known. limit: more ranks together than are possible.
  Result<bool> settle_sizes();
  [[nodiscard]] bool sizes_known() const noexcept { return sizes_known_; }

  [[nodiscard]] const std::vector<Program>& programs() const noexcept { return programs_; }
  [[nodiscard]] Program& program(std::int32_t index) { return programs_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Program& program(std::int32_t index) const { return programs_[static_cast<std::size_t>(index)]; }
  // -1: none of this name.
  [[nodiscard]] std::int32_t index_of(const std::string& name) const;
  [[nodiscard]] std::vector<ProgramInfo> infos() const;
  // All ranks of all required programs are present.
  [[nodiscard]] bool required_are_present() const;

  // nullptr: there is no such place (yet). A relay's place is made by relay_seat.
  [[nodiscard]] Seat* find(const Place& place);
  [[nodiscard]] const Seat* find(const Place& place) const;
  [[nodiscard]] Seat* find(channel::PeerId peer);
  [[nodiscard]] const Seat* find(channel::PeerId peer) const;
  // limit: too many relays.
  Result<Seat*> relay_seat(std::uint16_t node);
  // The place of a peer; program -1 and relay false if there is none.
  [[nodiscard]] Place place_of(channel::PeerId peer) const;
  [[nodiscard]] channel::PeerId peer_of(const Place& place) const;
  // The connection lets go of its place. An announced size that nobody is left to vouch for is forgotten.
  void vacate(ConnectionId connection, const Place& place);

  // limit: too many nodes.
  Result<std::uint16_t> node_for(const std::string& key, const std::string& host);
  // A node as a member knew it before the hub was started again. mismatch: the number belongs to another key.
  Status adopt_node(std::uint16_t node, const std::string& key, const std::string& host);
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }
  [[nodiscard]] const std::string& node_name(std::uint16_t node) const;

  [[nodiscard]] std::size_t rank_count() const noexcept { return rank_count_; }
  // Everybody's state, as few runs as possible.
  [[nodiscard]] std::vector<PeerRun> runs() const;
  // Those of `count` peers from `first` on whose contact is known.
  [[nodiscard]] std::vector<ContactEntry> contacts(channel::PeerId first, std::size_t count) const;
  [[nodiscard]] std::vector<ContactEntry> relay_contacts() const;

  // "waiting for program 'nowcast' (0 of 1 ranks) and rank 1 of 'ocean'"; empty when nobody is missing. also: a program
  // that must be complete although it is not required (-1: none).
  [[nodiscard]] std::string missing(std::int32_t also) const;
  // At most a few of them, and how many more.
  [[nodiscard]] std::string quoted_names() const;

 private:
  struct Node {
    std::string key;
    std::string name;
  };

  std::vector<Program> programs_;
  bool sizes_known_ = false;
  std::size_t rank_count_ = 0;
  std::vector<Node> nodes_;
  std::map<std::string, std::uint16_t> node_of_key_;
  std::map<std::uint16_t, Seat> relays_;  // by node
};

// Adds a peer to runs, lengthening the last one if it fits.
void add_to_runs(std::vector<PeerRun>& runs, channel::PeerId peer, const PeerInfo& info);

}  // namespace couplet::universe
