#include "connections/more_lanes.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "connections/walk.hpp"

namespace couplet::connections {
namespace {

constexpr std::uint64_t min_delay_ns = 100'000'000;
constexpr std::uint64_t max_delay_ns = 20'000'000'000;
// How long the side that does not prefer to dial waits for the other one.
constexpr std::uint64_t turn_ns = 2'000'000'000;

}  // namespace

std::vector<WantedLanes> wanted_lanes(const LanePlan& plan, std::string_view first_link) {
  const auto count = [&plan](std::string_view link) { return link == "tcp" ? plan.tcp_streams : 1U; };
  if (!plan.short_link.empty() && (first_link == plan.short_link || first_link == plan.long_link)) {
    return {{.link = plan.short_link, .count = 1}, {.link = plan.long_link, .count = count(plan.long_link)}};
  }
  if (count(first_link) > 1) {
    return {{.link = first_link, .count = count(first_link)}};
  }
  return {};
}

MoreLanes::MoreLanes(std::vector<WantedLanes> wanted, bool prefers_to_dial, std::uint64_t seed)
    : wanted_(std::move(wanted)), prefers_to_dial_(prefers_to_dial) {
  for (std::size_t index = 0; index < wanted_.size(); ++index) {
    entries_.push_back({.back_off = {min_delay_ns, max_delay_ns, seed + index}, .why = {}});
  }
}

MoreLanes::Entry* MoreLanes::entry_of(std::string_view link) noexcept {
  for (std::size_t index = 0; index < wanted_.size(); ++index) {
    if (wanted_[index].link == link) {
      return &entries_[index];
    }
  }
  return nullptr;
}

unsigned MoreLanes::wanted(std::string_view link) const noexcept {
  for (const WantedLanes& lanes : wanted_) {
    if (lanes.link == link) {
      return lanes.count;
    }
  }
  return 0;
}

std::optional<std::string_view> MoreLanes::next(const std::vector<unsigned>& present, std::uint64_t now_ns) {
  COUPLET_ASSERT(present.size() == wanted_.size());
  std::optional<std::string_view> link;
  for (std::size_t index = 0; index < wanted_.size(); ++index) {
    Entry& entry = entries_[index];
    entry.present = present[index];
    if (present[index] >= std::min(wanted_[index].count, entry.max_count)) {
      entry.missing_since_ns = 0;
      continue;
    }
    if (entry.missing_since_ns == 0) {
      entry.missing_since_ns = now_ns;
    }
    const bool my_turn = prefers_to_dial_ || now_ns - entry.missing_since_ns >= turn_ns;
    if (!link && dialing_.empty() && my_turn && now_ns >= entry.not_before_ns) {
      link = wanted_[index].link;
    }
  }
  return link;
}

void MoreLanes::dialing(std::string_view link) noexcept {
  dialing_ = link;
  if (Entry* const entry = entry_of(link)) {
    entry->dialed_with = entry->present;
  }
}

void MoreLanes::made(std::string_view link) {
  if (is_dialing(link)) {
    dialing_ = {};
  }
  if (Entry* const entry = entry_of(link)) {
    entry->back_off.reset();
    entry->missing_since_ns = 0;
    if (entry->max_count <= entry->present) {
      entry->max_count = entry->present + 1;  // the peer has dialed it, so it wants it after all
    }
    if (entry->max_count >= wanted(link)) {
      entry->why.clear();
    }
  }
}

void MoreLanes::failed(std::string_view link, const Status& why, std::uint64_t now_ns) {
  dialing_ = {};
  if (Entry* const entry = entry_of(link)) {
    if (verdict_of(why) == Verdict::never) {
      entry->max_count = std::max(entry->present, entry->dialed_with);
    }
    entry->not_before_ns = now_ns + entry->back_off.next_delay_ns();
    entry->why = why.text();
  }
}

std::string MoreLanes::reasons() const {
  std::string text;
  for (std::size_t index = 0; index < wanted_.size(); ++index) {
    if (!entries_[index].why.empty()) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", wanted_[index].link, entries_[index].why);
    }
  }
  return text;
}

}  // namespace couplet::connections
