// Opening: the record, the parts, the holds, and from which ordinal on.
#include <algorithm>
#include <array>

#include "base/types.hpp"
#include "series/collective.hpp"
#include "series/hold.hpp"
#include "series/reader.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

using wire::ReaderState;

namespace {

constexpr std::string_view reader_rank = "reader rank";

}  // namespace

Reader::Reader(Environment& environment, message::Team& team, ReaderOptions options)
    : environment_(environment), team_(team), options_(options) {}

Reader::~Reader() {
  detach();
}

Result<std::unique_ptr<Reader>> Reader::open(Environment& environment, message::Team& team, const std::string& name,
                                             const ReaderOptions& options, std::uint64_t deadline_ns) {
  std::unique_ptr<Reader> reader(new Reader(environment, team, options));
  if (Status choice = reader->check_choice(); !choice.ok()) {
    return choice.within(fmt::format("series '{}'", name));
  }
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

// What is delivered is agreed over the team, so that all have to want the same.
Status Reader::check_choice() {
  Status status;
  if (options_.every == 0) {
    status = fail(Code::argument, "every is 0: one of how many steps?");
  } else if (options_.latest && options_.mode != Mode::follow) {
    status = fail(Code::argument, "latest is for a reader that follows; one that holds is given each step");
  }
  COUPLET_TRY(agree_on_status(team_, status, reader_rank, os::never));
  const std::array<std::int64_t, 3> own = {static_cast<std::int64_t>(options_.every), options_.latest ? 1 : 0,
                                           options_.torn ? 1 : 0};
  std::array<std::int64_t, 6> bounds = {own[0], own[1], own[2], -own[0], -own[1], -own[2]};
  COUPLET_TRY(team_.minimum(bounds, os::never));
  if (bounds[0] != -bounds[3] || bounds[1] != -bounds[4] || bounds[2] != -bounds[5]) {
    return fail(Code::mismatch, "the reader ranks differ in every, latest or torn");
  }
  return {};
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
  source.entry = take_hold_entry(*source.file, owner(), name_hash(environment_.program()), [&](const Owner& other) {
    return environment_.alive(other.peer, other.incarnation).ok();
  });
  if (source.entry < 0) {
    return fail(Code::limit, "{}: writer rank {} has {} holders already, more do not fit (setting series.{}.holders)",
                title(), source.writer, source.file->reader_entries(), record_.name);
  }
  return {};
}

Owner Reader::owner() const {
  return {environment_.self(), environment_.incarnation(), ReaderState::opening};
}

// ---- the first ordinal ----

Result<std::uint64_t> Reader::start_in(Source& source, From from, std::uint64_t deadline_ns) {
  SeriesFile& file = *source.file;
  COUPLET_TRY(source.part->poll());
  std::uint64_t first = wanted_start(file, from);
  if (source.entry >= 0) {
    auto held = hold_from(file, source.entry, owner(), name_hash(environment_.program()), from, deadline_ns);
    if (!held) {
      return held.status().within(fmt::format("{}: writer rank {}", title(), source.writer));
    }
    first = *held;
  }
  first = std::max(first, source.part->first_ordinal());
  return from == From::step ? find_step(file, first, options_.from_step) : first;
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
  return release_reservations(deadline_ns);
}

// Every local opener counts itself, the first rank of a team counts all; in the files of all writers, whether or not this
// rank reads them.
Status Reader::release_reservations(std::uint64_t deadline_ns) {
  const bool awaited = std::find(record_.required_readers.begin(), record_.required_readers.end(),
                                 environment_.program()) != record_.required_readers.end();
  if (team_.rank() != 0 || !awaited) {
    return {};
  }
  const std::uint64_t program = name_hash(environment_.program());
  const auto opened = static_cast<std::uint32_t>(team_.size());
  const auto needed = static_cast<std::uint32_t>(std::max(options_.openers, team_.size()));
  for (std::size_t writer = 0; writer < record_.parts.size(); ++writer) {
    if (record_.parts[writer].node != environment_.node()) {
      COUPLET_TRY(environment_.count_opened(record_, writer, opened, needed, deadline_ns));
      continue;
    }
    const auto mapped =
        std::find_if(sources_.begin(), sources_.end(), [&](const Source& s) { return s.writer == writer; });
    if (mapped != sources_.end()) {
      count_opened(*mapped->file, program, opened, needed);
    } else if (auto part = open_mapped_part(environment_, record_, writer)) {
      count_opened((*part)->file(), program, opened, needed);
    }
  }
  return {};
}

// What lies before the next chosen ordinal is needed no more, whether or not it is published yet.
void Reader::release_consumed() {
  const std::uint64_t needed = chosen_from(next_);
  for (Source& source : sources_) {
    if (source.entry >= 0) {
      consume(*source.file, source.entry, needed);
    }
    source.part->released(needed);
  }
}

void Reader::detach() {
  for (Source& source : sources_) {
    if (source.entry >= 0) {
      give_up_hold(*source.file, source.entry, owner());
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
