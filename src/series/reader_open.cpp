// Opening, going over to a new incarnation, and closing: the sequences of series::AgreementPoint. Between two
// agreements a rank does not return after a failure, but keeps its Status and brings it to the next agreement.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>
#include <vector>

#include "os/clock.hpp"
#include "series/reader.hpp"
#include "series/window.hpp"

namespace couplet::series {
namespace {

// How long a call looks for a newer incarnation: at most, and at least, if its time is over already. The next call
// takes an answer of the hub that comes later.
constexpr std::uint64_t max_look_ns = 200'000'000;
constexpr std::uint64_t min_look_ns = 1'000'000;
// The time to open all parts of a series, if the timeout of the call is shorter, since relays have to answer. A restart
// needs no such time: it goes on over several reads.
constexpr std::uint64_t attach_patience_ns = 4'000'000'000;
// The time for the hub's answer to a close, even if the deadline has passed.
constexpr std::uint64_t least_answer_ns = 1'000'000'000;
// The additional time for which ranks wait for each other after the deadline of open.
constexpr std::uint64_t agreement_grace_ns = 2'000'000'000;

std::uint64_t later(std::uint64_t deadline_ns, std::uint64_t by_ns) noexcept {
  return deadline_ns > os::never - by_ns ? os::never : deadline_ns + by_ns;
}

std::uint64_t look_until(std::uint64_t deadline_ns) noexcept {
  const std::uint64_t now_ns = os::now_ns();
  return std::clamp(deadline_ns, now_ns + min_look_ns, now_ns + max_look_ns);
}

Status check_options(const ReaderOptions& options) {
  if (options.every == 0) {
    return fail(Code::argument, "every must be at least 1, not 0");
  }
  if (options.latest && options.mode != Mode::follow) {
    return fail(Code::argument, "latest needs the mode follow: a reader that holds is given each step");
  }
  if (!std::isfinite(options.interval) || options.interval < 0) {
    return fail(Code::argument, "interval must be a finite time of at least 0, not {}", options.interval);
  }
  if (options.interval > 0 && (options.every > 1 || options.latest)) {
    return fail(Code::argument, "interval cannot be combined with every or latest; give one of them");
  }
  if (options.weights != nullptr) {
    const bool boxes = options.box || std::any_of(options.fields.begin(), options.fields.end(),
                                                  [](const FieldChoice& choice) { return choice.box.has_value(); });
    if (boxes) {
      return fail(Code::argument, "a reader with weights is given no box: the weights say which points are read");
    }
    if (options.copier != nullptr) {
      return fail(Code::unsupported, "weights cannot be combined with a copier; leave out one of the two");
    }
    COUPLET_TRY(check_weights(*options.weights));
  }
  return {};
}

}  // namespace

// ---- open ----

Result<std::unique_ptr<Reader>> Reader::open(Environment& environment, message::Team& team, const std::string& name,
                                             const ReaderOptions& options, std::uint64_t deadline_ns) {
  return open_checked(environment, team, name, options, deadline_ns);
}

Result<std::unique_ptr<Reader>> Reader::open_checked(Environment& environment, message::Team& team,
                                                     const std::string& name, const Result<ReaderOptions>& options,
                                                     std::uint64_t deadline_ns) {
  std::unique_ptr<Reader> reader(new Reader(environment, team, name, options ? *options : ReaderOptions()));
  const std::uint64_t agreement_ns = later(deadline_ns, agreement_grace_ns);
  const Status checked = options ? check_options(*options) : options.status();
  const Status choice = checked.ok() ? checked : checked.within(fmt::format("series '{}'", name));
  COUPLET_TRY(reader->agree_on_choice(choice, agreement_ns));
  COUPLET_TRY_VALUE(const std::uint64_t first,
                    reader->attach_to_newest(-1, reader->options_.from, deadline_ns, agreement_ns));
  reader->adopt(first, reader->options_.from);
  reader->accounting_.begin(first);
  return reader;
}

// Checks that all ranks have the same options: they agree on what is delivered.
Status Reader::agree_on_choice(const Status& own, std::uint64_t deadline_ns) {
  std::array<std::int64_t, 6> values = {static_cast<std::int64_t>(options_.every),
                                        options_.latest ? 1 : 0,
                                        options_.torn ? 1 : 0,
                                        std::bit_cast<std::int64_t>(options_.interval),
                                        std::bit_cast<std::int64_t>(name_hash(name_)),
                                        options_.weights == nullptr ? 0 : options_.weights->source_points};
  std::array<std::int64_t, 2 * values.size()> bounds{};
  for (std::size_t index = 0; index < values.size(); ++index) {
    bounds[index] = values[index];
    bounds[index + values.size()] = ~values[index];
  }
  if (agreement_.alone()) {
    return own;
  }
  COUPLET_TRY(agreement_.minimum(AgreementPoint::choice, own, bounds, deadline_ns));
  constexpr std::array<std::string_view, values.size()> words = {
      "every", "latest",
      "torn",  "interval",
      "name",  "the source points of their weights (a rank that wants no points gives weights without rows)"};
  std::vector<std::string_view> unlike;
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (bounds[index] != ~bounds[index + values.size()]) unlike.push_back(words[index]);
  }
  return unlike.empty()
             ? Status()
             : fail(Code::mismatch, "series '{}': the reader ranks differ in {}", name_, fmt::join(unlike, ", "));
}

