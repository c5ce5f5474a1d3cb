// Copying a batch: each step is looked at before and after its copy, and only whole ones are kept, unless the reader asked for
// the others too.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "series/collective.hpp"
#include "series/reader.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

// As read_label, of a step that was fetched.
std::optional<Label> label_of(const Fetch::Look& look, std::uint64_t ordinal) noexcept {
  return look.stamp_before == stamp_there(ordinal) ? std::optional(Label{look.step, look.time_bits}) : std::nullopt;
}

}  // namespace

// Memory that does not fit or a place for each field, and how boxes of writers come there.
Status Reader::aim(std::span<const Out> outs, std::uint64_t count) {
  bool arranged = false;
  for (std::size_t index = 0; index < fields_.size(); ++index) {
    const Field& field = fields_[index];
    Target& target = targets_[index];
    target.step_stride = static_cast<std::int64_t>(field.step_bytes);
    target.dense = true;
    if (outs.empty() || outs[index].data == nullptr) {
      COUPLET_TRY_VALUE(target.data, buffers_[index]->reserve(count * field.step_bytes));
      continue;
    }
    target.data = static_cast<std::byte*>(outs[index].data);
    if (outs[index].strides != nullptr) {
      const std::int64_t* const strides = outs[index].strides;
      target.step_stride = strides[0];
      target.strides = {};
      std::copy_n(strides + 1, field.box.dimensions, target.strides.begin());
      target.dense = false;
      arranged = true;
    }
  }
  arranged_ = arranged;
  for (std::size_t index = 0; arranged && index < sources_.size(); ++index) {
    sources_[index].arranged = pieces_of(sources_[index].part->geometry(), targets_);
  }
  return {};
}

// All of a copy, into the places from number `begin` on.
Status Reader::fetch_steps(Source& source, std::size_t begin, std::uint64_t count) {
  source.looks.assign(begin + count, {});
  std::vector<Fetch::Piece> pieces;
  for (const Piece& piece : arranged_ ? source.arranged : source.pieces) {
    const Target& target = targets_[piece.field];
    pieces.push_back({&piece.plan, target.step(begin), target.step_stride});
  }
  return source.part->fetch({.ordinals = std::span(ordinals_).subspan(begin, count),
                             .pieces = pieces,
                             .looks = std::span(source.looks).subspan(begin, count)});
}

// Ordinal into place number `at` of the targets; its fate into outcome_[at], what the writer calls it into steps_ and times_.
Status Reader::copy_step(std::uint64_t ordinal, layout::CopyMethod method, std::size_t at) {
  outcome_[at] = outcome_whole;
  for (const Source& source : sources_) {
    const bool fetched = source.part->fetches();
    const auto& header = source.file->slot_header(ordinal);
    const auto label = fetched ? label_of(source.looks[at], ordinal) : read_label(header, ordinal);
    if (!label) {
      outcome_[at] = !fetched && torn_before(header, ordinal) ? outcome_withheld : outcome_gone;
      return {};
    }
    for (const Piece& piece : arranged_ ? source.arranged : source.pieces) {
      if (!fetched) {
        layout::copy_racing(piece.plan, targets_[piece.field].step(at), source.file->slot(ordinal), method);
      }
    }
    if (fetched ? source.looks[at].stamp_after != stamp_there(ordinal) : !end_read(header, ordinal)) {
      outcome_[at] = outcome_torn;
      if (!options_.torn) {
        return {};
      }
    }
    if (&source == &sources_.front()) {
      steps_[at] = label->step;
      times_[at] = std::bit_cast<double>(label->time_bits);
    } else if (steps_[at] != label->step) {
      return fail(Code::mismatch, "{}: ordinal {} is step {} on writer rank {}, but step {} on writer rank {}", title(),
                  ordinal, steps_[at], sources_.front().writer, label->step, source.writer);
    } else if (wire::time_bits_of(times_[at]) != label->time_bits) {
      return fail(Code::mismatch, "{}: step {} has time {} on writer rank {}, but time {} on writer rank {}", title(),
                  label->step, times_[at], sources_.front().writer, std::bit_cast<double>(label->time_bits),
                  source.writer);
    }
  }
  return {};
}

// A step that is kept, over the place of one that is not.
void Reader::move_step(std::size_t from, std::size_t to) {
  for (std::size_t index = 0; index < fields_.size(); ++index) {
    const Field& field = fields_[index];
    const Target& target = targets_[index];
    if (target.dense) {
      std::memmove(target.step(to), target.step(from), field.step_bytes);
      continue;
    }
    layout::copy_racing(layout::plan_copy(field.box, target.strides, field.box, target.strides, field.element_bytes),
                        target.step(to), target.step(from), layout::CopyMethod::cached);
  }
  steps_[to] = steps_[from];
  times_[to] = times_[from];
  ordinals_[to] = ordinals_[from];
}

