#include "collective/former_groups.hpp"

#include <algorithm>

namespace couplet::collective {

void FormerGroups::note(std::uint64_t group, std::uint64_t creation, std::uint64_t next, const Status& why) {
  Former& former = groups_[group];
  former.noted = ++notes_;
  former.next = std::max(former.next, next);
  if (!why.ok()) {
    former.failures[creation] = why;
    if (former.failures.size() > max_failures) former.failures.erase(former.failures.begin());
  }
  if (groups_.size() <= max_groups) return;
  const auto oldest = std::min_element(groups_.begin(), groups_.end(), [](const auto& one, const auto& other) {
    return one.second.noted < other.second.noted;
  });
  forgotten_ = std::max(forgotten_, oldest->second.next);
  groups_.erase(oldest);
}

std::uint64_t FormerGroups::next_creation(std::uint64_t group) const noexcept {
  const auto found = groups_.find(group);
  return found == groups_.end() ? forgotten_ : std::max(forgotten_, found->second.next);
}

Status FormerGroups::failure_since(std::uint64_t group, std::uint64_t creation) const noexcept {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {};
  const auto failure = found->second.failures.lower_bound(creation);
  return failure == found->second.failures.end() ? Status() : failure->second;
}

}  // namespace couplet::collective
