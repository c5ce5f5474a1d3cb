#include "series/batch_copy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.hpp"
#include "base/counted.hpp"
#include "os/clock.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

constexpr std::uint64_t interrupt_interval_ns = 10'000'000;
constexpr std::uint64_t max_fetched_bytes = std::uint64_t{64} << 20;  // between two checks of the deadline
constexpr std::size_t votes_per_step = 5;

// Does the same as read_label for a step that was fetched.
std::optional<Label> label_of(const Fetch::Look& look, std::uint64_t ordinal) noexcept {
  return look.stamp_before == stamp_there(ordinal) ? std::optional(Label{look.step, look.time_bits}) : std::nullopt;
}

// Executes the plan in slices of about `slice_bytes`. Returns false, and gives up, as soon as still_there() does.
template <typename Copy, typename StillThere>
bool copy_in_slices(layout::CopyPlan plan, std::uint64_t slice_bytes, const Copy& copy, const StillThere& still_there) {
  const std::uint64_t bytes = plan.bytes();
  if (bytes <= slice_bytes) {
    copy(plan);
    return still_there();
  }
  if (plan.loop_count == 0) {
    layout::CopyPlan slice = plan;
    for (std::uint64_t at = 0; at < bytes; at += slice_bytes) {
      slice.run_bytes = std::min(slice_bytes, bytes - at);
      slice.source_offset = plan.source_offset + at;
      slice.target_offset = plan.target_offset + at;
      copy(slice);
      if (!still_there()) {
        return false;
      }
    }
    return true;
  }
  const layout::CopyPlan::Loop outer = plan.loops[0];
  const std::uint64_t together = std::max<std::uint64_t>(slice_bytes / (bytes / outer.count), 1);
  if (together == 1 && plan.loop_count > 1) {
    std::copy(plan.loops.begin() + 1, plan.loops.begin() + plan.loop_count, plan.loops.begin());
    --plan.loop_count;
    for (std::uint64_t index = 0; index < outer.count; ++index) {
      if (!copy_in_slices(plan, slice_bytes, copy, still_there)) {
        return false;
      }
      plan.source_offset += outer.source_stride;
      plan.target_offset += outer.target_stride;
    }
    return true;
  }
  for (std::uint64_t index = 0; index < outer.count; index += together) {
    plan.loops[0].count = std::min(together, outer.count - index);
    copy(plan);
    if (!still_there()) {
      return false;
    }
    plan.source_offset += together * outer.source_stride;
    plan.target_offset += together * outer.target_stride;
  }
  return true;
}

// Returns how many steps are copied at once: one, or as many as one fetch brings.
std::size_t steps_together(const Attachment& attachment) {
  const auto& sources = attachment.sources();
  if (std::none_of(sources.begin(), sources.end(), [](const Source& source) { return source.part->fetches(); })) {
    return 1;
  }
  return std::max<std::size_t>(max_fetched_bytes / std::max<std::uint64_t>(attachment.read_bytes(), 1), 1);
}

// Returns the number of bytes from the first to the last byte of `steps` strided steps.
std::uint64_t strided_span(const ChosenField& field, const std::int64_t* strides, std::uint64_t steps) {
  const auto length = [](std::int64_t stride) {
    return stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
  };
  std::uint64_t span = field.element_bytes;
  const auto add = [&](std::uint64_t gaps, std::uint64_t bytes) {
    std::uint64_t reach = 0;
    const bool overflow = __builtin_mul_overflow(gaps, bytes, &reach) || __builtin_add_overflow(span, reach, &span);
    span = overflow ? UINT64_MAX : span;
  };
  add(steps - 1, length(strides[0]));
  for (int dimension = 0; dimension < field.box.dimensions; ++dimension) {
    add(static_cast<std::uint64_t>(field.box.extent(dimension) - 1), length(strides[dimension + 1]));
  }
  return span;
}

Status check_strided(const ChosenField& field, const Out& out, std::uint64_t up_to, const std::string& title) {
  layout::Strides strides{};
  std::copy_n(out.strides + 1, field.box.dimensions, strides.begin());
  COUPLET_TRY(layout::check_strides(field.box, strides, title + ": out"));
  if (field.step_bytes == 0) {
    return {};
  }
  for (int dimension = 0; dimension < field.box.dimensions; ++dimension) {
    if (strides[static_cast<std::size_t>(dimension)] == 0 && field.box.extent(dimension) > 1) {
      return fail(Code::argument, "{}: out has a stride of 0 in dimension {}: elements would share their place", title,
                  dimension);
    }
  }
  if (out.strides[0] == 0 && up_to > 1) {
    return fail(Code::argument, "{}: out has a stride of 0 from step to step, so that {} steps would share their place",
                title, up_to);
  }
  const std::uint64_t span = strided_span(field, out.strides, up_to);
  if (span > UINT64_MAX / 2) {
    return fail(Code::argument, "{}: {} with a stride of {} {} not fit into any memory", title, counted(up_to, "step"),
                counted(out.strides[0], "byte"), up_to == 1 ? "does" : "do");
  }
  if (out.bytes > 0 && span > out.bytes) {
    return fail(Code::argument, "{}: out has {}, {} with its strides {} over {}", title, counted(out.bytes, "byte"),
                counted(up_to, "step"), up_to == 1 ? "reaches" : "reach", counted(span, "byte"));
  }
  return {};
}

}  // namespace

