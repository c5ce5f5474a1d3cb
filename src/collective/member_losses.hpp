// Which members of a group were lost since it was created here, and whether its calls can succeed all the same. A part
// of Session. Below: message (courier). Invariant: that a member has left does not hold for its next life.
// Tests: tests/universe/test_collectives.py.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "message/courier.hpp"

namespace couplet::collective {

class MemberLosses {
 public:
  using HasLeft = std::function<bool(channel::PeerId)>;  // in good order, as the membership says; may be empty

  MemberLosses(const message::Courier& courier, const message::Group& group) : courier_(courier), group_(group) {
    note();
  }

  // The group is created now.
  void note() {
    losses_.clear();
    for (std::int32_t rank = 0; rank < group_.size(); ++rank) losses_.push_back(courier_.losses(group_.peer(rank)));
  }
  // Was the member lost since then? It may be back.
  [[nodiscard]] bool has(std::int32_t rank) const {
    return courier_.losses(group_.peer(rank)) != losses_[static_cast<std::size_t>(rank)];
  }
  // Returns a member without which no call can succeed. One that has left in good order, and is not back, has sent all
  // that its calls had to send. Its next life does not know the group.
  [[nodiscard]] std::optional<std::int32_t> find(const HasLeft& has_left) const {
    for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
      const channel::PeerId peer = group_.peer(rank);
      if (has(rank) && !(has_left && has_left(peer)) && !(courier_.has_left(peer) && courier_.is_lost(peer))) {
        return rank;
      }
    }
    return {};
  }
  // Is there certainly no such member? Costs one comparison while no peer is lost.
  [[nodiscard]] bool none(const HasLeft& has_left) {
    const std::uint64_t now = courier_.losses();
    if (now == checked_) return true;
    if (find(has_left)) return false;
    bool any = false;  // a member that has left may come back, which is no loss
    for (std::int32_t rank = 0; rank < group_.size(); ++rank) any = any || has(rank);
    if (!any) checked_ = now;
    return true;
  }

 private:
  const message::Courier& courier_;
  const message::Group& group_;
  std::vector<std::uint64_t> losses_;  // how often each member had been lost
  std::uint64_t checked_ = 0;          // the losses of any peer, when no member had been lost
};

}  // namespace couplet::collective
