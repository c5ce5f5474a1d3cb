// Copies the steps of a batch into the targets of a read. The stamp of each step is checked before and after its copy,
// which gives the outcome of the step. All ranks then agree on the outcomes, and keep the same steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "os/memory_block.hpp"
#include "series/attachment.hpp"
#include "series/collective.hpp"
#include "series/pace.hpp"
#include "series/reader_options.hpp"
#include "series/step_selection.hpp"

namespace couplet::series {

// If a step has different outcomes on several ranks, the one that comes first in this list counts for all.
enum class Outcome : std::uint8_t {
  left,      // not copied: the time of the read was over, or an earlier step has ended the batch
  mismatch,  // the writers disagree about the step or the time of this ordinal
  gone,      // overwritten before the copy
  withheld,  // overwritten while a relay copied it: there is nothing to deliver
  torn,      // overwritten during the copy
  whole
};

// Decides between two copies whether the read has to stop.
class ReadLimit {
 public:
  ReadLimit(Environment& environment, std::uint64_t deadline_ns)
      : environment_(environment), deadline_ns_(deadline_ns) {}
  // Checks the clock and, at intervals, for an interrupt. Returns true if the read is over.
  Result<bool> reached();
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
  void interrupt() noexcept { interrupted_ = true; }

 private:
  Environment& environment_;
  std::uint64_t deadline_ns_;
  std::uint64_t looked_ns_ = 0;
  bool interrupted_ = false;
};

class BatchCopy {
 public:
  explicit BatchCopy(const ReaderOptions& options) : options_(options) {}
  BatchCopy(const BatchCopy&) = delete;
  BatchCopy& operator=(const BatchCopy&) = delete;

  // Returns argument if the arrays do not fit the fields and `up_to` steps.
  static Status check(const Attachment& attachment, std::uint64_t up_to, std::span<const Out> outs);
  // Provides room for `count` steps of each field; the last `fresh` of them are copied next. Returns memory if there is
  // none.
  Status aim(Attachment& attachment, std::span<const Out> outs, std::uint64_t count, std::uint64_t fresh);
  // Keeps the first `kept` steps, and drops the others.
  void shrink(std::size_t kept);

  // Copies the chosen ordinals behind the `begin` steps that are there already. `room` is the result of aim(): if it is
  // an error, nothing is copied. Every choice gets an outcome, also after an error.
  Status copy(Attachment& attachment, const std::vector<StepSelection::Choice>& choices, std::size_t begin,
              const Status& room, ReadLimit& limit);
  // Makes the outcomes the same on all ranks. `own` is the result of copy().
  Status agree(Agreement& agreement, const Attachment& attachment, const Status& own, std::size_t begin);
  [[nodiscard]] Outcome outcome(std::size_t at) const noexcept { return static_cast<Outcome>(outcomes_[at]); }
  [[nodiscard]] bool delivers(std::size_t at) const noexcept {
    return outcome(at) == Outcome::whole || (outcome(at) == Outcome::torn && options_.torn);
  }
  // What the writers disagree about, as this rank has found or all have agreed; ok if this rank has found nothing.
  [[nodiscard]] const Status& disagreement() const noexcept { return disagreement_; }
  // Moves step `from` to the place `to`, which a step that is not delivered has left.
  void keep(const Attachment& attachment, std::size_t from, std::size_t to);
  // How far the writer got during the copies; for followers.
  [[nodiscard]] const Pace::Copied& copied() const noexcept { return copied_; }

  [[nodiscard]] const std::vector<FieldData>& data(const Attachment& attachment);
  [[nodiscard]] const double* times() const noexcept { return times_.data(); }
  [[nodiscard]] const std::int64_t* steps() const noexcept { return steps_.data(); }
  [[nodiscard]] const std::uint64_t* ordinals() const noexcept { return ordinals_.data(); }
  [[nodiscard]] const std::uint8_t* torn() const noexcept { return torn_.data(); }
  [[nodiscard]] double time(std::size_t at) const noexcept { return times_[at]; }

 private:
  Status aim_landings(Attachment& attachment, std::uint64_t fresh);
  // Returns where step `at` is copied to: its place in the target or, with weights, in the landing.
  [[nodiscard]] std::byte* place(std::size_t field, std::size_t at) const noexcept {
    return landings_.empty() ? targets_[field].step(at) : landings_[field].step((at - landing_begin_) % landing_steps_);
  }
  void transform(const Attachment& attachment, std::size_t at) const;
  Status fetch(Source& source, std::size_t begin, std::size_t count);
  Status copy_step(Attachment& attachment, std::size_t at, layout::CopyMethod method);
  [[nodiscard]] Status compare_label(const Attachment& attachment, const Source& source, const Label& label,
                                     std::size_t at) const;
  // Returns false if the step was replaced meanwhile, and the copy was given up.
  bool copy_piece(const Piece& piece, const Source& source, std::size_t at, bool sliced,
                  layout::CopyMethod method) const;

  const ReaderOptions& options_;
  std::vector<std::unique_ptr<os::MemoryBlock>> buffers_;  // one for each field
  std::vector<Target> targets_;
  bool arranged_ = false;  // the pieces of the sources are arranged for this read: some target is not dense
  std::vector<std::unique_ptr<os::MemoryBlock>> landing_memory_;
  std::vector<Target> landings_;  // with weights, one for each field: what is copied, before it is remapped; else empty
  std::size_t landing_steps_ = 1;  // number of steps for which a landing has room
  std::size_t landing_begin_ =
      0;  // the step in the first place; step landing_begin_ + landing_steps_ reuses that place
  std::vector<FieldData> data_;
  std::vector<std::int64_t> steps_;
  std::vector<double> times_;
  std::vector<std::uint64_t> ordinals_;
  std::vector<std::uint8_t> torn_;
  std::vector<std::uint8_t> outcomes_;
  std::vector<std::int64_t> votes_;
  std::vector<Fetch::Piece> fetched_;
  Status disagreement_;
  Pace::Copied copied_;
};

}  // namespace couplet::series
