// Reader: the reading end of a series on one rank. It attaches to the writer ranks whose boxes its own box touches,
// waits for steps, copies them whole, and counts what became of each ordinal. With a team of more than one, open and
// read are collective.
//
// It consists of the attachment (sources, holds), the selection of steps, the copy of a batch, the agreement over the
// team, and the accounting. The sequences in which the ranks agree are listed at series::AgreementPoint. While a reader
// goes over to a new incarnation, the new attachment is built beside the old one, which is left when the new one is
// complete on all ranks.
//
// Many short reads get as far as one long read, since these outlive a read: the position in the series, the holds, what
// was fetched and requested, an incomplete attachment to a newer incarnation, and requests that the hub has not
// answered yet. Only the plan of a read, and a copy that was not finished, end with it.
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
#include "series/links_wait.hpp"
#include "series/pace.hpp"
#include "series/reader_options.hpp"
#include "series/series.hpp"
#include "series/series_end.hpp"
#include "series/step_selection.hpp"

namespace couplet::series {

class ReaderReadiness;

class Reader {
 public:
  // Opens the series on all ranks of `team`, which outlives the reader; a team of one is a local reader. What fails on
  // one rank fails on all. Returns timeout if the series does not exist at the deadline; shape if the box is outside
  // the array, or no rank writes one of its elements; type; limit if the table of holders is full; unsupported if the
  // series is on another node and there is no relay; not_found if its steps are gone; argument if the options are
  // wrong.
  static Result<std::unique_ptr<Reader>> open(Environment& environment, message::Team& team, const std::string& name,
                                              const ReaderOptions& options, std::uint64_t deadline_ns);
  // Does the same with options that may be an error of this rank: then the other ranks are told.
  static Result<std::unique_ptr<Reader>> open_checked(Environment& environment, message::Team& team,
                                                      const std::string& name, const Result<ReaderOptions>& options,
                                                      std::uint64_t deadline_ns);
  // Gives up its holds if close() was not called.
  ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Reads as couplet_series_read; collective over the team. After an answer or an error nothing was delivered, and
  // `batch` is unchanged. The deadline is exceeded by the copy of one step at most; but a rank waits for the others
  // until agreement_deadline(), and then returns timeout. Answers: not_yet, end, restarted, interrupted. Errors:
  // argument if `out` is too small; limit if at_least exceeds the slots; evicted if the hold was released (nothing
  // further is delivered); peer_lost, with the name, after everything that was published was delivered; mismatch, once
  // and with the ranks, if writers disagree about the step of an ordinal, which is then lost, or if they have ended
  // after different numbers of steps.
  Status read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, void* out,
              std::uint64_t out_bytes, Batch& batch);
  // Does the same with one `outs` for each chosen field, or none. `refusal` is an error if the caller of this rank has
  // made a mistake; the other ranks are told, and the call fails on all.
  Status read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, std::span<const Out> outs,
              Batch& batch, const Status& refusal = {});
  // Returns the steps that are still there, or not_yet before the first one. Local; it reads a few cache lines.
  [[nodiscard]] Result<Retained> retained();
  // Returns the accounting, whose equation holds at any moment. Local.
  [[nodiscard]] Statistics count();
  [[nodiscard]] Description describe() const { return description_; }
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return incarnation_; }
  // Gives up the holds, and tells the registry. Local; if other ranks read again, they are told.
  Status close(std::uint64_t deadline_ns);

 private:
  friend class ReaderReadiness;
  struct Request {
    std::uint64_t at_least = 0;
    std::uint64_t up_to = 0;
    std::span<const Out> outs;
    const Status& refusal;
  };
  struct View {
    Sight sight;
    Outlook outlook = Outlook::waiting;
    std::uint64_t begin = 0;               // the ordinal from which on this rank would copy
    std::uint64_t max_steps = UINT64_MAX;  // the number of steps that it would copy at most
    bool over = false;                     // the deadline has passed, or there was an interrupt
    Status disturbed;                      // why there will be no agreement, which this rank has left
  };
  // What a follower adapts to.
  struct Following {
    Pace pace;
    LinksWait links;
    std::uint32_t offered_share = wire::whole_share;  // what this rank could take when the ranks last agreed
    std::uint64_t copy_ns = 0;                        // how long the last copies of a batch took
  };
  struct Plan {  // what the ranks have agreed for one turn; its ordinals are in choices_
    Outlook outlook = Outlook::waiting;
    std::uint64_t at_least = 0;
    std::uint64_t up_to = 0;
    bool over = false;        // the read is over for some rank
    std::uint64_t ended = 0;  // how many steps all writers have published, and
    std::uint64_t most = 0;   // how many some writer has published, if the outlook is `ended`
    // The number of steps that will ever be whole in this incarnation, or a larger one if that is not known.
    std::uint64_t last = UINT64_MAX;
  };

  Reader(Environment& environment, message::Team& team, std::string name, ReaderOptions options)
      : environment_(environment),
        agreement_(team, environment),
        name_(std::move(name)),
        options_(std::move(options)),
        selection_(options_, accounting_),
        copy_(options_) {}

  // reader_open.cpp
  // The result of an attachment, which is the same on all ranks.
  struct Attached {
    std::uint64_t first = 0;
    Status gone;  // an error if slots of that incarnation no longer exist, as when a newer one has superseded it
  };
  Status agree_on_choice(const Status& own, std::uint64_t deadline_ns);
  Result<Attached> attach(universe::SeriesRecord record, From from, std::uint64_t deadline_ns,
                          std::uint64_t agreement_ns);
  Result<std::uint64_t> attach_to_newest(std::int64_t newer_than, From from, std::uint64_t deadline_ns,
                                         std::uint64_t agreement_ns);
  void adopt(std::uint64_t first, From from);
  Status restart(std::uint64_t deadline_ns);

  // reader.cpp
  [[nodiscard]] Status check_read(const Request& request) const;
  Result<View> look_for_steps(const Request& request, std::uint64_t kept, ReadLimit& limit);
  Result<View> wait_for(std::uint64_t at_least, ReadLimit& limit);
  Status note_sight(View& view);
  [[nodiscard]] bool may_take_more();
  void advise(View& view, std::uint64_t at_least) const;
  [[nodiscard]] std::uint64_t most_wanted() const noexcept;
  Result<Plan> agree_on_plan(const Result<View>& view, std::uint64_t at_least, std::uint64_t up_to);
  Status choose(Plan& plan, const View& view);
  Status read_steps(Request request, ReadLimit& limit, std::uint64_t& kept);
  Result<std::uint64_t> copy_steps(std::uint64_t kept, std::span<const Out> outs, ReadLimit& limit);
  Status nothing_left(const Plan& plan, std::uint64_t deadline_ns);

  Environment& environment_;
  Agreement agreement_;
  std::string name_;
  ReaderOptions options_;
  Accounting accounting_;
  StepSelection selection_;
  BatchCopy copy_;
  Following following_;
  std::unique_ptr<Attachment> attachment_;  // nullptr: closed
  std::unique_ptr<Attachment> next_;        // to a newer incarnation; not complete yet
  std::vector<StepSelection::Choice> choices_;
  Description description_;
  std::uint64_t incarnation_ = 0;
  std::uint64_t next_look_ns_ = 0;  // time of the next check for lost writers by a read whose deadline has passed
  SeriesEnd end_;
};

}  // namespace couplet::series
