#include "message/member_losses.hpp"

namespace couplet::message {

MemberLosses::MemberLosses(const Group& group, const MembershipFacts* facts) : group_(group), facts_(facts) {
  noted_.reserve(static_cast<std::size_t>(group.size()));
}

std::uint32_t MemberLosses::incarnation_of(channel::PeerId peer) const noexcept {
  return facts_ != nullptr && facts_->incarnation_of ? facts_->incarnation_of(peer) : 0;
}

void MemberLosses::note(const Courier& courier) noexcept {
  noted_.clear();
  for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
    const channel::PeerId peer = group_.peer(rank);
    noted_.push_back({courier.losses(peer), incarnation_of(peer)});
  }
  checked_ = courier.losses();
}

bool MemberLosses::has(const Courier& courier, std::int32_t rank) const noexcept {
  return noted() && courier.losses(group_.peer(rank)) != noted_[static_cast<std::size_t>(rank)].losses;
}

bool MemberLosses::has_ended(const Courier& courier, std::int32_t rank) const noexcept {
  if (!has(courier, rank)) return false;
  const channel::PeerId peer = group_.peer(rank);
  if (incarnation_of(peer) != noted_[static_cast<std::size_t>(rank)].incarnation) return true;
  const bool left = facts_ != nullptr && facts_->has_left && facts_->has_left(peer);
  return !left && !(courier.has_left(peer) && courier.is_lost(peer));
}

bool MemberLosses::none(const Courier& courier) noexcept {
  const std::uint64_t now = courier.losses();
  if (!noted() || now == checked_) return true;
  for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
    if (has(courier, rank)) return false;  // also later: one that has left may come back
  }
  checked_ = now;
  return true;
}

std::optional<std::int32_t> MemberLosses::find_ended(const Courier& courier) noexcept {
  if (none(courier)) return {};
  for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
    if (has_ended(courier, rank)) return rank;
  }
  return {};
}

}  // namespace couplet::message
