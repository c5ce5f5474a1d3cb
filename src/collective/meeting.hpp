// Meeting: lets the members of a group agree on its epoch, a number that no group ever had before, on their systems and
// on the table of methods, which are those of the first member, in the first call of the group. Each member tells its
// parent in a tree that it and all below it have come (a greeting), and the first member answers. Session is above it.
// Page: docs/formats/collective.md.
// Invariants: only members in the same creation of the group meet, and a member takes the number of a later creation
// for its own only while nobody can have met in its own. Decision: docs/decisions/0030.
// Tests: tests/conformance/collective.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collective/algorithms.hpp"
#include "collective/mailbox.hpp"
#include "cost/collective_method.hpp"

namespace couplet::collective {

// The table by which methods are chosen.
struct MethodTable {
  std::vector<cost::MethodPiece> pieces;  // empty: that of the library
  std::string origin;                     // "cost file /x/cost.json of machine 'tachyon'"; empty: the library
};

class Meeting {
 public:
  // Returns a number for the system (the host) of a peer.
  using SystemOf = std::function<std::uint32_t(channel::PeerId)>;

  // creation: greater than the number of each creation of the group by this process before.
  Meeting(Mailbox& mailbox, std::uint64_t creation);

  [[nodiscard]] bool met() const noexcept { return epoch_ != 0; }
  // 0 if the members have not met.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::uint64_t creation() const noexcept { return creation_; }
  [[nodiscard]] const Systems& systems() const noexcept { return systems_; }
  // Returns the table that the members have agreed on.
  [[nodiscard]] const MethodTable& table() const noexcept { return table_; }
  // Was the member lost since all have met? False: they have not.
  [[nodiscard]] bool has_lost(std::int32_t rank) const noexcept {
    return met() && mailbox_.losses_of(rank) != losses_met_[static_cast<std::size_t>(rank)];
  }
  // Does what can be done to meet for the call. table: that of this process, which counts if it is the first member.
  void meet(std::uint64_t call, const SystemOf& system_of, const MethodTable& table);
  // Greets the parent once more: it may have been lost when it was greeted, and be back.
  void greet_again(std::uint64_t call);
  void greeted(const wire::CollectiveNotice& greeting, std::int32_t source);
  void answered(const wire::CollectiveNotice& answer, std::int32_t source);
  // A member is in a later creation. Takes its number for that of this creation, unless the members may have met here.
  void adopt(std::uint64_t creation, std::int32_t source);
  // Tells a member that is in an earlier creation which one this is.
  void tell_creation(std::int32_t target);
  // The members from which the next message for that call has to come: children that have not greeted, then the parent.
  [[nodiscard]] std::vector<std::int32_t> awaited(std::uint64_t call) const;
  // The parent and the children.
  [[nodiscard]] std::vector<std::int32_t> neighbors() const;
  // The group is created again.
  void start_again(std::uint64_t creation);
  // Is there a greeting that was not answered?
  [[nodiscard]] bool is_greeted() const noexcept;

 private:
  struct Child {
    std::int32_t rank = -1;
    bool greeted = false;  // and was not answered
    std::uint64_t creation = 0;
    std::uint64_t call = 0;
    std::uint64_t losses = 0;        // how often it had been lost when it greeted
    std::uint64_t losses_first = 0;  // the same, when this member created the group
  };

  [[nodiscard]] bool has_come(const Child& child) const;
  void conclude(const wire::CollectiveNotice& answer);
  void answer_children();
  void begin(std::uint64_t creation);
  [[nodiscard]] wire::CollectiveNotice notice(wire::NoticeKind kind, std::uint64_t call) const;

  static constexpr std::uint64_t no_call = UINT64_MAX;

  Mailbox& mailbox_;
  std::uint64_t creation_;
  std::vector<Child> children_;
  std::int32_t parent_ = -1;
  std::uint64_t greeted_call_ = no_call;  // the call of the greeting that was sent last in this creation
  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> losses_met_;  // how often each member had been lost when all met
  wire::CollectiveNotice to_children_;     // the answer that tells them the epoch
  Systems systems_;
  MethodTable table_;
};

}  // namespace couplet::collective
