// Changes of the states of peers, which are collected and told to all members in one message for many changes. Pure; a
// part of HubState. Invariants: two changes of one peer are told in their order; a batch is told in as few runs as
// possible. Tests: tests/unit/universe/hub_state_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "universe/control.hpp"
#include "universe/hub/loss_reasons.hpp"
#include "universe/hub/outbox.hpp"

namespace couplet::universe {

inline constexpr std::uint64_t min_batch_interval_ns = 20'000'000;
// The interval between batches, for each member that is told. With it, telling takes at most about a tenth of the hub's
// time.
inline constexpr std::uint64_t batch_interval_per_member_ns = 50'000;

class ChangeBatch {
 public:
  // Adds a change. why: the reason, if the peer is lost.
  void add(channel::PeerId peer, const PeerInfo& info, std::string why);
  // Returns the last losses that were added, grouped by their reasons.
  [[nodiscard]] std::vector<StateGroup> reasons() const { return reasons_.groups(); }
  // Adds a node that has become known. Its name is told before the states.
  void add_node(std::uint16_t node, std::string name);

  // Returns when the next batch is to be told: at once if the interval has passed since the last one. UINT64_MAX:
  // nothing has changed.
  [[nodiscard]] std::uint64_t due_ns() const noexcept;
  // Returns the messages of the batch, encoded once for all members, and keeps the batch. with_contacts: also the
  // contacts of the peers that are present now. A member is told the batch early if something else that it is told
  // depends on these changes. It is then told them twice, which does no harm.
  [[nodiscard]] const std::vector<Payload>& look(bool with_contacts);
  // Returns the messages for all `members`, and empties the batch.
  [[nodiscard]] std::vector<Payload> take(std::uint64_t now_ns, std::size_t members, bool with_contacts);

 private:
  struct Change {
    channel::PeerId peer = 0;
    std::uint32_t turn = 0;  // 0 for the first change of this peer in the batch, 1 for the second, ...
    PeerInfo info;
    std::string why;
  };

  std::vector<Change> changes_;
  LossReasons reasons_;
  std::vector<NodesMessage> nodes_;
  std::vector<Payload> encoded_;  // empty: the messages have to be encoded again
  std::uint64_t next_ns_ = 0;
};

// Encodes the groups in as many messages as the bounds of a message require.
[[nodiscard]] std::vector<Payload> encode_states(const std::vector<StateGroup>& groups);
[[nodiscard]] std::vector<Payload> encode_contacts(const std::vector<ContactEntry>& entries);

}  // namespace couplet::universe
