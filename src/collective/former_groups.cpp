#include "collective/former_groups.hpp"

#include <algorithm>
#include <new>

namespace couplet::collective {

void FormerGroups::note_next(std::uint64_t group, std::uint64_t next) {
  const auto [found, is_new] = next_.emplace(group, next);
  found->second = std::max(found->second, next);
  if (!is_new) return;
  try {
    numbered_.push_back(group);
  } catch (const std::bad_alloc&) {
    next_.erase(found);
    throw;
  }
  if (numbered_.size() <= max_numbers) return;
  const auto oldest = next_.find(numbered_.front());
  forgotten_ = std::max(forgotten_, oldest->second);
  next_.erase(oldest);
  numbered_.pop_front();
}

void FormerGroups::note(std::uint64_t group, std::uint64_t creation, std::uint64_t next, const Status& why,
                        const std::vector<std::int32_t>& lost) {
  note_next(group, next);
  Former& former = groups_[group];
  former.noted = ++notes_;
  for (const std::int32_t rank : lost) former.lives[rank] = next;
  if (!why.ok()) {
    former.failures[creation] = why;
    if (former.failures.size() > max_failures) former.failures.erase(former.failures.begin());
  }
  if (groups_.size() <= max_groups) return;
  const auto oldest = std::min_element(groups_.begin(), groups_.end(), [](const auto& one, const auto& other) {
    return one.second.noted < other.second.noted;
  });
  groups_.erase(oldest);
}

std::uint64_t FormerGroups::next_creation(std::uint64_t group) const noexcept {
  const auto found = next_.find(group);
  return found == next_.end() ? forgotten_ : found->second;
}

Status FormerGroups::failure_since(std::uint64_t group, std::uint64_t creation, std::int32_t rank) const noexcept {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {};
  const auto life = found->second.lives.find(rank);
  if (life != found->second.lives.end()) creation = std::max(creation, life->second);
  const auto failure = found->second.failures.lower_bound(creation);
  return failure == found->second.failures.end() ? Status() : failure->second;
}

}  // namespace couplet::collective
