// Opening: the record, the parts, the holds, and from which ordinal on.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/types.hpp"
#include "series/collective.hpp"
#include "series/hold.hpp"
#include "series/reader.hpp"
#include "series/slot_protocol.hpp"
#include "series/window_part.hpp"

namespace couplet::series {

using wire::ReaderState;

namespace {

constexpr std::string_view reader_rank = "reader rank";

}  // namespace

Reader::Reader(Environment& environment, message::Team& team, ReaderOptions options)
    : environment_(environment), team_(team), options_(std::move(options)) {}

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

std::string Reader::title_of(const Field& field) const {
  const auto& name = record_.fields[field.field].name;
  return name.empty() ? title() : fmt::format("{}, field '{}'", title(), name);
}

// What is delivered is agreed over the team, so that all have to want the same.
Status Reader::check_choice() {
  Status status;
  if (options_.every == 0) {
    status = fail(Code::argument, "every is 0: one of how many steps?");
  } else if (options_.latest && options_.mode != Mode::follow) {
    status = fail(Code::argument, "latest is for a reader that follows; one that holds is given each step");
  } else if (!std::isfinite(options_.interval) || options_.interval < 0) {
    status = fail(Code::argument, "an interval of {}", options_.interval);
  } else if (options_.interval > 0 && (options_.every > 1 || options_.latest)) {
    status = fail(Code::argument, "interval goes with neither every nor latest: which of the steps?");
  }
  COUPLET_TRY(agree_on_status(team_, status, reader_rank, os::never));
  const std::array<std::int64_t, 4> own = {static_cast<std::int64_t>(options_.every), options_.latest ? 1 : 0,
                                           options_.torn ? 1 : 0, std::bit_cast<std::int64_t>(options_.interval)};
  std::array<std::int64_t, 8> bounds = {own[0], own[1], own[2], own[3], -own[0], -own[1], -own[2], -own[3]};
  COUPLET_TRY(team_.minimum(bounds, os::never));
  for (std::size_t index = 0; index < own.size(); ++index) {
    if (bounds[index] != -bounds[index + own.size()]) {
      return fail(Code::mismatch, "the reader ranks differ in every, latest, torn or interval");
    }
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
  bool sound = !record_.fields.empty() && record_.slots > 0 && !record_.parts.empty();
  for (const auto& field : record_.fields) {
    sound = sound && find_type(field.type) != nullptr && !field.shape.empty() &&
            field.shape.size() <= layout::max_dimensions;
  }
  for (const auto& part : record_.parts) {
    sound = sound && part.boxes.size() == record_.fields.size();
  }
  return sound ? choose_fields() : fail(Code::protocol, "{}: the register's record makes no sense", title());
}

// All fields, or those of the choice.
Status Reader::choose_fields() {
  fields_.clear();
  step_bytes_ = 0;
  for (std::size_t index = 0; options_.fields.empty() && index < record_.fields.size(); ++index) {
    COUPLET_TRY(choose_field(index, options_.box, options_.type));
  }
  for (const FieldChoice& choice : options_.fields) {
    const auto& all = record_.fields;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == choice.name; });
    if (found == all.end()) {
      std::vector<std::string_view> names;
      names.reserve(all.size());
      for (const auto& each : all) {
        names.push_back(each.name);
      }
      return fail(Code::not_found, "{} has no field '{}'; it has '{}'", title(), choice.name, fmt::join(names, "', '"));
    }
    const auto index = static_cast<std::size_t>(found - all.begin());
    if (std::any_of(fields_.begin(), fields_.end(), [&](const Field& each) { return each.field == index; })) {
      return fail(Code::argument, "{}: field '{}' is chosen twice", title(), choice.name);
    }
    COUPLET_TRY(
        choose_field(index, choice.box ? choice.box : options_.box, choice.type >= 0 ? choice.type : options_.type));
  }
  targets_.resize(fields_.size());
  data_.resize(fields_.size());
  while (buffers_.size() < fields_.size()) {
    buffers_.push_back(std::make_unique<os::MemoryBlock>());
  }
  return {};
}

