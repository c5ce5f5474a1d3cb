// Opening: the record, the parts, the holds, and from which ordinal on.
#include <algorithm>
#include <array>
#include <thread>

#include "base/types.hpp"
#include "series/collective.hpp"
#include "series/reader.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

using wire::ReaderState;

namespace {

constexpr std::string_view reader_rank = "reader rank";

// The entry that is kept for the required program, -1: none.
int find_reservation(const SeriesFile& file, std::uint64_t program) {
  const std::uint32_t used = file.control().released.entries_used.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < std::min(used, file.reader_entries()); ++index) {
    const auto& entry = file.readers()[index];
    if (owner_of(entry).state == ReaderState::reserved && entry.program.load(std::memory_order_relaxed) == program) {
      return static_cast<int>(index);
    }
  }
  return -1;
}

void wake_writer(SeriesFile& file, std::uint64_t consumed) {
  if (release_wakes(file.control().released, consumed)) {
    os::futex_wake(file.control().released.word);
  }
}

}  // namespace

Reader::Reader(Environment& environment, message::Team& team, ReaderOptions options)
    : environment_(environment), team_(team), options_(options) {}

Reader::~Reader() {
  detach();
}

Result<std::unique_ptr<Reader>> Reader::open(Environment& environment, message::Team& team, const std::string& name,
                                             const ReaderOptions& options, std::uint64_t deadline_ns) {
  std::unique_ptr<Reader> reader(new Reader(environment, team, options));
  COUPLET_TRY(reader->attach(name, -1, options.from, deadline_ns));
  reader->statistics_.first = reader->next_;
  if (Status status = environment.registry().reader_opened(name, deadline_ns); !status.ok()) {
    return status.within(reader->title());
  }
  return reader;
}

std::string Reader::title() const {
  return fmt::format("series '{}'", record_.name);
}

// ---- record ----

Status Reader::attach(const std::string& name, std::int64_t newer_than, From from, std::uint64_t deadline_ns) {
  COUPLET_TRY(find_record(name, newer_than, deadline_ns));
  Status status = check_record();
  if (status.ok()) {
    status = open_sources(deadline_ns);
  }
  COUPLET_TRY(agree_on_status(team_, status, reader_rank, os::never));
  return start(from, deadline_ns);
}

Status Reader::find_record(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns) {
  for (;;) {
    auto record = environment_.registry().find(name, newer_than, deadline_ns);
    Status status = record.status();
    if (record.code() == Code::not_yet) {
      status = fail(Code::timeout, "series '{}' does not exist: no program has created it in time", name);
    }
    COUPLET_TRY(agree_on_status(team_, status, reader_rank, os::never));
    const auto incarnation = static_cast<std::int64_t>(record->incarnation);
    std::array<std::int64_t, 2> bounds = {incarnation, -incarnation};
    COUPLET_TRY(team_.minimum(bounds, os::never));
    record_ = std::move(record).value();
    if (bounds[0] == -bounds[1]) {
      return {};
    }
    newer_than = -bounds[1] - 1;  // it was created again while the ranks asked: take the newest that any of them saw
  }
}

Status Reader::check_record() {
  const TypeInfo* type = find_type(record_.type);
  if (type == nullptr || record_.shape.empty() || record_.shape.size() > layout::max_dimensions || record_.slots == 0 ||
      record_.parts.empty()) {
    return fail(Code::protocol, "{}: the register's record makes no sense", title());
  }
  if (options_.type >= 0 && options_.type != record_.type) {
    const TypeInfo* expected = find_type(options_.type);
    return fail(Code::type, "{} has elements of type {}, not {}", title(), type->name,
                expected == nullptr ? "that" : expected->name);
  }
  box_ = options_.box ? *options_.box : layout::whole(record_.shape);
  COUPLET_TRY(layout::check_inside(box_, record_.shape, fmt::format("{}: the reader's box", title())));
  COUPLET_TRY_VALUE(step_bytes_, layout::box_bytes(box_, type->element_bytes));
  return check_coverage();
}

Status Reader::check_coverage() const {
  std::uint64_t covered = 0;
  for (const auto& part : record_.parts) {
    if (const auto common = layout::intersect(part.box, box_)) {
      covered += common->elements();
    }
  }
  if (covered == box_.elements()) {
    return {};
  }
  return fail(Code::shape, "{}: {} of the {} elements of the box {} are written by no rank of program '{}'", title(),
              box_.elements() - std::min(covered, box_.elements()), box_.elements(), layout::to_string(box_),
              record_.program);
}

