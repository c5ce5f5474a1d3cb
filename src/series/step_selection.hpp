// Which ordinals a reader is given: it knows how far the reader is, and its choice by number (every, latest), by step
// (from_step) and by physical time (interval). What it passes over it accounts for. What a rank sees it decides alone;
// what is delivered all decide together (reader.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "series/accounting.hpp"
#include "series/attachment.hpp"
#include "series/reader_options.hpp"

namespace couplet::series {

class StepSelection {
 public:
  StepSelection(const ReaderOptions& options, Accounting& accounting) : options_(options), accounting_(accounting) {}

  // Goes to the first ordinal of an incarnation. skip_below: the steps below this one are skipped.
  void begin(std::uint64_t first, std::optional<std::int64_t> skip_below);

  // The ordinal up to which all are accounted for.
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
  // The first one that may still be wanted: what lies before is not needed, whether or not it is published yet.
  [[nodiscard]] std::uint64_t needed() const noexcept;
  // How many must be published before `at_least` chosen ones are there.
  [[nodiscard]] std::uint64_t target(std::uint64_t at_least) const noexcept;
  // The chosen ordinals by number: the first one that is >= ordinal, and how many there are in [begin, end).
  [[nodiscard]] std::uint64_t chosen_from(std::uint64_t ordinal) const noexcept;
  [[nodiscard]] std::uint64_t count_chosen(std::uint64_t begin, std::uint64_t end) const noexcept;

  // All before `next` that were chosen are lost.
  void pass_lost(std::uint64_t next);
  // Nothing before `next` was chosen.
  void pass_skipped(std::uint64_t next);
  // Steps below from_step, as far as they are published. True: some were passed.
  bool pass_steps_below(const SeriesFile& file, std::uint64_t published);

  // Of an interval: looks for the next chosen one. True: it has passed some. argument: a step has no physical time.
  Result<bool> scan(const Attachment& attachment, std::uint64_t published);
  // Of an interval: what this rank makes of the ordinals [next, published), for agreement; at most as many as `slots`.
  [[nodiscard]] std::vector<std::int64_t> judge(const SeriesFile& file, std::uint64_t published,
                                                std::uint64_t slots) const;

  // The ordinals of a batch, in order.
  struct Choice {
    std::uint64_t ordinal = 0;
    std::uint64_t lost_before = 0;  // between next() and it, with an interval
  };
  // Fills `choices` with the first `count` from `first` on.
  void choose_by_number(std::uint64_t first, std::uint64_t count, std::vector<Choice>& choices) const;
  // The same from what all ranks have made of the ordinals; passes all if none was chosen.
  void choose_by_time(const std::vector<std::int64_t>& verdicts, std::uint64_t up_to, std::vector<Choice>& choices);
  // The first `count` of the choices have been copied or lost; time: of the last one that is delivered, if one is.
  void pass_copied(const std::vector<Choice>& choices, std::uint64_t count, std::optional<double> time);

 private:
  [[nodiscard]] std::int64_t window_of(double time) const noexcept;

  const ReaderOptions& options_;
  Accounting& accounting_;
  std::uint64_t next_ = 0;
  std::optional<std::int64_t> skip_below_;
  std::optional<std::uint64_t> origin_;  // the first ordinal that was chosen
  std::uint64_t scanned_ = 0;            // with an interval: ordinals [next_, scanned_) are not chosen
  std::int64_t window_ = INT64_MIN;      // ... of the last step that was delivered
};

}  // namespace couplet::series