Result<bool> ReadLimit::reached() {
  const std::uint64_t now = os::now_ns();
  if (now >= deadline_ns_) {
    return true;
  }
  if (looked_ns_ == 0) {
    looked_ns_ = now;
  } else if (now - looked_ns_ >= interrupt_interval_ns) {
    looked_ns_ = now;
    const auto slice = environment_.between_slices();
    if (slice.code() == Code::interrupted) {
      interrupted_ = true;
      return true;
    }
    if (!slice.ok()) {
      return slice.status();
    }
  }
  return interrupted_;
}

// ---- targets ----

Status BatchCopy::check(const Attachment& attachment, std::uint64_t up_to, std::span<const Out> outs) {
  const auto& fields = attachment.fields();
  if (!outs.empty() && outs.size() != fields.size()) {
    return fail(Code::argument, "{}: {}, {}", attachment.title(),
                counted(outs.size(), "array to read into is given", "arrays to read into are given"),
                counted(fields.size(), "field is read", "fields are read"));
  }
  for (std::size_t index = 0; index < outs.size(); ++index) {
    const Out& out = outs[index];
    const ChosenField& field = fields[index];
    if (out.strides != nullptr) {
      COUPLET_TRY(check_strided(field, out, up_to, attachment.title_of(field)));
      continue;
    }
    std::uint64_t needed = 0;
    if (out.data != nullptr && (__builtin_mul_overflow(up_to, field.step_bytes, &needed) || out.bytes < needed)) {
      return fail(Code::argument, "{}: out has {}, {} of {} {} not fit", attachment.title_of(field),
                  counted(out.bytes, "byte"), counted(up_to, "step"), counted(field.step_bytes, "byte"),
                  up_to == 1 ? "does" : "do");
    }
  }
  return {};
}

Status BatchCopy::aim(Attachment& attachment, std::span<const Out> outs, std::uint64_t count, std::uint64_t fresh) {
  const auto& fields = attachment.fields();
  data_.resize(fields.size());  // memory is reserved here, since nothing may fail after the ranks have agreed
  targets_.resize(fields.size());
  while (buffers_.size() < fields.size()) {
    buffers_.push_back(std::make_unique<os::MemoryBlock>());
  }
  arranged_ = false;
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const ChosenField& field = fields[index];
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
      arranged_ = true;
    }
  }
  if (attachment.fields().front().remap != nullptr) {
    arranged_ = false;  // what is copied goes into the landings
    return aim_landings(attachment, fresh);
  }
  landings_.clear();
  for (Source& source : attachment.sources()) {
    if (arranged_) {
      source.arranged = attachment.pieces_of(source.part->geometry(), targets_);
    }
  }
  return {};
}

Status BatchCopy::aim_landings(Attachment& attachment, std::uint64_t fresh) {
  const auto& fields = attachment.fields();
  landing_steps_ = std::clamp<std::size_t>(fresh, 1, steps_together(attachment));
  landings_.resize(fields.size());
  while (landing_memory_.size() < fields.size()) {
    landing_memory_.push_back(std::make_unique<os::MemoryBlock>());
  }
  for (std::size_t index = 0; index < fields.size(); ++index) {
    landings_[index].step_stride = static_cast<std::int64_t>(fields[index].read_bytes);
    COUPLET_TRY_VALUE(landings_[index].data,
                      landing_memory_[index]->reserve(landing_steps_ * fields[index].read_bytes));
  }
  return {};
}

void BatchCopy::shrink(std::size_t kept) {
  steps_.resize(kept);
  times_.resize(kept);
  ordinals_.resize(kept);
  torn_.resize(kept);
  outcomes_.resize(kept);
}

const std::vector<FieldData>& BatchCopy::data(const Attachment& attachment) {
  const auto& fields = attachment.fields();
  data_.resize(fields.size());
  for (std::size_t index = 0; index < fields.size(); ++index) {
    data_[index] = {targets_[index].data, fields[index].step_bytes};
  }
  return data_;
}

// ---- copying ----