// ---- parts ----

Status Reader::open_sources(std::uint64_t deadline_ns) {
  sources_.clear();
  const std::size_t element_bytes = find_type(record_.type)->element_bytes;
  for (std::size_t writer = 0; writer < record_.parts.size(); ++writer) {
    const auto& described = record_.parts[writer];
    // A rank with an empty box follows the first writer, so that it knows of steps and of the end.
    if (!layout::intersect(described.box, box_) && !(box_.empty() && writer == 0)) {
      continue;
    }
    Result<std::unique_ptr<Part>> part = Code::internal;
    if (described.node == environment_.node()) {
      part = open_mapped_part(environment_, record_, writer);
    } else {
      const PartWish wish{box_, options_.mode, options_.from, options_.from_step, options_.buffer_bytes};
      part = environment_.open_part(record_, writer, wish, deadline_ns);
    }
    if (!part) {
      return part.status();
    }
    Source source;
    source.file = &(*part)->file();
    source.part = std::move(part).value();
    source.writer = writer;
    source.plan = layout::plan_copy(source.file->box(), box_, element_bytes);
    if (options_.mode == Mode::hold) {
      COUPLET_TRY(take_hold(source));
    }
    sources_.push_back(std::move(source));
  }
  return {};
}

Status Reader::take_hold(Source& source) {
  SeriesFile& file = *source.file;
  const Owner owner{environment_.self(), environment_.incarnation(), ReaderState::opening};
  source.entry = take_entry(file.control(), file.readers(), file.reader_entries(), owner);
  if (source.entry < 0) {  // full: entries of the dead are free
    for (std::uint32_t index = 0; index < file.reader_entries(); ++index) {
      auto& entry = file.readers()[index];
      const Owner seen = owner_of(entry);
      if (seen.state != ReaderState::free && seen.state != ReaderState::reserved &&
          !environment_.alive(seen.peer, seen.incarnation).ok()) {
        static_cast<void>(replace_owner(entry, seen, 0));
      }
    }
    source.entry = take_entry(file.control(), file.readers(), file.reader_entries(), owner);
  }
  if (source.entry < 0) {
    return fail(Code::limit, "{}: writer rank {} has {} holders already, more do not fit (setting series.{}.holders)",
                title(), source.writer, file.reader_entries(), record_.name);
  }
  auto& entry = file.readers()[source.entry];
  entry.program.store(name_hash(environment_.program()), std::memory_order_relaxed);
  entry.last_read_ns.store(os::now_ns(), std::memory_order_relaxed);
  return {};
}

// ---- the first ordinal ----

namespace {

std::uint64_t wanted_start(const SeriesFile& file, From from) {
  const std::uint64_t published = file.control().published.published.load(std::memory_order_acquire);
  const std::uint64_t oldest = std::min(
      oldest_retained(file.control().claimed.claimed.load(std::memory_order_acquire), file.slots()), published);
  switch (from) {
    case From::newest:
      return published > 0 ? std::max(published - 1, oldest) : 0;
    case From::next:
      return published;
    case From::oldest:
    case From::step:
      break;
  }
  return oldest;
}

}  // namespace

// Takes the hold and finds from which ordinal on it is sure. While the own program's reservation stands, the writer cannot
// have passed what that keeps: if it seems so, it is between announcing a claim and taking it back, and is looked at again.
Result<std::uint64_t> Reader::hold_from(Source& source, From from, std::uint64_t deadline_ns) {
  SeriesFile& file = *source.file;
  auto& entry = file.readers()[source.entry];
  const Owner owner{environment_.self(), environment_.incarnation(), ReaderState::holding};
  std::uint64_t wish = wanted_start(file, from);
  const int reservation = find_reservation(file, name_hash(environment_.program()));
  if (reservation >= 0 && (from == From::oldest || from == From::step)) {
    wish = std::min(wish, file.readers()[reservation].consumed.load(std::memory_order_acquire));
  }
  std::uint64_t sure = announce_hold(file.control(), entry, owner, wish, file.slots());
  while (sure > wish && reservation >= 0 && owner_of(file.readers()[reservation]).state == ReaderState::reserved) {
    if (os::now_ns() > deadline_ns) {
      return fail(Code::timeout, "{}: writer rank {} does not answer to a hold (is it stopped?)", title(),
                  source.writer);
    }
    std::this_thread::yield();
    sure = settle_hold(file.control(), wish, file.slots());
  }
  return sure;
}

