// The choice by physical time: of each interval the first step. Time windows are counted from time 0, so that all readers
// choose alike. What a rank sees it decides alone; what is delivered all decide together.
#include <algorithm>
#include <bit>
#include <cmath>

#include "series/reader.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

// A time so close below the end of a window (parts of it) belongs to the next one: 3 x 0.1 is not 0.3.
constexpr double margin = 1e-9;
constexpr std::int64_t gone = 0;
constexpr std::int64_t passed_over = 1;
constexpr std::int64_t chosen = 2;

}  // namespace

std::int64_t Reader::window_of(double time) const noexcept {
  const double window = std::floor(time / options_.interval + margin);
  constexpr double most = 9e18;  // of an int64
  return static_cast<std::int64_t>(std::clamp(window, -most, most));
}

// Moves scanned_ to the first chosen ordinal, or the end; holds end with it.
Status Reader::scan(std::uint64_t published) {
  const std::uint64_t before = scanned_;
  scanned_ = std::max(scanned_, next_);
  for (; scanned_ < published; ++scanned_) {
    const auto label = read_label(sources_.front().file->slot_header(scanned_), scanned_);
    if (!label) {
      break;  // overwritten, as will be found
    }
    if (label->time_bits == wire::no_time) {
      return fail(Code::argument, "{}: step {} has no physical time, by which this reader could choose (interval)",
                  title(), label->step);
    }
    if (window_of(std::bit_cast<double>(label->time_bits)) > window_) {
      break;
    }
  }
  if (scanned_ != before) {
    release_consumed();
  }
  return {};
}

// What this rank makes of ordinals [next_, published).
std::vector<std::int64_t> Reader::judge(std::uint64_t published) const {
  std::vector<std::int64_t> verdicts;
  std::int64_t window = window_;
  for (std::uint64_t ordinal = next_; ordinal < published; ++ordinal) {
    if (ordinal < scanned_) {
      verdicts.push_back(passed_over);
      continue;
    }
    const auto label = read_label(sources_.front().file->slot_header(ordinal), ordinal);
    if (!label || label->time_bits == wire::no_time) {
      verdicts.push_back(label ? passed_over : gone);  // one without a time is an error once it is looked for
      continue;
    }
    const std::int64_t own = window_of(std::bit_cast<double>(label->time_bits));
    verdicts.push_back(own > window ? chosen : passed_over);
    window = std::max(window, own);
  }
  return verdicts;
}

// Fills by_time_ with up to up_to ordinals; all members come to the same. Returns how many.
Result<std::uint64_t> Reader::choose_by_time(std::uint64_t published, std::uint64_t up_to) {
  by_time_.clear();
  gone_ = 0;
  if (published <= next_) {
    return std::uint64_t{0};
  }
  auto verdicts = judge(published);
  if (team_.size() > 1) {
    COUPLET_TRY(team_.minimum(verdicts, os::never));
  }
  std::uint64_t lost = 0;
  for (std::size_t at = 0; at < verdicts.size() && by_time_.size() < up_to; ++at) {
    lost += verdicts[at] == gone ? 1U : 0U;
    if (verdicts[at] == chosen) {
      by_time_.push_back(next_ + at);
      gone_ = lost;
    }
  }
  if (by_time_.empty()) {
    statistics_.lost += lost;
    statistics_.skipped += published - next_ - lost;
    next_ = published;
  }
  return by_time_.size();
}

}  // namespace couplet::series