// All members keep the same steps: what one could not read, none delivers.
Status Reader::combine(const Status& own, std::size_t begin, std::uint64_t count) {
  COUPLET_TRY(agree_on_status(team_, own, "reader rank", os::never));
  if (team_.size() == 1) {
    return {};
  }
  votes_.clear();  // worst fate, then smallest and largest step and time of what is there
  for (std::size_t at = begin; at < begin + count; ++at) {
    const bool here = delivers(outcome_[at]);
    votes_.push_back(outcome_[at]);
    votes_.push_back(here ? steps_[at] : INT64_MAX);
    votes_.push_back(here ? ~steps_[at] : INT64_MAX);
    const auto time = std::bit_cast<std::int64_t>(times_[at]);
    votes_.push_back(here ? time : INT64_MAX);
    votes_.push_back(here ? ~time : INT64_MAX);
  }
  COUPLET_TRY(team_.minimum(votes_, os::never));
  for (std::size_t at = begin, vote = 0; at < begin + count; ++at, vote += 5) {
    outcome_[at] = votes_[vote];
    if (delivers(votes_[vote]) && votes_[vote + 1] != ~votes_[vote + 2]) {
      return fail(Code::mismatch, "{}: ordinal {} is step {} on one writer rank, but step {} on another", title(),
                  ordinals_[at], votes_[vote + 1], ~votes_[vote + 2]);
    }
    if (delivers(votes_[vote]) && votes_[vote + 3] != ~votes_[vote + 4]) {
      return fail(Code::mismatch, "{}: step {} has time {} on one writer rank, but time {} on another", title(),
                  votes_[vote + 1], std::bit_cast<double>(votes_[vote + 3]), std::bit_cast<double>(~votes_[vote + 4]));
    }
  }
  return {};
}

// Copies the ordinals of the plan behind the `kept` ones and returns how many are kept then.
Result<std::uint64_t> Reader::copy_steps(const Plan& plan, std::uint64_t kept, const Status& room) {
  const std::uint64_t count = plan.count;
  const auto method = layout::choose_method(count * step_bytes_, options_.streaming_bytes);
  const std::size_t begin = kept;
  steps_.resize(begin + count);
  times_.resize(begin + count);
  ordinals_.resize(begin + count);
  outcome_.resize(begin + count);
  torn_.resize(begin + count);
  const std::uint64_t start = os::now_ns();
  Status status = room;
  for (std::uint64_t number = 0; number < count; ++number) {
    ordinals_[begin + number] = options_.interval > 0 ? by_time_[number] : plan.first + number * options_.every;
  }
  for (Source& source : sources_) {
    if (status.ok() && source.part->fetches()) {
      status = fetch_steps(source, begin, count);
    }
  }
  for (std::uint64_t number = 0; number < count && status.ok(); ++number) {
    status = copy_step(ordinals_[begin + number], method, begin + number);
  }
  layout::store_fence();
  statistics_.copy_ns += os::now_ns() - start;
  COUPLET_TRY(combine(status, begin, count));
  for (std::size_t at = begin; at < begin + count; ++at) {
    const bool torn = outcome_[at] == outcome_torn || outcome_[at] == outcome_withheld;
    if (!delivers(outcome_[at])) {
      ++statistics_.lost;
      statistics_.lost_torn += torn ? 1U : 0U;
      continue;
    }
    statistics_.delivered_torn += torn ? 1U : 0U;
    torn_[kept] = torn ? 1U : 0U;
    if (kept != at) {
      move_step(at, kept);
    }
    ++kept;
  }
  const std::uint64_t end = ordinals_[begin + count - 1] + 1;
  statistics_.lost += gone_;
  statistics_.skipped += end - next_ - count - gone_;
  origin_ = origin_.value_or(plan.first);
  next_ = end;
  steps_.resize(kept);
  times_.resize(kept);
  ordinals_.resize(kept);
  torn_.resize(kept);
  if (options_.interval > 0 && kept > begin) {
    window_ = window_of(times_.back());
  }
  statistics_.delivered += kept - begin;
  statistics_.bytes += (kept - begin) * step_bytes_;
  release_consumed();
  return kept;
}

}  // namespace couplet::series