// Makes next_ an attachment to the newest incarnation above newer_than, complete on all ranks, and returns the ordinal
// at which it begins. If that incarnation has just been superseded, its slots may be removed after it was found: then
// the ranks look for the next one. If it was in the window of a former launch of this MPI job, which was started again,
// they wait for the next one.
Result<std::uint64_t> Reader::attach_to_newest(std::int64_t newer_than, From from, std::uint64_t deadline_ns,
                                               std::uint64_t agreement_ns) {
  const bool again = attachment_ != nullptr;
  const auto explain = [&](const Status& why) {
    return again
               ? Status(why.code(),
                        fmt::format(
                            "series '{}' was created again (incarnation {}), and this reader cannot go over to it: {}",
                            name_, newer_than, why.text()))
               : why;
  };
  Status gone;
  bool former_launch = false;
  for (;;) {
    const bool waits = !again && (gone.ok() || former_launch);
    auto record = RecordSearch(agreement_, environment_, name_)
                      .newest(newer_than, next_ ? &next_->record() : nullptr,
                              waits ? deadline_ns : look_until(deadline_ns), agreement_ns);
    if (!record) {
      return gone.ok() ? record.status() : explain(former_launch ? Status(record.code(), gone.text()) : gone);
    }
    former_launch = !record->parts.empty() && parse_place(record->parts.front().file).has_value();
    newer_than = static_cast<std::int64_t>(record->incarnation);
    if (again && record->creation == attachment_->record().creation) {
      incarnation_ = record->incarnation;  // the same series: a hub that was started again counts it anew
      continue;
    }
    const std::uint64_t attach_ns = again ? deadline_ns : std::max(deadline_ns, os::now_ns() + attach_patience_ns);
    const std::uint64_t told_ns = again ? agreement_ns : later(attach_ns, agreement_grace_ns);
    const auto attached = attach(std::move(record).value(), from, attach_ns, told_ns);
    if (!attached) {
      return explain(attached.status());
    }
    if (attached->gone.ok()) {
      return attached->first;
    }
    gone = attached->gone;
  }
}