Status BatchCopy::copy(Attachment& attachment, const std::vector<StepSelection::Choice>& choices, std::size_t begin,
                       const Status& room, ReadLimit& limit) {
  const std::size_t end = begin + choices.size();
  shrink(end);
  std::fill(outcomes_.begin() + static_cast<std::ptrdiff_t>(begin), outcomes_.end(),
            static_cast<std::uint8_t>(Outcome::left));
  for (std::size_t at = begin; at < end; ++at) {
    ordinals_[at] = choices[at - begin].ordinal;
  }
  copied_ = {};
  disagreement_ = {};
  landing_begin_ = begin;
  COUPLET_TRY(room);
  auto& sources = attachment.sources();
  COUPLET_ASSERT(!sources.empty());  // without a source nothing is copied, and the step would count as whole
  const std::uint64_t claimed = options_.mode == Mode::follow ? attachment.claimed() : 0;
  const std::uint64_t step_bytes = attachment.read_bytes();
  const std::uint64_t written_steps = landings_.empty() ? choices.size() : landing_steps_;
  const auto method = layout::choose_method(written_steps * step_bytes, options_.streaming_bytes);
  const bool fetching = std::any_of(sources.begin(), sources.end(), [](const Source& s) { return s.part->fetches(); });
  const std::size_t together = fetching ? steps_together(attachment) : 1;
  copied_.together = together;
  Status status;
  std::uint64_t unlooked_bytes = 0;
  for (std::size_t at = begin; at < end && status.ok(); ++at) {
    if (unlooked_bytes >= options_.bytes_between_looks) {
      unlooked_bytes = 0;
      COUPLET_TRY_VALUE(const bool over, limit.reached());
      if (over) {
        break;
      }
    }
    for (Source& source : sources) {
      if ((at - begin) % together == 0 && source.part->fetches()) {
        COUPLET_TRY(fetch(source, at, std::min(together, end - at)));
      }
    }
    status = copy_step(attachment, at, method);
    copied_.copies += (at - begin) % together == 0 ? 1U : 0U;
    unlooked_bytes += step_bytes;
    if (outcome(at) == Outcome::mismatch) {
      break;
    }
    copied_.overtaken = copied_.overtaken || outcome(at) != Outcome::whole;
  }
  layout::store_fence();
  copied_.claimed = options_.mode == Mode::follow ? attachment.claimed() - claimed : 0;
  return status;
}

// Fetches `count` steps into the places from number `begin` on.
Status BatchCopy::fetch(Source& source, std::size_t begin, std::size_t count) {
  source.looks.resize(std::max(source.looks.size(), begin + count));
  std::fill_n(source.looks.begin() + static_cast<std::ptrdiff_t>(begin), count, Fetch::Look{});
  fetched_.clear();
  for (const Piece& piece : arranged_ ? source.arranged : source.pieces) {
    const Target& target = landings_.empty() ? targets_[piece.field] : landings_[piece.field];
    fetched_.push_back({&piece.plan, place(piece.field, begin), target.step_stride});
  }
  return source.part->fetch({.ordinals = std::span(ordinals_).subspan(begin, count),
                             .pieces = fetched_,
                             .looks = std::span(source.looks).subspan(begin, count)});
}

bool BatchCopy::copy_piece(const Piece& piece, const Source& source, std::size_t at, bool sliced,
                           layout::CopyMethod method) const {
  std::byte* const target = place(piece.field, at);
  const std::uint64_t ordinal = ordinals_[at];
  const std::byte* const slot = source.file->slot(ordinal);
  const auto copy = [&](const layout::CopyPlan& plan) {
    if (options_.copier != nullptr) {
      options_.copier->copy(plan, target, slot, method);
    } else {
      layout::copy_racing(plan, target, slot, method);
    }
  };
  if (!sliced) {
    copy(piece.plan);
    return true;
  }
  const auto& header = source.file->slot_header(ordinal);
  return copy_in_slices(piece.plan, options_.bytes_between_looks, copy, [&] { return begin_read(header, ordinal); });
}

