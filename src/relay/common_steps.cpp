#include "relay/common_steps.hpp"

#include <algorithm>

#include "relay/subscription.hpp"

namespace couplet::relay {

void CommonSteps::leave(const Subscription& member) {
  std::erase(members_, &member);
  for (Subscription* const other : members_) {
    activation_.activate(*other);
  }
}

void CommonSteps::leave_out(std::uint64_t begin, std::uint64_t end) {
  if (first_wanted(begin) < end) {
    left_out_.push_back({begin, end});
  }
  short_until_ = std::max(short_until_, end + members_.front()->served()->file->slots());
  forget_ranges();
}

// Forgets what lies before all members. A member whose writer has stopped keeps the others' ranges: these are merged,
// since the steps between the oldest ones are no longer with the reader, either.
void CommonSteps::forget_ranges() {
  std::uint64_t first = UINT64_MAX;
  for (const Subscription* const member : members_) {
    first = std::min(first, member->next());
  }
  std::erase_if(left_out_, [first](const Range& range) { return range.end <= first; });
  if (left_out_.size() > max_ranges) {
    left_out_[1] = {std::min(left_out_[0].begin, left_out_[1].begin), std::max(left_out_[0].end, left_out_[1].end)};
    left_out_.erase(left_out_.begin());
  }
}

std::uint64_t CommonSteps::first_wanted(std::uint64_t ordinal) const {
  for (bool again = true; again;) {
    again = false;
    for (const Range& range : left_out_) {
      if (range.begin <= ordinal && ordinal < range.end) {
        ordinal = range.end;
        again = true;
      }
    }
  }
  return ordinal;
}

CommonSteps::Retained CommonSteps::retained() const {
  Retained common;
  for (const Subscription* const member : members_) {
    common.oldest = std::max(common.oldest, member->served()->oldest());
    common.published = std::min(common.published, member->served()->published());
  }
  return common;
}

std::uint64_t CommonSteps::begun_from(std::uint64_t ordinal, const Subscription& self) const {
  std::uint64_t earliest = UINT64_MAX;
  for (const Subscription* const member : members_) {
    const std::uint64_t end = member->next() + (member->sending() ? 1 : 0);
    if (member != &self && end > ordinal) {
      earliest = std::min(earliest, end - 1);
    }
  }
  return earliest;
}

bool CommonSteps::others_first(std::uint64_t ordinal) const {
  return ordinal < short_until_ && std::any_of(members_.begin(), members_.end(), [ordinal](const auto* member) {
           return member->next() < ordinal && member->has_step();
         });
}

void CommonSteps::moved(std::uint64_t before) {
  if (before < short_until_ && !others_first(before + 1)) {
    for (Subscription* const member : members_) {
      activation_.activate(*member);
    }
  }
}

}  // namespace couplet::relay