Status Reader::choose_field(std::size_t field, const std::optional<layout::Box>& box, couplet_type type) {
  const auto& described = record_.fields[field];
  const TypeInfo* known = find_type(described.type);
  Field chosen;
  chosen.field = field;
  chosen.box = box ? *box : layout::whole(described.shape);
  chosen.element_bytes = known->element_bytes;
  const std::string name = title_of(chosen);
  if (type >= 0 && type != described.type) {
    const TypeInfo* expected = find_type(type);
    return fail(Code::type, "{} has elements of type {}, not {}", name, known->name,
                expected == nullptr ? "that" : expected->name);
  }
  COUPLET_TRY(layout::check_inside(chosen.box, described.shape, name + ": the reader's box"));
  COUPLET_TRY_VALUE(chosen.step_bytes, layout::box_bytes(chosen.box, chosen.element_bytes));
  step_bytes_ += chosen.step_bytes;
  COUPLET_TRY(check_coverage(chosen));
  fields_.push_back(chosen);
  return {};
}

Status Reader::check_coverage(const Field& field) const {
  std::uint64_t covered = 0;
  for (const auto& part : record_.parts) {
    for (const auto& box : part.boxes[field.field]) {
      if (const auto common = layout::intersect(box, field.box)) {
        covered += common->elements();
      }
    }
  }
  const std::uint64_t wanted = field.box.elements();
  if (covered == wanted) {
    return {};
  }
  return fail(Code::shape, "{}: {} of the {} elements of the box {} are written by no rank of program '{}'",
              title_of(field), wanted - std::min(covered, wanted), wanted, layout::to_string(field.box),
              record_.program);
}

// ---- parts ----

// A rank with empty boxes follows the first writer, so that it knows of steps and of the end.
bool Reader::reads_part(std::size_t writer) const {
  const auto& boxes = record_.parts[writer].boxes;
  bool empty = true;
  for (const Field& field : fields_) {
    empty = empty && field.box.empty();
    if (std::any_of(boxes[field.field].begin(), boxes[field.field].end(),
                    [&](const layout::Box& box) { return layout::intersect(box, field.box).has_value(); })) {
      return true;
    }
  }
  return empty && writer == 0;
}

// targets: where they are not dense; else none.
std::vector<Reader::Piece> Reader::pieces_of(const wire::SeriesGeometry& geometry,
                                             std::span<const Target> targets) const {
  std::vector<Piece> pieces;
  for (std::size_t index = 0; index < fields_.size(); ++index) {
    const Field& chosen = fields_[index];
    const auto& all = geometry.fields;
    const auto& name = record_.fields[chosen.field].name;
    const auto field = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    const bool dense = targets.empty() || targets[index].dense;
    const layout::Strides strides =
        dense ? layout::dense_strides(chosen.box, chosen.element_bytes) : targets[index].strides;
    std::uint64_t offset = field->offset_bytes;
    for (const auto& box : boxes_of(*field)) {
      Piece piece{index, layout::plan_copy(box, layout::dense_strides(box, chosen.element_bytes), chosen.box, strides,
                                           chosen.element_bytes)};
      if (piece.plan.run_bytes > 0) {
        piece.plan.source_offset += offset;
        pieces.push_back(piece);
      }
      offset += box.elements() * chosen.element_bytes;
    }
  }
  return pieces;
}

Status Reader::open_sources(std::uint64_t deadline_ns) {
  sources_.clear();
  PartWish wish{{}, options_.mode, options_.from, options_.from_step, options_.buffer_bytes};
  for (const Field& field : fields_) {
    wish.fields.push_back({field.field, field.box});
  }
  for (std::size_t writer = 0; writer < record_.parts.size(); ++writer) {
    if (!reads_part(writer)) {
      continue;
    }
    Result<std::unique_ptr<Part>> part = Code::internal;
    if (parse_place(record_.parts[writer].file)) {
      part = open_window_part(environment_, record_, writer, wish, deadline_ns);
    } else if (record_.parts[writer].node == environment_.node()) {
      part = open_mapped_part(environment_, record_, writer);
    } else {
      part = environment_.open_part(record_, writer, wish, deadline_ns);
    }
    if (!part) {
      return part.status();
    }
    Source source;
    source.file = &(*part)->file();
    source.part = std::move(part).value();
    source.writer = writer;
    source.pieces = pieces_of(source.part->geometry(), {});
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
    // A mirror may show a claim that its writer takes back; such a part has made sure of its hold where the slots are.
    first = source.part->fetches() ? source.part->first_ordinal() : *held;
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
    if (parse_place(record_.parts[writer].file)) {
      COUPLET_TRY(count_opened_in_window(environment_, record_, writer, opened, needed));
      continue;
    }
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
  const std::uint64_t needed = chosen_from(std::max(next_, scanned_));
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
