#include "series/step_selection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

// A time that is below the end of its interval by less than this part of the interval belongs to the next interval,
// since 3 x 0.1 is not exactly 0.3.
constexpr double margin = 1e-9;
constexpr std::int64_t gone = 0;
constexpr std::int64_t passed_over = 1;
constexpr std::int64_t chosen = 2;

}  // namespace

void StepSelection::begin(std::uint64_t first, std::optional<std::int64_t> skip_below) {
  next_ = first;
  skip_below_ = skip_below;
  origin_.reset();
  scanned_ = 0;
  window_ = INT64_MIN;
}

// ---- by number ----

std::uint64_t StepSelection::chosen_from(std::uint64_t ordinal) const noexcept {
  const std::uint64_t over = (ordinal - origin_.value_or(ordinal)) % options_.every;
  if (over == 0) {
    return ordinal;
  }
  const std::uint64_t distance = options_.every - over;
  return distance > max_ordinal - std::min(ordinal, max_ordinal) ? max_ordinal : ordinal + distance;
}

std::uint64_t StepSelection::count_chosen(std::uint64_t begin, std::uint64_t end) const noexcept {
  const std::uint64_t first = chosen_from(begin);
  return first < end ? (end - first - 1) / options_.every + 1 : 0;
}

std::uint64_t StepSelection::needed() const noexcept {
  return chosen_from(std::max(next_, scanned_));
}

// Until a first step was chosen, it is not known which ones follow.
NeededSteps StepSelection::needed_steps() const noexcept {
  return {needed(), origin_ && options_.interval == 0 ? options_.every : 1};
}

// The product is small, since it was checked before that at_least fits into the slots.
std::uint64_t StepSelection::target(std::uint64_t at_least) const noexcept {
  return needed() + (at_least - 1) * options_.every + 1;
}

void StepSelection::choose_by_number(std::uint64_t first, std::uint64_t count, std::vector<Choice>& choices) const {
  choices.clear();
  for (std::uint64_t number = 0; number < count; ++number) {
    choices.push_back({first + number * options_.every, 0});
  }
}

// ---- passing over ----

// Ordinals that were not chosen count as skipped, also if they are overwritten.
void StepSelection::pass_lost(std::uint64_t next) {
  if (next > next_) {
    const std::uint64_t known = std::clamp(scanned_, next_, next);  // not chosen by their times
    const std::uint64_t lost = count_chosen(known, next);
    accounting_.lose(lost);
    accounting_.skip(next - next_ - lost);
    next_ = next;
  }
}

void StepSelection::pass_skipped(std::uint64_t next) {
  if (next > next_) {
    accounting_.skip(next - next_);
    next_ = next;
  }
}

void StepSelection::pass_agreed(std::uint64_t next) {
  if (skip_below_) {
    pass_skipped(next);
  } else {
    pass_lost(next);
  }
}

std::uint64_t StepSelection::pass_partial(std::uint64_t whole, std::uint64_t most) {
  scanned_ = std::min(scanned_, whole);  // a rank that reads from the writer with most steps has seen their times
  const std::uint64_t lost = most > next_ ? count_chosen(next_, most) : 0;
  pass_lost(most);
  return lost;
}

void StepSelection::pass_steps_below(const SeriesFile& file, std::uint64_t published) {
  if (!skip_below_) {
    return;
  }
  pass_skipped(std::min(published, oldest_retained(published, file.slots())));
  while (next_ < published) {
    const auto step = read_step(file.slot_header(next_), next_);
    if (step && *step >= *skip_below_) {
      skip_below_.reset();
      break;
    }
    pass_skipped(next_ + 1);
  }
}

void StepSelection::pass_copied(const std::vector<Choice>& choices, std::uint64_t count, std::optional<double> time) {
  if (count == 0) {
    return;
  }
  const Choice& last = choices[count - 1];
  accounting_.lose(last.lost_before);
  accounting_.skip(last.ordinal + 1 - next_ - count - last.lost_before);
  origin_ = origin_.value_or(choices.front().ordinal);
  next_ = last.ordinal + 1;
  if (options_.interval > 0 && time) {
    window_ = window_of(*time);
  }
}

// ---- by physical time: intervals are counted from time 0, so that all readers choose the same steps ----

std::int64_t StepSelection::window_of(double time) const noexcept {
  constexpr double most = 0x1p53;
  const double windows = time / options_.interval;
  if (std::abs(windows) < most) {
    return static_cast<std::int64_t>(std::floor(windows + margin));
  }
  // Here the interval is at most as long as the distance between two neighbouring floating-point numbers, so that each
  // time has an interval of its own. Its number is the bit pattern of the time: bit patterns of numbers with the same
  // sign have the order of the numbers, and here they are at least 2^53.
  const std::int64_t magnitude = std::bit_cast<std::int64_t>(std::abs(time));
  return time < 0 ? -magnitude : magnitude;
}

Result<bool> StepSelection::scan(const Attachment& attachment, std::uint64_t published) {
  const SeriesFile& file = *attachment.sources().front().file;
  const std::uint64_t before = scanned_;
  scanned_ = std::max(scanned_, next_);
  for (; scanned_ < published; ++scanned_) {
    const auto label = read_label(file.slot_header(scanned_), scanned_);
    if (!label) {
      break;  // it is overwritten, which the next check of the sources finds
    }
    if (label->time_bits == wire::no_time) {
      return fail(Code::argument, "{}: step {} has no physical time, which a reader with an interval needs",
                  attachment.title(), label->step);
    }
    if (window_of(std::bit_cast<double>(label->time_bits)) > window_) {
      break;
    }
  }
  return scanned_ != before;
}

std::vector<std::int64_t> StepSelection::judge(const SeriesFile& file, std::uint64_t published,
                                               std::uint64_t slots) const {
  std::vector<std::int64_t> verdicts;
  std::int64_t window = window_;
  const std::uint64_t end = std::min(published, next_ + slots);
  for (std::uint64_t ordinal = next_; ordinal < end; ++ordinal) {
    if (ordinal < scanned_) {
      verdicts.push_back(passed_over);
      continue;
    }
    const auto label = read_label(file.slot_header(ordinal), ordinal);
    if (!label || label->time_bits == wire::no_time) {
      verdicts.push_back(label ? passed_over : gone);  // one without a time is an error as soon as scan() reaches it
      continue;
    }
    const std::int64_t own = window_of(std::bit_cast<double>(label->time_bits));
    verdicts.push_back(own > window ? chosen : passed_over);
    window = std::max(window, own);
  }
  return verdicts;
}

void StepSelection::choose_by_time(const std::vector<std::int64_t>& verdicts, std::uint64_t up_to,
                                   std::vector<Choice>& choices) {
  choices.clear();
  std::uint64_t lost = 0;
  for (std::size_t at = 0; at < verdicts.size() && choices.size() < up_to; ++at) {
    lost += verdicts[at] == gone ? 1U : 0U;
    if (verdicts[at] == chosen) {
      choices.push_back({next_ + at, lost});
    }
  }
  if (choices.empty()) {
    accounting_.lose(lost);
    accounting_.skip(verdicts.size() - lost);
    next_ += verdicts.size();
  }
}

}  // namespace couplet::series