// Copies the step into its place of the targets, and notes its outcome, and its number and time as the writer gave
// them.
Status BatchCopy::copy_step(Attachment& attachment, std::size_t at, layout::CopyMethod method) {
  const std::uint64_t ordinal = ordinals_[at];
  const bool sliced = attachment.read_bytes() > options_.bytes_between_looks && !options_.torn;
  const auto decide = [&](Outcome outcome) { outcomes_[at] = static_cast<std::uint8_t>(outcome); };
  decide(Outcome::whole);
  for (const Source& source : attachment.sources()) {
    const bool fetched = source.part->fetches();
    const auto& header = source.file->slot_header(ordinal);
    const auto label = fetched ? label_of(source.looks[at], ordinal) : read_label(header, ordinal);
    if (!label) {
      decide(!fetched && torn_before(header, ordinal) ? Outcome::withheld : Outcome::gone);
      return {};
    }
    bool there = true;
    for (const Piece& piece : arranged_ ? source.arranged : source.pieces) {
      there = there && (fetched || copy_piece(piece, source, at, sliced, method));
    }
    if (!there || (fetched ? source.looks[at].stamp_after != stamp_there(ordinal) : !end_read(header, ordinal))) {
      decide(Outcome::torn);
      if (!options_.torn) {
        return {};
      }
    }
    if (&source == &attachment.sources().front()) {
      steps_[at] = label->step;
      times_[at] = std::bit_cast<double>(label->time_bits);
    } else if (Status same = compare_label(attachment, source, *label, at); !same.ok()) {
      decide(Outcome::mismatch);
      disagreement_ = std::move(same);
      return {};
    }
  }
  if (!landings_.empty()) {
    transform(attachment, at);
  }
  return {};
}

// Multiplies what was copied of the step by the weights, into the step's place of the targets.
void BatchCopy::transform(const Attachment& attachment, std::size_t at) const {
  const auto& fields = attachment.fields();
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const ChosenField& field = fields[index];
    const Target& target = targets_[index];
    const std::int64_t stride = target.dense ? static_cast<std::int64_t>(field.element_bytes) : target.strides[0];
    if (field.element_bytes == sizeof(float)) {
      field.remap->apply<float>(place(index, at), target.step(at), stride);
    } else {
      field.remap->apply<double>(place(index, at), target.step(at), stride);
    }
  }
}

Status BatchCopy::compare_label(const Attachment& attachment, const Source& source, const Label& label,
                                std::size_t at) const {
  const std::size_t first = attachment.sources().front().writer;
  if (steps_[at] != label.step) {
    return fail(Code::mismatch,
                "{}: ordinal {} is step {} on writer rank {}, but step {} on writer rank {}; it is lost",
                attachment.title(), ordinals_[at], steps_[at], first, label.step, source.writer);
  }
  if (wire::time_bits_of(times_[at]) != label.time_bits) {
    return fail(Code::mismatch, "{}: step {} has time {} on writer rank {}, but time {} on writer rank {}; it is lost",
                attachment.title(), label.step, times_[at], first, std::bit_cast<double>(label.time_bits),
                source.writer);
  }
  return {};
}

// ---- all ranks ----

// The ranks agree on the outcome of each step, and on the smallest and largest step number and time that a rank has
// read for it.
Status BatchCopy::agree(Agreement& agreement, const Attachment& attachment, const Status& own, std::size_t begin) {
  if (agreement.alone()) {
    return own;
  }
  votes_.clear();
  for (std::size_t at = begin; at < outcomes_.size(); ++at) {
    const bool here = delivers(at);
    const auto time = std::bit_cast<std::int64_t>(times_[at]);
    votes_.insert(votes_.end(), {outcomes_[at], here ? steps_[at] : INT64_MAX, here ? ~steps_[at] : INT64_MAX,
                                 here ? time : INT64_MAX, here ? ~time : INT64_MAX});
  }
  COUPLET_TRY(agreement.minimum(AgreementPoint::copies, own, votes_, agreement.deadline_ns()));
  bool ended = false;
  for (std::size_t at = begin; at < outcomes_.size(); ++at) {
    const std::int64_t* const vote = &votes_[(at - begin) * votes_per_step];
    outcomes_[at] = ended ? static_cast<std::uint8_t>(Outcome::left) : static_cast<std::uint8_t>(vote[0]);
    if (delivers(at) && (vote[1] != ~vote[2] || vote[3] != ~vote[4])) {
      outcomes_[at] = static_cast<std::uint8_t>(Outcome::mismatch);
      disagreement_ =
          vote[1] != ~vote[2]
              ? fail(Code::mismatch, "{}: ordinal {} is step {} on one writer rank, but step {} on another; it is lost",
                     attachment.title(), ordinals_[at], vote[1], ~vote[2])
              : fail(Code::mismatch, "{}: step {} has time {} on one writer rank, but time {} on another; it is lost",
                     attachment.title(), vote[1], std::bit_cast<double>(vote[3]), std::bit_cast<double>(~vote[4]));
    }
    ended = ended || outcome(at) <= Outcome::mismatch;
  }
  return {};
}

void BatchCopy::keep(const Attachment& attachment, std::size_t from, std::size_t to) {
  torn_[to] = outcome(from) == Outcome::torn ? 1U : 0U;
  if (from == to) {
    return;
  }
  const auto& fields = attachment.fields();
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const ChosenField& field = fields[index];
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

}  // namespace couplet::series
