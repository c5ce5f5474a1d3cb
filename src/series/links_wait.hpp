// LinksWait: whether the links that bring a follower's steps wait for each other. A step is of use only if it comes
// over all links. A quicker link brings newer steps over those that a slower one has yet to bring, and then neither is
// of use. So, while steps are lost, a link is given credit beyond what has come over all links, and not only over it.
//
// This starves nobody. The slowest link never waits, since what has come over all links is what has come over it. And
// if nothing was delivered for some turns of the slots, no link waits until something is: then credit is given as to a
// single link. It is pure, and all ranks of a reader find the same.
#pragma once

#include <algorithm>
#include <cstdint>

namespace couplet::series {

class LinksWait {
 public:
  // The links wait until so many times the writer's slots were passed since the last delivery, or since the last loss.
  static constexpr std::uint64_t max_turns = 4;
  // What kept_from() returns if they do not wait.
  static constexpr std::uint64_t not_waiting = UINT64_MAX;

  // The reader begins at this ordinal. slots: the number of steps that the writer retains.
  void begin(std::uint64_t first, std::uint64_t slots) noexcept {
    delivered_end_ = lost_end_ = first;
    slots_ = slots;
  }
  void delivered(std::uint64_t ordinal) noexcept { delivered_end_ = ordinal + 1; }
  // Returns from which ordinal on a link keeps what it has brought, until the others have brought it, too. complete: so
  // many ordinals have come, or will not come, over all links of all ranks. lost: the number of steps that the reader
  // has lost so far.
  [[nodiscard]] std::uint64_t kept_from(std::uint64_t complete, std::uint64_t lost) noexcept {
    lost_end_ = lost != lost_ ? complete : lost_end_;
    lost_ = lost;
    const std::uint64_t since = complete - std::min({complete, delivered_end_, lost_end_});
    return since / max_turns < slots_ ? complete : not_waiting;
  }

 private:
  std::uint64_t slots_ = 1;
  std::uint64_t delivered_end_ = 0;  // the ordinal after the last one that was delivered
  std::uint64_t lost_end_ = 0;       // how many ordinals were complete when the last loss was seen
  std::uint64_t lost_ = 0;
};

}  // namespace couplet::series
