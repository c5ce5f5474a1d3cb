// Opening, going over to a new incarnation, closing: the sequences of series::AgreementPoint. Between two agreements a
// rank collects a Status and returns nowhere.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "os/clock.hpp"
#include "series/reader.hpp"

namespace couplet::series {
namespace {

constexpr std::uint64_t restart_look_ns = 200'000'000;  // how long the registry may take to know of a new incarnation
// The parts of a new incarnation get at least so much time, also in a read with a short timeout: local slots of 256 MiB
// take longer to make than such a read lasts, and what is not finished would begin anew in each.
constexpr std::uint64_t attach_patience_ns = 4'000'000'000;
// Ranks that have used up the time of open wait so much longer for each other.
constexpr std::uint64_t agreement_grace_ns = 2'000'000'000;

std::uint64_t later(std::uint64_t deadline_ns, std::uint64_t by_ns) noexcept {
  return deadline_ns > os::never - by_ns ? os::never : deadline_ns + by_ns;
}

Status check_options(const ReaderOptions& options) {
  if (options.every == 0) {
    return fail(Code::argument, "every must be at least 1, not 0");
  }
  if (options.latest && options.mode != Mode::follow) {
    return fail(Code::argument, "latest is for a reader that follows; one that holds is given each step");
  }
  if (!std::isfinite(options.interval) || options.interval < 0) {
    return fail(Code::argument, "interval must be a finite time of at least 0, not {}", options.interval);
  }
  if (options.interval > 0 && (options.every > 1 || options.latest)) {
    return fail(Code::argument, "interval goes with neither every nor latest: which of the steps?");
  }
  if (options.weights != nullptr) {
    const bool boxes = options.box || std::any_of(options.fields.begin(), options.fields.end(),
                                                  [](const FieldChoice& choice) { return choice.box.has_value(); });
    if (boxes) {
      return fail(Code::argument, "a reader with weights is given no box: the weights say which points are read");
    }
    if (options.copier != nullptr) {
      return fail(Code::unsupported, "weights do not go with a copier of the user");
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
  COUPLET_TRY_VALUE(auto record, reader->agree_on_record(-1, deadline_ns, agreement_ns));
  COUPLET_TRY_VALUE(const std::uint64_t first,
                    reader->attach(std::move(record), reader->options_.from, deadline_ns, agreement_ns));
  reader->adopt(first, reader->options_.from);
  reader->accounting_.begin(first);
  return reader;
}

// What is delivered is agreed over the team, so that all have to want the same.
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
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (bounds[index] != ~bounds[index + values.size()]) {
      return fail(
          Code::mismatch,
          "series '{}': the reader ranks differ in name, every, latest, torn, interval, or in the source points of "
          "their weights (a rank that wants no points gives weights without rows)",
          name_);
    }
  }
  return {};
}

// The newest record that any rank knows of.
Result<universe::SeriesRecord> Reader::agree_on_record(std::int64_t newer_than, std::uint64_t deadline_ns,
                                                       std::uint64_t agreement_ns) {
  for (;;) {
    auto record = environment_.registry().find(name_, newer_than, deadline_ns);
    const Status found =
        record.code() != Code::not_yet
            ? record.status()
            : fail(Code::timeout, "series '{}' does not exist: no program has created it in time", name_);
    const auto incarnation = record ? static_cast<std::int64_t>(record->incarnation) : 0;
    std::array<std::int64_t, 2> bounds = {incarnation, -incarnation};
    COUPLET_TRY(agreement_.minimum(AgreementPoint::record, found, bounds, agreement_ns));
    if (bounds[0] == -bounds[1]) {
      return record;
    }
    newer_than = -bounds[1] - 1;  // it was created again while the ranks asked
  }
}

// Makes next_ complete on all ranks, and answers where it begins. What has been opened of that incarnation before is
// kept.
Result<std::uint64_t> Reader::attach(universe::SeriesRecord record, From from, std::uint64_t deadline_ns,
                                     std::uint64_t agreement_ns) {
  Status own;
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
  }
  COUPLET_TRY(agreement_.status(AgreementPoint::sources, own, agreement_ns));
  const auto first = next_->start(from);
  // All hold from here on, so that nothing is lost between a reservation and the holds.
  auto latest = first ? ~static_cast<std::int64_t>(*first) : 0;
  COUPLET_TRY(agreement_.minimum(AgreementPoint::start, first.status(), {&latest, 1}, agreement_ns));
  const auto begin = static_cast<std::uint64_t>(~latest);
  next_->release(begin);
  auto& registry = environment_.registry();
  const Status told = registry.reader_opened(name_, next_->record().incarnation, options_.openers, deadline_ns);
  const Status all_told = agreement_.status(AgreementPoint::opened, told, agreement_ns);
  if (!all_told.ok()) {
    if (told.ok()) {
      static_cast<void>(registry.reader_closed(name_, deadline_ns));
    }
    return all_told.within(fmt::format("series '{}'", name_));
  }
  return begin;
}

// The complete attachment takes the place of the old one, whose holds end.
void Reader::adopt(std::uint64_t first, From from) {
  attachment_ = std::move(next_);
  incarnation_ = attachment_->record().incarnation;
  description_ = attachment_->describe();
  selection_.begin(first, from == From::step ? std::optional(options_.from_step) : std::nullopt);
  pace_ = {};
  end_told_ = false;
}

// ---- restart ----

// Goes over to a newer incarnation, if there is one: restarted. not_yet: there is none, or parts of it are not
// reachable yet.
Status Reader::restart(std::uint64_t deadline_ns) {
  const std::uint64_t look_ns = os::now_ns() + restart_look_ns;
  auto record = agree_on_record(static_cast<std::int64_t>(incarnation_), look_ns, os::never);
  if (!record) {
    return record.code() == Code::timeout ? Status(Code::not_yet) : record.status();
  }
  const std::uint64_t incarnation = record->incarnation;
  const std::uint64_t patience_ns = os::now_ns() + attach_patience_ns;
  auto first = attach(std::move(record).value(), From::oldest, std::max(deadline_ns, patience_ns), os::never);
  if (!first) {
    return Status(
        first.code() == Code::timeout ? Code::not_yet : first.code(),
        fmt::format("series '{}' was created again (incarnation {}), and this reader cannot go over to it: {}", name_,
                    incarnation, first.status().text()));
  }
  selection_.pass_lost(attachment_->published());  // what other ranks could not read, or a relay had announced only
  accounting_.pass_incarnation(selection_.next());
  adopt(*first, From::oldest);
  // The hub has counted this reader for the new incarnation, and counts it no longer for the old one.
  static_cast<void>(environment_.registry().reader_closed(name_, std::max(deadline_ns, patience_ns)));
  accounting_.lose(*first);  // of the new incarnation, overwritten before it was found
  return Code::restarted;
}

// ---- close ----

Status Reader::close(std::uint64_t deadline_ns) {
  if (attachment_ == nullptr) {
    return fail(Code::state, "series '{}' is closed already", name_);
  }
  static_cast<void>(count());
  next_.reset();
  attachment_.reset();
  return environment_.registry().reader_closed(name_, deadline_ns);
}

}  // namespace couplet::series
