// The places of a universe: programs with their ranks, nodes, and a relay for each node. Knows which connection has
// which place, in which incarnation and state. Pure; a part of HubState. Invariants: sizes never change once all are
// known; at most one connection has a place; `present` of a program is the number of its ranks in state present. Tests:
// tests/unit/universe/hub_state_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "link/tcp_contact.hpp"
#include "universe/control.hpp"
#include "universe/hub/outbox.hpp"
#include "universe/membership.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_relays = 4096;
inline constexpr std::size_t max_nodes = unknown_node;

// Names a place: a rank of a program, or the relay of a node.
struct Place {
  bool relay = false;
  std::int32_t program = -1;
  std::int32_t rank = -1;
  std::int32_t node = -1;
};

// What is known of one rank (or relay): what every member is told, and what only the hub needs. At most 64 bytes, since
// there may be many.
struct Seat {
  PeerInfo info;
  ConnectionId connection = 0;  // 0: no connection has this place
  // The hub has signed no ticket with this number or a greater one. It never gets smaller: if two processes had tickets
  // with one number, each could pose as the other.
  std::uint16_t next_incarnation = 0;
  bool awaited = false;    // it was there before the restart or the reset, and has not come back yet
  bool forgotten = false;  // a process got a ticket and was never present
};
static_assert(sizeof(Seat) <= 64);

// Does the hub know a port at which the process listens, or listened?
[[nodiscard]] inline bool can_be_called(const Seat& seat) {
  return link::tcp_listener(seat.info.contacts).port != 0;
}
// Notes how an awaited process was dialed, as another member has told it. Has no effect if the process itself has told
// the hub, or if another incarnation is meant.
void hear_contacts(Seat& seat, std::uint16_t incarnation, const link::ContactList& contacts);

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

  // Returns the program that a joiner names. The first joiner that gives a size decides it. Errors: not_found,
  // argument, mismatch, limit.
  Result<std::int32_t> program_for(const JoinMessage& message);
  // Takes the sizes of all programs from a member to which an earlier hub had told them. Returns mismatch if they
  // contradict what is known.
  Status adopt_sizes(const std::vector<ProgramInfo>& programs);
  // Returns true once, when the sizes of all programs have become known. Returns limit if there are too many ranks in
  // all.
  Result<bool> settle_sizes();
  [[nodiscard]] bool sizes_known() const noexcept { return sizes_known_; }

  [[nodiscard]] const std::vector<Program>& programs() const noexcept { return programs_; }
  [[nodiscard]] Program& program(std::int32_t index) { return programs_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Program& program(std::int32_t index) const { return programs_[static_cast<std::size_t>(index)]; }
  // Returns -1 if no program has this name.
  [[nodiscard]] std::int32_t index_of(const std::string& name) const;
  [[nodiscard]] std::vector<ProgramInfo> infos() const;
  // Are all ranks of all required programs present?
  [[nodiscard]] bool required_are_present() const;

  // Returns nullptr if there is no such place (yet). relay_seat makes the place of a relay.
  [[nodiscard]] Seat* find(const Place& place);
  [[nodiscard]] const Seat* find(const Place& place) const;
  [[nodiscard]] Seat* find(channel::PeerId peer);
  [[nodiscard]] const Seat* find(channel::PeerId peer) const;
  // Returns the place of the relay of `node`, or limit if there are too many relays.
  Result<Seat*> relay_seat(std::uint16_t node);
  // Returns the place of a peer. If there is none, program is -1 and relay is false.
  [[nodiscard]] Place place_of(channel::PeerId peer) const;
  [[nodiscard]] channel::PeerId peer_of(const Place& place) const;
  // Takes the connection from its place. If a joiner gave the size of its program, and no rank of it is left, the size
  // is forgotten.
  void vacate(ConnectionId connection, const Place& place);

  // Returns the number of the node with this key, or limit if there are too many nodes. A new node gets `noted`, the
  // number that its directory has from an earlier hub, if no other node has that number. Otherwise it gets the number
  // after the highest one in use, but at least first_new, which is ignored if it is not less than max_nodes.
  struct NumberedNode {
    std::uint16_t number = 0;
    bool is_new = false;
  };
  Result<NumberedNode> node_for(const std::string& key, const std::string& host, std::uint16_t noted,
                                std::size_t first_new);
  // Takes a node's number from a member to which an earlier hub had told it. Returns mismatch if another node has the
  // number, or the node has another number.
  Status adopt_node(std::uint16_t node, const std::string& key, const std::string& host);
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }
  [[nodiscard]] const std::string& node_name(std::uint16_t node) const;
  // The names of all nodes; at most max_names in one message.
  [[nodiscard]] std::vector<NodesMessage> node_names(std::size_t max_names) const;

  [[nodiscard]] std::size_t rank_count() const noexcept { return rank_count_; }
  // Returns the states of all peers, in as few runs as possible.
  [[nodiscard]] std::vector<PeerRun> runs() const;
  // Returns the known contacts of the `count` peers that begin with `first`.
  [[nodiscard]] std::vector<ContactEntry> contacts(channel::PeerId first, std::size_t count) const;
  [[nodiscard]] std::vector<ContactEntry> relay_contacts() const;

  // Returns, for example, "waiting for rank 1 of 'ocean' and program 'nowcast' (0 of 1 rank)", or "" if no rank is
  // missing. also: a program that must be complete although it is not required (-1: none). required: do the required
  // programs count?
  [[nodiscard]] std::string missing(std::int32_t also, bool required) const;
  // Returns the names of a few programs, and how many more there are.
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

// Adds a peer to the runs. Lengthens the last run if the peer fits.
void add_to_runs(std::vector<PeerRun>& runs, channel::PeerId peer, const PeerInfo& info);

}  // namespace couplet::universe
