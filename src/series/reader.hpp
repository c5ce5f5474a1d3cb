// The reading end of a series on one rank: attaches to the parts that its box touches, waits for steps, copies them
// whole, and counts what happened to each ordinal. With a team of more than one, open and read are collective.
//
// Its parts: the attachment (sources, holds), the selection of steps, the copying of a batch, the agreement over the
// team, the accounting. The sequences in which the ranks agree are listed at series::AgreementPoint. While a reader
// goes over to a new incarnation, the new attachment is built beside the old one, which is left when all ranks have the
// new one complete.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "message/agree.hpp"
#include "series/accounting.hpp"
#include "series/attachment.hpp"
#include "series/batch_copy.hpp"
#include "series/collective.hpp"
#include "series/pace.hpp"
#include "series/reader_options.hpp"
#include "series/series.hpp"
#include "series/step_selection.hpp"

namespace couplet::series {

class Reader {
 public:
  // team: all ranks that read together; a team of one reads for itself (a local reader). It outlives the reader.
  // timeout: the series does not exist at the deadline; shape (a box outside the array, or elements that nobody
  // writes); type; limit (table of holders full); unsupported (another node, no relay); not_found (its steps are gone);
  // argument (also: latest for a holder). What fails on one rank fails on all.
  static Result<std::unique_ptr<Reader>> open(Environment& environment, message::Team& team, const std::string& name,
                                              const ReaderOptions& options, std::uint64_t deadline_ns);
  // The same where this rank's options may be wrong: the other ranks are told.
  static Result<std::unique_ptr<Reader>> open_checked(Environment& environment, message::Team& team,
                                                      const std::string& name, const Result<ReaderOptions>& options,
                                                      std::uint64_t deadline_ns);
  // Gives up its holds if close() was not called.
  ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // As couplet_series_read; collective over the team. Answers: not_yet, end, restarted, interrupted. Errors: argument
  // (out too small), limit (at_least exceeds the slots), evicted (also: released; nothing is delivered any more),
  // peer_lost (by name; what was published has been delivered before), mismatch (writers disagree about the step of an
  // ordinal; names the ranks; told once, the ordinal is lost). After an answer or error nothing was delivered and
  // `batch` is unchanged. The deadline is exceeded by the copy of one step at most.
  Status read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, void* out,
              std::uint64_t out_bytes, Batch& batch);
  // outs: one for each chosen field, or none.
  Status read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, std::span<const Out> outs,
              Batch& batch);
  // Local, a few cache lines. not_yet before the first step.
  [[nodiscard]] Result<Retained> retained();
  // Local; the accounting equation holds at any moment.
  [[nodiscard]] Statistics count();
  [[nodiscard]] Description describe() const { return description_; }
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return incarnation_; }
  // Local: gives up the holds and tells the registry.
  Status close(std::uint64_t deadline_ns);

 private:
  struct Request {
    std::uint64_t at_least = 0;
    std::uint64_t up_to = 0;
    std::span<const Out> outs;
  };
  // What a look at the sources, or a wait, has found.
  enum class Outlook : std::uint8_t { steps, waiting, ended, lost };
  struct View {
    Sight sight;
    Outlook outlook = Outlook::waiting;
    std::uint64_t begin = 0;               // this rank would copy from here on
    std::uint64_t max_steps = UINT64_MAX;  // and no more than so many
    bool over = false;                     // the deadline has passed, or there was an interrupt
  };
  struct Plan {  // of a turn, agreed; its ordinals are in choices_
    Outlook outlook = Outlook::waiting;
    std::uint64_t at_least = 0;
    std::uint64_t up_to = 0;
    bool over = false;  // for some rank
  };

  Reader(Environment& environment, message::Team& team, std::string name, ReaderOptions options)
      : environment_(environment),
        agreement_(team, environment),
        name_(std::move(name)),
        options_(std::move(options)),
        selection_(options_, accounting_),
        copy_(options_) {}

  // reader_open.cpp
  Status agree_on_choice(const Status& own, std::uint64_t deadline_ns);
  Result<universe::SeriesRecord> agree_on_record(std::int64_t newer_than, std::uint64_t deadline_ns,
                                                 std::uint64_t agreement_ns);
  Result<std::uint64_t> attach(universe::SeriesRecord record, From from, std::uint64_t deadline_ns,
                               std::uint64_t agreement_ns);
  void adopt(std::uint64_t first, From from);
  Status restart(std::uint64_t deadline_ns);

  // reader.cpp
  [[nodiscard]] Status check_read(const Request& request) const;
  Result<View> look_for_steps(const Request& request, std::uint64_t kept, ReadLimit& limit);
  Result<View> wait_for(std::uint64_t at_least, ReadLimit& limit);
  Status note_sight(View& view);
  void advise(View& view, std::uint64_t at_least) const;
  Result<Plan> agree_on_plan(const Result<View>& view, std::uint64_t at_least, std::uint64_t up_to);
  Status choose(Plan& plan, const View& view);
  Status read_steps(Request request, ReadLimit& limit, std::uint64_t& kept);
  Result<std::uint64_t> copy_steps(std::uint64_t kept, std::span<const Out> outs, ReadLimit& limit);
  Status nothing_left(Outlook outlook, std::uint64_t deadline_ns);

  Environment& environment_;
  Agreement agreement_;
  std::string name_;
  ReaderOptions options_;
  Accounting accounting_;
  StepSelection selection_;
  BatchCopy copy_;
  Pace pace_;
  std::unique_ptr<Attachment> attachment_;  // nullptr: closed
  std::unique_ptr<Attachment> next_;        // of a newer incarnation, not complete yet
  std::vector<StepSelection::Choice> choices_;
  Description description_;
  std::uint64_t incarnation_ = 0;
  bool end_told_ = false;
};

}  // namespace couplet::series
