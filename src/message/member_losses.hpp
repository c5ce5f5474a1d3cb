// Which members of a group have ended since a moment: since the group was created, or since its members met. The next
// life of a member knows nothing of what the members had in common. A member that has left in good order, and is not
// back, does not count as ended: it has sent all that it had to send. Costs one comparison while nobody is lost.
// Invariant: what is known of one life of a member is not taken for a fact about another one.
// Tests: tests/unit/message/team_test.cpp, tests/universe/test_collectives.py.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "message/courier.hpp"

namespace couplet::message {

// What the membership knows. Functions that are not set: only what the connections have shown is known.
struct MembershipFacts {
  std::function<bool(channel::PeerId)> has_left;                 // in good order
  std::function<std::uint32_t(channel::PeerId)> incarnation_of;  // counts the lives of a rank
};

class MemberLosses {
 public:
  // The facts belong to the caller, and outlive this object. None: only what the connections have shown is known.
  explicit MemberLosses(const Group& group, const MembershipFacts* facts = nullptr);

  [[nodiscard]] bool noted() const noexcept { return !noted_.empty(); }
  // What happens from now on counts. Needs no memory.
  void note(const Courier& courier) noexcept;
  // Was the member lost since note()? It may be back. False: not noted().
  [[nodiscard]] bool has(const Courier& courier, std::int32_t rank) const noexcept;
  // Has the life of the member ended that was there, other than by leaving in good order without a successor?
  [[nodiscard]] bool has_ended(const Courier& courier, std::int32_t rank) const noexcept;
  // Was no member lost since note(), in any way?
  [[nodiscard]] bool none(const Courier& courier) noexcept;
  // Returns a member that has ended.
  [[nodiscard]] std::optional<std::int32_t> find_ended(const Courier& courier) noexcept;

 private:
  struct Noted {
    std::uint64_t losses = 0;  // how often it had been lost
    std::uint32_t incarnation = 0;
  };

  [[nodiscard]] std::uint32_t incarnation_of(channel::PeerId peer) const noexcept;

  const Group& group_;
  const MembershipFacts* facts_;
  std::vector<Noted> noted_;   // the one of each member
  std::uint64_t checked_ = 0;  // the losses of any peer, when no member had been lost
};

}  // namespace couplet::message
