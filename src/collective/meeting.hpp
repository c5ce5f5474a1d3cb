// Meeting: lets the members of a group agree on its epoch, a number that no group ever had before, and on their
// systems, in the first call of the group. Each member tells its parent in a tree that it and all below it have come (a
// greeting), and the first member answers. Session is above it. Page: docs/formats/collective.md.
// Tests: tests/conformance/collective.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collective/algorithms.hpp"
#include "collective/mailbox.hpp"

namespace couplet::collective {

class Meeting {
 public:
  // Returns a number for the system (the host) of a peer.
  using SystemOf = std::function<std::uint32_t(channel::PeerId)>;

  explicit Meeting(Mailbox& mailbox);

  [[nodiscard]] bool met() const noexcept { return epoch_ != 0; }
  // 0 if the members have not met.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  // A number of this creation of the group.
  [[nodiscard]] std::uint64_t birth() const noexcept { return birth_; }
  [[nodiscard]] const Systems& systems() const noexcept { return systems_; }
  // Does what can be done to meet for the call.
  void meet(std::uint64_t call, const SystemOf& system_of);
  // Greets the parent once more: it may have been lost when it was greeted, and be back.
  void greet_again(std::uint64_t call);
  void greeted(const wire::CollectiveNotice& greeting, std::int32_t source);
  void answered(const wire::CollectiveNotice& answer, std::int32_t source);
  // Returns mismatch if a member has created the group again, while this one still waits for it in the old one.
  [[nodiscard]] Status created_again(std::uint64_t call, const std::vector<std::int32_t>& awaited) const;
  // The members from which the next message for that call has to come: children that have not greeted, then the parent.
  [[nodiscard]] std::vector<std::int32_t> awaited(std::uint64_t call) const;
  // The parent and the children.
  [[nodiscard]] std::vector<std::int32_t> neighbors() const;
  // The group is created again. Returns true if there are greetings of members that have done so before.
  bool start_again();

 private:
  struct Child {
    std::int32_t rank = -1;
    std::uint64_t stamp = 0;
    std::uint64_t call = 0;
    std::uint64_t birth = 0;      // the number of its meeting
    std::uint64_t met_birth = 0;  // the same, of the one with which this one has met
    std::uint32_t losses = 0;     // how often it had been lost when it greeted
    bool greeted = false;         // and was not answered
  };

  [[nodiscard]] bool has_come(const Child& child, std::uint64_t call) const;
  void conclude(const wire::CollectiveNotice& answer);
  void answer_children();
  [[nodiscard]] wire::CollectiveNotice notice(wire::NoticeKind kind, std::uint64_t call) const;

  Mailbox& mailbox_;
  std::uint64_t birth_;  // a number of this object, which no other ever has
  std::vector<Child> children_;
  std::int32_t parent_ = -1;
  std::uint64_t stamp_ = 0;                  // that of the greeting which was sent last; 0: none
  std::uint64_t greeted_call_ = UINT64_MAX;  // the call of that greeting
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> names_;  // a number for the system of each member
  Systems systems_;
};

}  // namespace couplet::collective
