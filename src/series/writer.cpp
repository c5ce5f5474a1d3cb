#include "series/writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <utility>

#include "base/counted.hpp"
#include "series/collective.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

Writer::Writer(Environment& environment, std::unique_ptr<SeriesFile> file, Settings settings)
    : environment_(environment), file_(std::move(file)), settings_(std::move(settings)) {
  const auto& geometry = file_->geometry();
  method_ = layout::choose_method(geometry.slot_count * geometry.slot_stride, settings_.streaming_bytes);
  for (std::size_t index = 0; index < geometry.fields.size(); ++index) {
    const auto& field = geometry.fields[index];
    std::uint64_t offset = field.offset_bytes;
    for (const auto& box : boxes_of(field)) {
      pieces_.push_back({index, box, offset, box.elements() * field.element_bytes, field.element_bytes});
      offset += pieces_.back().bytes;
      bytes_ += pieces_.back().bytes;
    }
  }
  plans_.resize(pieces_.size());
}

Writer::~Writer() {
  if (!closed_) {
    static_cast<void>(close(os::deadline_after(1)));
  }
}

Status Writer::claim_slot(std::int64_t step) {
  if (team_ == nullptr) {
    return claim_here(step);
  }
  const std::uint64_t deadline_ns = agreement_deadline(os::deadline_after(settings_.wait_timeout_s));
  Status own;
  try {
    own = claim_here(step);
  } catch (const std::bad_alloc&) {
    own = fail(Code::memory, "series '{}': there is not enough memory to claim step {}", file_->geometry().name, step);
  }
  return agree_on_claim(own, step, deadline_ns);
}

// All members get the slot, for the same step, or none keeps it.
Status Writer::agree_on_claim(const Status& own, std::int64_t step, std::uint64_t deadline_ns) {
  std::array<std::int64_t, 2> bounds = {step, ~step};
  Status all = agree_on_minimum(*team_, own, putting_step, bounds, deadline_ns);
  if (all.ok() && bounds[0] != ~bounds[1]) {
    all = fail(Code::mismatch, "series '{}': the writer ranks put different steps, {} to {}", file_->geometry().name,
               bounds[0], ~bounds[1]);
  }
  if (!all.ok() && own.ok()) {
    static_cast<void>(abandon());
  }
  return all;
}

Status Writer::refuse(const Status& why, std::int64_t step) {
  return team_ == nullptr ? why
                          : agree_on_claim(why, step, agreement_deadline(os::deadline_after(settings_.wait_timeout_s)));
}

Status Writer::claim_here(std::int64_t step) {
  const auto& name = file_->geometry().name;
  if (closed_) {
    return fail(Code::state, "series '{}' is closed: step {} cannot be written", name, step);
  }
  if (claim_) {
    return fail(Code::state, "series '{}': step {} cannot be written while step {} is claimed: publish or abandon that",
                name, step, *claim_);
  }
  if (ordinal_ > 0 && step <= last_step_) {
    return fail(Code::step, "series '{}': step {} does not come after step {}, which is written already", name, step,
                last_step_);
  }
  if (try_claim(file_->control(), file_->readers(), file_->reader_entries(), ordinal_, file_->slots()) >= 0) {
    COUPLET_TRY(wait_for_holders(step, os::deadline_after(settings_.wait_timeout_s)));
  }
  begin_write(file_->slot_header(ordinal_), ordinal_);
  claim_ = step;
  return {};
}

void Writer::publish_slot() {
  end_write(file_->slot_header(ordinal_), ordinal_, *claim_, wire::time_bits_of(time_));
  if (!std::isnan(time_)) {
    last_time_ = time_;
    time_ = std::numeric_limits<double>::quiet_NaN();
  }
  ++ordinal_;
  if (series::publish(file_->control().published, ordinal_)) {
    os::futex_wake(file_->control().published.word, 1);  // this reader wakes the others
  }
  last_step_ = *claim_;
  claim_.reset();
  ++statistics_.calls;
  statistics_.bytes += bytes_;
}

void Writer::add_time(std::uint64_t start_ns, std::uint64_t held_before_ns) {
  last_call_ns_ = os::now_ns();
  statistics_.library_ns += last_call_ns_ - start_ns - (statistics_.held_ns - held_before_ns);
  auto& counts = file_->control().counts;
  counts.calls.store(statistics_.calls, std::memory_order_relaxed);
  counts.bytes.store(statistics_.bytes, std::memory_order_relaxed);
  counts.held_ns.store(statistics_.held_ns, std::memory_order_relaxed);
  counts.library_ns.store(statistics_.library_ns, std::memory_order_relaxed);
  count_in_page();
}

void Writer::count_in_page() {
  using counters::Counter;
  auto& counters = environment_.counters();
  counters.add(Counter::series_steps_written, statistics_.calls - told_.calls);
  counters.add(Counter::series_bytes_written, statistics_.bytes - told_.bytes);
  counters.add(Counter::series_held_ns, statistics_.held_ns - told_.held_ns);
  counters.add(Counter::series_write_ns, statistics_.library_ns - told_.library_ns);
  told_ = statistics_;
}

Status Writer::set_time(double time) {
  const auto& name = file_->geometry().name;
  if (!std::isfinite(time)) {
    return fail(Code::argument, "series '{}': the time of a step must be finite, not {}", name, time);
  }
  if (time < last_time_) {
    return fail(Code::step, "series '{}': time {} comes before {}, of a step that is written already", name, time,
                last_time_);
  }
  time_ = time;
  return {};
}

// ---- one array ----