// Attaches to one incarnation. What earlier calls have opened of it is kept.
Result<Reader::Attached> Reader::attach(universe::SeriesRecord record, From from, std::uint64_t deadline_ns,
                                        std::uint64_t agreement_ns) {
  Status own;
  Attached attached;
  if (next_ == nullptr || next_->record().incarnation != record.incarnation) {
    next_.reset();
    auto made = Attachment::make(environment_, options_, std::move(record));
    own = made.status();
    if (made) {
      next_ = std::move(made).value();
    }
  }
  if (own.ok()) {
    own = next_->connect(from, deadline_ns);
    if (own.code() == Code::not_found) {
      attached.gone = std::exchange(own, Status());
    }
  }
  std::int64_t there = attached.gone.ok() ? 1 : 0;
  COUPLET_TRY(agreement_.minimum(AgreementPoint::sources, own, {&there, 1}, agreement_ns));
  if (there == 0) {
    next_.reset();
    if (attached.gone.ok()) {
      attached.gone = fail(Code::not_found, "series '{}': slots that another reader rank needs are gone", name_);
    }
    return attached;
  }
  const auto first = next_->start(from);
  // All ranks hold from this moment on, so that nothing is lost when holds take the place of a reservation.
  auto latest = first ? ~static_cast<std::int64_t>(*first) : 0;
  COUPLET_TRY(agreement_.minimum(AgreementPoint::start, first.status(), {&latest, 1}, agreement_ns));
  attached.first = static_cast<std::uint64_t>(~latest);
  next_->release({attached.first});
  auto& registry = environment_.registry();
  // A reader that goes over to a newer incarnation does not wait for the hub's answer: it is enough that this message
  // reaches the hub before any later one.
  const std::uint64_t answer_ns = attachment_ == nullptr ? deadline_ns : universe::unanswered;
  const Status told = registry.reader_opened(name_, next_->record().incarnation, options_.openers, answer_ns);
  const Status all_told = agreement_.status(AgreementPoint::opened, told, agreement_ns);
  if (!all_told.ok()) {
    if (told.ok()) {
      static_cast<void>(registry.reader_closed(name_, answer_ns));
    }
    return all_told.within(fmt::format("series '{}'", name_));
  }
  return attached;
}

// Replaces the old attachment, whose holds end, by the complete new one.
void Reader::adopt(std::uint64_t first, From from) {
  attachment_ = std::move(next_);
  incarnation_ = attachment_->record().incarnation;
  description_ = attachment_->describe();
  selection_.begin(first, from == From::step ? std::optional(options_.from_step) : std::nullopt);
  following_ = {};
  following_.links.begin(first, attachment_->record().slots);
  end_ = {};
}

// ---- restart ----

// Goes over to a newer incarnation, and returns restarted. Returns not_yet if there is none, or if not all of its slots
// can be reached yet; the next read goes on where this one has stopped.
Status Reader::restart(std::uint64_t deadline_ns) {
  const auto first = attach_to_newest(static_cast<std::int64_t>(incarnation_), From::oldest, deadline_ns,
                                      agreement_deadline(deadline_ns));
  if (!first) {
    return first.code() == Code::timeout ? Status(Code::not_yet, first.status().text()) : first.status();
  }
  // Steps that other ranks could not read, or that a relay has only announced, are lost.
  selection_.pass_lost(attachment_->published());
  accounting_.pass_incarnation(selection_.next());
  adopt(*first, From::oldest);
  // The hub now counts this reader for the new incarnation. It must no longer count it for the old one.
  static_cast<void>(environment_.registry().reader_closed(name_, universe::unanswered));
  accounting_.lose(*first);  // steps of the new incarnation that were overwritten before it was found
  remove_superseded(environment_, name_, incarnation_);
  return Code::restarted;
}

// ---- close ----

Status Reader::close(std::uint64_t deadline_ns) {
  if (attachment_ == nullptr) {
    return fail(Code::state, "series '{}' is closed already", name_);
  }
  static_cast<void>(count());
  agreement_.leave(fail(Code::state, "has closed series '{}'", name_));
  next_.reset();
  attachment_.reset();
  remove_superseded(environment_, name_, incarnation_);
  // Giving back holds at the relays may have used up the deadline. The hub still gets least_answer_ns to answer.
  return environment_.registry().reader_closed(name_, std::max(deadline_ns, os::now_ns() + least_answer_ns));
}

}  // namespace couplet::series
