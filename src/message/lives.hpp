// Tells whether members of a group have been lost since all of them met: the next life of a process knows nothing of
// what the members had in common. Costs one comparison while nobody is lost. Tests: tests/unit/message/team_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "message/courier.hpp"

namespace couplet::message {

class Lives {
 public:
  explicit Lives(const Group& group) : group_(group) { losses_.reserve(static_cast<std::size_t>(group.size())); }

  [[nodiscard]] bool noted() const noexcept { return !losses_.empty(); }
  // What happens from now on counts. Needs no memory. REQUIRES: not noted().
  void note(const Courier& courier) noexcept {
    for (std::int32_t rank = 0; rank < group_.size(); ++rank) losses_.push_back(courier.losses(group_.peer(rank)));
    checked_ = courier.losses();
  }
  // Was the member lost since note(), also if it is back? Not if it has left in good order.
  [[nodiscard]] bool has_ended(const Courier& courier, std::int32_t rank) const noexcept {
    const channel::PeerId peer = group_.peer(rank);
    return noted() && courier.losses(peer) != losses_[static_cast<std::size_t>(rank)] && !courier.has_left(peer);
  }
  // Returns a member of which that is true.
  [[nodiscard]] std::optional<channel::PeerId> find_ended(const Courier& courier) noexcept {
    const std::uint64_t now = courier.losses();
    if (!noted() || now == checked_) return {};
    for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
      if (has_ended(courier, rank)) return group_.peer(rank);
    }
    checked_ = now;
    return {};
  }

 private:
  const Group& group_;
  std::vector<std::uint64_t> losses_;  // those of each member
  std::uint64_t checked_ = 0;          // the losses of any peer, when no member had been lost
};

}  // namespace couplet::message
