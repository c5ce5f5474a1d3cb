// Changes of peers' states, collected and told to all members at once: one message for many changes. Pure; a part of
// HubState. Invariants: of two changes of one peer the earlier one is told first; what is told together is in as few
// runs as possible. Tests: tests/unit/universe/test_hub_state.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "universe/control.hpp"
#include "universe/hub/outbox.hpp"

namespace couplet::universe {

inline constexpr std::uint64_t min_batch_interval_ns = 20'000'000;
// Of a batch, for each member that is told: telling takes at most about a tenth of the hub's time.
inline constexpr std::uint64_t batch_interval_per_member_ns = 50'000;

class ChangeBatch {
 public:
  // why: for a peer that is lost.
  void add(channel::PeerId peer, const PeerInfo& info, std::string why);
  // A node has become known: its name goes before the states.
  void add_node(std::uint16_t node, std::string name);

  // When the next batch is to be told: at once if the last one is long enough ago. UINT64_MAX: nothing has changed.
  [[nodiscard]] std::uint64_t due_ns() const noexcept;
  // The messages, encoded once for all. with_contacts: also the contacts of peers that are present now. A member that
  // is told something which rests on these changes is told them before; that it is told them again with the batch does
  // no harm.
  [[nodiscard]] const std::vector<Payload>& look(bool with_contacts);
  // The same, for all `members`; the batch is empty then.
  [[nodiscard]] std::vector<Payload> take(std::uint64_t now_ns, std::size_t members, bool with_contacts);

 private:
  struct Change {
    channel::PeerId peer = 0;
    std::uint32_t turn = 0;  // the how-manieth of this peer in this batch
    PeerInfo info;
    std::string why;
  };

  std::vector<Change> changes_;
  std::vector<NodesMessage> nodes_;
  std::vector<Payload> encoded_;  // empty: to be made anew
  std::uint64_t next_ns_ = 0;
};

// In as many messages as their bounds need.
[[nodiscard]] std::vector<Payload> encode_states(const std::vector<StateGroup>& groups);
[[nodiscard]] std::vector<Payload> encode_contacts(const std::vector<ContactEntry>& entries);

}  // namespace couplet::universe
