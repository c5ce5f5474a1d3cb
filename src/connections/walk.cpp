#include "connections/walk.hpp"

#include <algorithm>
#include <utility>

#include "os/reset.hpp"

namespace couplet::connections {

Verdict verdict_of(const Status& failure) noexcept {
  switch (failure.code()) {
    case Code::exists:
      return Verdict::theirs_comes;
    case Code::limit:
    case Code::memory:
    case Code::no_space:
    case Code::peer_lost:
    case Code::state:
    case Code::system:
    case Code::timeout:
    case Code::full:
      return Verdict::later;
    default:
      return Verdict::never;
  }
}

Walk::Walk(std::vector<std::string> names, const WalkOptions& options, std::uint64_t seed) : options_(options) {
  for (auto& name : names) {
    entries_.push_back(
        {.name = std::move(name), .why = {}, .back_off = {options.min_delay_ns, options.max_delay_ns, seed++}});
  }
}

Walk::Step Walk::next(std::uint64_t now_ns) {
  looked_.look(now_ns);
  if (under_way_) {
    return {};
  }
  const bool any_open = std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.open; });
  if (!any_open || looked_.total_ns() > options_.patience_ns) {
    return {.action = Action::give_up};
  }
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].open && entries_[index].not_before_ns <= now_ns) {
      return {.action = Action::dial, .transport = index};
    }
  }
  return {};
}

void Walk::dialing(std::size_t transport) {
  under_way_ = transport;
  dialed_ns_ = looked_.total_ns();
}

Verdict Walk::failed(std::size_t transport, const Status& why, std::uint64_t now_ns) {
  const bool silent = why.code() == Code::timeout;
  if (under_way_ && !silent && looked_.total_ns() - dialed_ns_ > options_.max_unanswered_ns) {
    looked_ = {};
  }
  under_way_.reset();
  Entry& entry = entries_[transport];
  entry.why = why.text();
  code_ = why.code();
  const Verdict verdict = verdict_of(why);
  if (verdict == Verdict::never) {
    entry.open = false;
  } else {
    entry.not_before_ns = now_ns + entry.back_off.next_delay_ns();
  }
  unanswered_ = verdict == Verdict::later ? unanswered_ + 1 : 0;
  entry.refused = os::says_refused(why) ? entry.refused + 1 : 0;
  return verdict;
}

// Over another transport, such as files, nothing may be heard of a process that has ended.
int Walk::refused() const noexcept {
  int most = 0;
  for (const Entry& entry : entries_) {
    most = std::max(most, entry.refused);
  }
  return most;
}

void Walk::pause_until(std::uint64_t time_ns) noexcept {
  for (Entry& entry : entries_) {
    entry.not_before_ns = std::max(entry.not_before_ns, time_ns);
  }
}

void Walk::end() noexcept {
  for (Entry& entry : entries_) {
    entry.open = false;
  }
}

void Walk::hurry() noexcept {
  for (Entry& entry : entries_) {
    entry.not_before_ns = 0;
  }
}

void Walk::leave_out(std::size_t transport, std::string why) {
  entries_[transport].open = false;
  entries_[transport].why = std::move(why);
}

std::string Walk::reasons() const {
  std::string text;
  for (const Entry& entry : entries_) {
    if (!entry.why.empty()) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", entry.name, entry.why);
    }
  }
  return text;
}

}  // namespace couplet::connections