Status Writer::put(const void* data, std::int64_t step) {
  if (pieces_.size() != 1) [[unlikely]] {
    const Array one{data, nullptr};
    return put(std::span(&one, 1), step);
  }
  const std::uint64_t start = os::now_ns();
  const std::uint64_t held = statistics_.held_ns;
  const std::uint64_t bytes = bytes_;
  if (data == nullptr && bytes > 0) {
    return refuse(fail(Code::argument, "series '{}' step {}: the array of this rank's box is missing",
                       file_->geometry().name, step),
                  step);
  }
  Status status = claim_slot(step);
  if (status.ok()) {
    if (bytes > 0) {
      const std::uint64_t copy_start = os::now_ns();
      layout::copy_run(file_->slot(ordinal_), static_cast<const std::byte*>(data), bytes, method_);
      statistics_.copy_ns += os::now_ns() - copy_start;
    }
    publish_slot();
  }
  add_time(start, held);
  return status;
}

// ---- several arrays, and arrays with gaps ----

std::string Writer::title_of(const Piece& piece) const {
  const auto& geometry = file_->geometry();
  const auto& field = geometry.fields[piece.field].name;
  return field.empty() ? fmt::format("series '{}'", geometry.name)
                       : fmt::format("series '{}', field '{}'", geometry.name, field);
}

Result<layout::CopyPlan> Writer::plan_of(const Piece& piece, const Array& array) const {
  layout::CopyPlan plan;
  if (piece.bytes == 0) {
    return plan;
  }
  if (array.data == nullptr) {
    return fail(Code::argument, "{}: the array of the box {} is missing", title_of(piece),
                layout::to_string(piece.box));
  }
  if (array.strides == nullptr) {
    plan.run_bytes = piece.bytes;
    return plan;
  }
  layout::Strides strides{};
  std::copy_n(array.strides, piece.box.dimensions, strides.begin());
  if (Status status = layout::check_strides(piece.box, strides, "the array"); !status.ok()) {
    return status.within(title_of(piece));
  }
  return layout::plan_copy(piece.box, strides, piece.box, layout::dense_strides(piece.box, piece.element_bytes),
                           piece.element_bytes);
}

Status Writer::put(std::span<const Array> arrays, std::int64_t step) {
  const std::uint64_t start = os::now_ns();
  const std::uint64_t held = statistics_.held_ns;
  const auto& geometry = file_->geometry();
  if (arrays.size() != pieces_.size()) {
    return refuse(fail(Code::argument, "series '{}' step {}: {}, this rank has {} in {}", geometry.name, step,
                       counted(arrays.size(), "array is given", "arrays are given"),
                       counted(pieces_.size(), "box", "boxes"), counted(geometry.fields.size(), "field")),
                  step);
  }
  for (std::size_t index = 0; index < pieces_.size(); ++index) {
    auto plan = plan_of(pieces_[index], arrays[index]);
    if (!plan) {
      return refuse(plan.status(), step);
    }
    plans_[index] = *plan;
  }
  Status status = claim_slot(step);
  if (status.ok()) {
    const std::uint64_t copy_start = os::now_ns();
    for (std::size_t index = 0; index < pieces_.size(); ++index) {
      layout::copy_racing(plans_[index], file_->slot(ordinal_) + pieces_[index].offset_bytes,
                          static_cast<const std::byte*>(arrays[index].data), method_);
    }
    statistics_.copy_ns += os::now_ns() - copy_start;
    publish_slot();
  }
  add_time(start, held);
  return status;
}

// ---- in place ----

Result<std::byte*> Writer::claim(std::int64_t step) {
  const std::uint64_t start = os::now_ns();
  const std::uint64_t held = statistics_.held_ns;
  Status status = claim_slot(step);
  add_time(start, held);
  if (!status.ok()) {
    return status;
  }
  return file_->slot(ordinal_);
}

Status Writer::publish() {
  if (!claim_) {
    return fail(Code::state, "series '{}': publish without a claimed slot", file_->geometry().name);
  }
  const std::uint64_t start = os::now_ns();
  publish_slot();
  add_time(start, statistics_.held_ns);
  return {};
}

Status Writer::abandon() {
  if (!claim_) {
    return fail(Code::state, "series '{}': abandon without a claimed slot", file_->geometry().name);
  }
  claim_.reset();  // the slot still belongs to the writer, with an odd stamp, until the ordinal is claimed again
  return {};
}

Status Writer::close(std::uint64_t deadline_ns) {
  if (closed_) {
    return fail(Code::state, "series '{}' is closed already", file_->geometry().name);
  }
  closed_ = true;
  if (team_ != nullptr) {
    team_->leave(fail(Code::state, "writer rank {} has closed series '{}'", team_->rank(), file_->geometry().name));
  }
  series::close(file_->control().published);
  os::futex_wake(file_->control().published.word);
  return environment_.registry().writer_closed(file_->geometry().name, deadline_ns);
}

Statistics Writer::count() const {
  Statistics statistics = statistics_;
  statistics.published = ordinal_;
  return statistics;
}

Result<Retained> Writer::retained() const {
  if (ordinal_ == 0) {
    return Code::not_yet;
  }
  const std::uint64_t claimed = file_->control().claimed.claimed.load(std::memory_order_relaxed);
  return Retained{std::min(oldest_retained(claimed, file_->slots()), ordinal_), ordinal_, last_step_};
}

Description Writer::describe() const {
  const auto& geometry = file_->geometry();
  Description description{geometry.name, geometry.program, "writer", {}, geometry.slot_count, geometry.writer_count};
  for (const auto& field : geometry.fields) {
    description.fields.push_back({field.name, field.type, field.shape, boxes_of(field), field.bytes});
  }
  return description;
}

}  // namespace couplet::series
