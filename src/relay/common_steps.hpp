// What the subscriptions of one reader through one relay send in common. A read needs a step of all of its parts, so a
// step that one of them has left out is of no use in the others: they leave it out, too, and stop sending it. Only
// followers share steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace couplet::relay {

class Activation;
class Subscription;

class CommonSteps {
 public:
  // If more ranges than this are left out, the two oldest ones are merged.
  static constexpr std::size_t max_ranges = 64;

  // `activation` outlives this object.
  explicit CommonSteps(Activation& activation) : activation_(activation) {}
  CommonSteps(const CommonSteps&) = delete;
  CommonSteps& operator=(const CommonSteps&) = delete;

  // A member leaves before it ends.
  void join(Subscription& member) { members_.push_back(&member); }
  void leave(const Subscription& member);

  // The ordinals [begin, end) are not sent by a member.
  void leave_out(std::uint64_t begin, std::uint64_t end);
  // Returns the first ordinal from `ordinal` on that no member has left out.
  [[nodiscard]] std::uint64_t first_wanted(std::uint64_t ordinal) const;
  // Says what all members have: [oldest, published). It may be empty.
  struct Retained {
    std::uint64_t oldest = 0;
    std::uint64_t published = UINT64_MAX;
  };
  [[nodiscard]] Retained retained() const;
  // Returns the earliest of the last ordinals that each of the other members has begun to send, if it is not below
  // `ordinal`; else UINT64_MAX. A member that jumps stays within it, so that what the others have sent is of use.
  [[nodiscard]] std::uint64_t begun_from(std::uint64_t ordinal, const Subscription& self) const;
  // Returns true if a member has to send an earlier ordinal first. While steps are left out, there is not room for
  // all, and none goes ahead of the others.
  [[nodiscard]] bool others_first(std::uint64_t ordinal) const;
  // A member has gone on from `before`: those that have waited for it continue.
  void moved(std::uint64_t before);

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  void forget_ranges();

  Activation& activation_;
  std::vector<Subscription*> members_;
  std::vector<Range> left_out_;    // in the order in which they were left out
  std::uint64_t short_until_ = 0;  // below this ordinal, not all steps can be sent
};

}  // namespace couplet::relay
