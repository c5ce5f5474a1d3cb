// Copying a batch: each step is looked at before and after its copy, and only whole ones are kept, unless the reader asked for
// the others too.
#include <algorithm>
#include <array>
#include <cstring>

#include "series/collective.hpp"
#include "series/reader.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

// Ordinal into `target`; its fate into outcome_[at], its step into steps_[at].
Status Reader::copy_step(std::uint64_t ordinal, std::byte* target, layout::CopyMethod method, std::size_t at) {
  outcome_[at] = outcome_whole;
  for (const Source& source : sources_) {
    const auto& header = source.file->slot_header(ordinal);
    const auto step = read_step(header, ordinal);
    if (!step) {
      outcome_[at] = outcome_gone;
      return {};
    }
    layout::copy_racing(source.plan, target, source.file->slot(ordinal), method);
    if (!end_read(header, ordinal)) {
      outcome_[at] = outcome_torn;
      if (!options_.torn) {
        return {};
      }
    }
    if (&source == &sources_.front()) {
      steps_[at] = *step;
    } else if (steps_[at] != *step) {
      return fail(Code::mismatch, "{}: ordinal {} is step {} on writer rank {}, but step {} on writer rank {}", title(),
                  ordinal, steps_[at], sources_.front().writer, *step, source.writer);
    }
  }
  return {};
}

// All members keep the same steps: what one could not read, none delivers.
Status Reader::combine(const Status& own, std::size_t begin, std::uint64_t count) {
  COUPLET_TRY(agree_on_status(team_, own, "reader rank", os::never));
  if (team_.size() == 1) {
    return {};
  }
  votes_.clear();  // worst fate, then smallest and largest step of what is there
  for (std::size_t at = begin; at < begin + count; ++at) {
    const bool here = delivers(outcome_[at]);
    votes_.push_back(outcome_[at]);
    votes_.push_back(here ? steps_[at] : INT64_MAX);
    votes_.push_back(here ? ~steps_[at] : INT64_MAX);
  }
  COUPLET_TRY(team_.minimum(votes_, os::never));
  for (std::size_t at = begin, vote = 0; at < begin + count; ++at, vote += 3) {
    outcome_[at] = votes_[vote];
    if (delivers(votes_[vote]) && votes_[vote + 1] != ~votes_[vote + 2]) {
      return fail(Code::mismatch, "{}: ordinal {} is step {} on one writer rank, but step {} on another", title(),
                  ordinals_[at], votes_[vote + 1], ~votes_[vote + 2]);
    }
  }
  return {};
}

// Copies the ordinals of the plan behind the `kept` ones and returns how many are kept then.
Result<std::uint64_t> Reader::copy_steps(const Plan& plan, std::byte* target, std::uint64_t kept, const Status& room) {
  const std::uint64_t count = plan.count;
  const auto method = layout::choose_method(count * step_bytes_, options_.streaming_bytes);
  const std::size_t begin = kept;
  steps_.resize(begin + count);
  ordinals_.resize(begin + count);
  outcome_.resize(begin + count);
  torn_.resize(begin + count);
  const std::uint64_t start = os::now_ns();
  Status status = room;
  for (std::uint64_t number = 0; number < count && status.ok(); ++number) {
    ordinals_[begin + number] = plan.first + number * options_.every;
    status = copy_step(ordinals_[begin + number], target + (begin + number) * step_bytes_, method, begin + number);
  }
  layout::store_fence();
  statistics_.copy_ns += os::now_ns() - start;
  COUPLET_TRY(combine(status, begin, count));
  for (std::size_t at = begin; at < begin + count; ++at) {
    const bool torn = outcome_[at] == outcome_torn;
    if (!delivers(outcome_[at])) {
      ++statistics_.lost;
      statistics_.lost_torn += torn ? 1U : 0U;
      continue;
    }
    statistics_.delivered_torn += torn ? 1U : 0U;
    torn_[kept] = torn ? 1U : 0U;
    if (kept != at) {
      std::memmove(target + kept * step_bytes_, target + at * step_bytes_, step_bytes_);
      steps_[kept] = steps_[at];
      ordinals_[kept] = ordinals_[at];
    }
    ++kept;
  }
  const std::uint64_t end = plan.first + (count - 1) * options_.every + 1;
  statistics_.skipped += end - next_ - count;
  origin_ = origin_.value_or(plan.first);
  next_ = end;
  steps_.resize(kept);
  ordinals_.resize(kept);
  torn_.resize(kept);
  statistics_.delivered += kept - begin;
  statistics_.bytes += (kept - begin) * step_bytes_;
  release_consumed();
  return kept;
}

}  // namespace couplet::series