Result<std::uint64_t> Reader::start_in(Source& source, From from, std::uint64_t deadline_ns) {
  SeriesFile& file = *source.file;
  COUPLET_TRY(source.part->poll());
  std::uint64_t first = wanted_start(file, from);
  if (source.entry >= 0) {
    COUPLET_TRY_VALUE(first, hold_from(source, from, deadline_ns));
  }
  first = std::max(first, source.part->first_ordinal());
  if (from == From::step) {
    const std::uint64_t published = file.control().published.published.load(std::memory_order_acquire);
    while (first < published) {
      const auto step = read_step(file.slot_header(first), first);
      if (step && *step >= options_.from_step) {
        break;
      }
      ++first;
    }
  }
  return first;
}

Status Reader::start(From from, std::uint64_t deadline_ns) {
  std::uint64_t first = 0;
  Status status;
  for (Source& source : sources_) {
    auto found = start_in(source, from, deadline_ns);
    if (!found) {
      status = found.status();
      break;
    }
    first = std::max(first, *found);
  }
  COUPLET_TRY(agree_on_status(team_, status, reader_rank, os::never));
  auto latest = -static_cast<std::int64_t>(first);
  COUPLET_TRY(team_.minimum({&latest, 1}, os::never));
  next_ = static_cast<std::uint64_t>(-latest);
  skip_below_ = from == From::step ? std::optional(options_.from_step) : std::nullopt;
  release_consumed();
  // All members hold by now (the agreement above), so that nothing is lost between reservation and hold.
  release_reservations();
  return {};
}

// Every local opener counts itself, the first rank of a team counts all; in the files of all writers of this node, whether
// or not this rank reads them.
void Reader::release_reservations() {
  if (team_.rank() != 0) {
    return;
  }
  const std::uint64_t program = name_hash(environment_.program());
  const auto needed = static_cast<std::uint32_t>(std::max(options_.openers, team_.size()));
  const auto count_in = [&](SeriesFile& file) {
    const int index = find_reservation(file, program);
    if (index < 0) {
      return;
    }
    auto& entry = file.readers()[index];
    const Owner seen = owner_of(entry);
    const auto opened = entry.opened.fetch_add(static_cast<std::uint32_t>(team_.size()), std::memory_order_acq_rel) +
                        static_cast<std::uint32_t>(team_.size());
    if (opened >= needed && replace_owner(entry, seen, 0)) {
      wake_writer(file, UINT64_MAX);
    }
  };
  for (std::size_t writer = 0; writer < record_.parts.size(); ++writer) {
    if (record_.parts[writer].node != environment_.node()) {
      continue;  // the relay that serves it does so there
    }
    const auto mapped =
        std::find_if(sources_.begin(), sources_.end(), [&](const Source& s) { return s.writer == writer; });
    if (mapped != sources_.end()) {
      count_in(*mapped->file);
    } else if (auto part = open_mapped_part(environment_, record_, writer)) {
      count_in((*part)->file());
    }
  }
}

void Reader::release_consumed() {
  for (Source& source : sources_) {
    if (source.entry < 0) {
      continue;
    }
    auto& entry = source.file->readers()[source.entry];
    entry.last_read_ns.store(os::now_ns(), std::memory_order_relaxed);
    if (release(source.file->control().released, entry, next_)) {
      os::futex_wake(source.file->control().released.word);
    }
  }
}

void Reader::detach() {
  for (Source& source : sources_) {
    if (source.entry < 0) {
      continue;
    }
    auto& entry = source.file->readers()[source.entry];
    const Owner seen = owner_of(entry);
    if (seen.peer == environment_.self() && seen.incarnation == environment_.incarnation() &&
        replace_owner(entry, seen, 0)) {
      wake_writer(*source.file, UINT64_MAX);
    }
  }
  sources_.clear();
}

Status Reader::close(std::uint64_t deadline_ns) {
  if (closed_) {
    return fail(Code::state, "{} is closed already", title());
  }
  closed_ = true;
  static_cast<void>(count());
  detach();
  return environment_.registry().reader_closed(record_.name, deadline_ns);
}

}  // namespace couplet::series
