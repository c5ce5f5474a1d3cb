// StepSelection: the ordinals that a reader is given. It knows the position of the reader, and chooses by number
// (every, latest), by step (from_step) and by physical time (interval). It accounts for every ordinal that it passes
// over. A rank decides alone what it sees; the ranks decide together what is delivered (reader.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "series/accounting.hpp"
#include "series/attachment.hpp"
#include "series/needed_steps.hpp"
#include "series/reader_options.hpp"

namespace couplet::series {

class StepSelection {
 public:
  StepSelection(const ReaderOptions& options, Accounting& accounting) : options_(options), accounting_(accounting) {}

  // Begins at the first ordinal of an incarnation. The steps below `skip_below` are skipped.
  void begin(std::uint64_t first, std::optional<std::int64_t> skip_below);

  // Returns the position: all ordinals below it are accounted for.
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
  // Returns the first ordinal that may still be wanted. Those before it are not needed, published or not.
  [[nodiscard]] std::uint64_t needed() const noexcept;
  // Returns which ordinals may still be wanted. The parts that fetch the steps need it. With an interval of physical
  // time the answer is every ordinal, since only the time of a step decides.
  [[nodiscard]] NeededSteps needed_steps() const noexcept;
  // Returns how many ordinals must be published until `at_least` chosen ones are there.
  [[nodiscard]] std::uint64_t target(std::uint64_t at_least) const noexcept;
  // By number: return the first chosen ordinal from `ordinal` on, and the number of chosen ones in [begin, end).
  [[nodiscard]] std::uint64_t chosen_from(std::uint64_t ordinal) const noexcept;
  [[nodiscard]] std::uint64_t count_chosen(std::uint64_t begin, std::uint64_t end) const noexcept;

  // Passes all ordinals before `next`. Those that were chosen are lost.
  void pass_lost(std::uint64_t next);
  // Passes all ordinals before `next`, none of which was chosen.
  void pass_skipped(std::uint64_t next);
  // Passes all ordinals before `next`, which another rank has passed. Until this rank has seen the first step that is
  // not below from_step, it takes them for steps below it.
  void pass_agreed(std::uint64_t next);
  // Has this rank seen the first step that is not below from_step?
  [[nodiscard]] bool has_begun() const noexcept { return !skip_below_; }
  // Passes all ordinals before `most`. Those from `whole` on are whole on no rank: they count as lost if they were
  // chosen; with an interval, all do. Returns how many were, which is the same on all ranks.
  std::uint64_t pass_partial(std::uint64_t whole, std::uint64_t most);
  // Passes the published steps below from_step.
  void pass_steps_below(const SeriesFile& file, std::uint64_t published);

  // With an interval: looks for the next chosen ordinal. Returns true if it has passed any, and argument if a step has
  // no physical time.
  Result<bool> scan(const Attachment& attachment, std::uint64_t published);
  // With an interval: returns this rank's verdict on each of the ordinals [next, published), at most `slots` of them,
  // for the agreement of the ranks.
  [[nodiscard]] std::vector<std::int64_t> judge(const SeriesFile& file, std::uint64_t published,
                                                std::uint64_t slots) const;

  // The ordinals of a batch, in order.
  struct Choice {
    std::uint64_t ordinal = 0;
    std::uint64_t lost_before = 0;  // with an interval: the number of lost ordinals between next() and this one
  };
  // Fills `choices` with the first `count` chosen ordinals from `first` on.
  void choose_by_number(std::uint64_t first, std::uint64_t count, std::vector<Choice>& choices) const;
  // Does the same by the verdicts on which the ranks have agreed. Passes all these ordinals if none was chosen.
  void choose_by_time(const std::vector<std::int64_t>& verdicts, std::uint64_t up_to, std::vector<Choice>& choices);
  // Passes the first `count` of the choices, which have been copied or lost. `time` is the time of the last one that is
  // delivered, if there is one.
  void pass_copied(const std::vector<Choice>& choices, std::uint64_t count, std::optional<double> time);

 private:
  [[nodiscard]] std::int64_t window_of(double time) const noexcept;

  const ReaderOptions& options_;
  Accounting& accounting_;
  std::uint64_t next_ = 0;
  std::optional<std::int64_t> skip_below_;
  std::optional<std::uint64_t> origin_;  // the first ordinal that was chosen
  std::uint64_t scanned_ = 0;            // with an interval: ordinals [next_, scanned_) are not chosen
  std::int64_t window_ = INT64_MIN;      // the number of the interval of the last step that was delivered
};

}  // namespace couplet::series
