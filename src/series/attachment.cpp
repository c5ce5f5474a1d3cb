#include "series/attachment.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/counted.hpp"
#include "layout/source_ranges.hpp"
#include "os/clock.hpp"
#include "os/populate.hpp"
#include "series/hold.hpp"
#include "series/slot_protocol.hpp"
#include "series/window_part.hpp"

namespace couplet::series {

Result<std::unique_ptr<Attachment>> Attachment::make(Environment& environment, const ReaderOptions& options,
                                                     universe::SeriesRecord record) {
  std::unique_ptr<Attachment> made(new Attachment(environment, options, std::move(record)));
  COUPLET_TRY(made->check_record());
  COUPLET_TRY(made->choose_fields());
  for (std::size_t writer = 0; writer < made->record_.parts.size(); ++writer) {
    if (made->reads_part(writer)) {
      made->sources_.emplace_back().writer = writer;
    }
  }
  COUPLET_ASSERT(
      !made->sources_.empty());  // a box that nobody writes is refused, an empty one follows the first writer
  return made;
}

Attachment::~Attachment() {
  for (Source& source : sources_) {
    if (source.hold.taken()) {
      give_up_hold(*source.file, source.hold);
    }
  }
}

// ---- connecting ----

Result<std::unique_ptr<Part>> Attachment::open_part(std::size_t writer, From from, std::uint64_t deadline_ns) {
  PartSelection selection{{}, options_.mode, from, options_.from_step, options_.buffer_bytes, options_.latest, 0};
  for (const Source& source : sources_) {
    const Relayed* const relayed = source.part == nullptr ? nullptr : source.part->relayed();
    selection.reader = selection.reader == 0 && relayed != nullptr ? relayed->reader : selection.reader;
  }
  for (const ChosenField& field : fields_) {
    FieldSelection& wanted = selection.fields.emplace_back();
    wanted.field = field.field;
    for (const ReadBox& read : field.reads) {
      wanted.boxes.push_back(read.box);
    }
  }
  if (parse_place(record_.parts[writer].file)) {
    return open_window_part(environment_, record_, writer, selection, deadline_ns);
  }
  if (record_.parts[writer].node == environment_.node()) {
    return open_mapped_part(environment_, record_, writer);
  }
  return environment_.open_part(record_, writer, selection, deadline_ns);
}

namespace {

constexpr std::uint64_t max_gap_bytes = 64 << 10;
constexpr std::size_t max_ranges = 256;

// Returns the parts of a slot that will be read.
std::vector<layout::ByteRange> ranges_of(const std::vector<Piece>& pieces) {
  std::vector<layout::ByteRange> all;
  for (const Piece& piece : pieces) {
    const auto ranges = layout::source_ranges(piece.plan, max_gap_bytes, max_ranges);
    all.insert(all.end(), ranges.begin(), ranges.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<layout::ByteRange> merged;
  for (const auto& range : all) {
    const bool apart = merged.empty() || range.begin > merged.back().end + max_gap_bytes;
    if (apart && merged.size() < max_ranges) {
      merged.push_back(range);
    }
    merged.back().end = std::max(merged.back().end, range.end);
  }
  return merged;
}

// Fills page tables, which takes 290 ms/GiB, so that the first reads need not do it. They do what is not done at the
// deadline.
void populate(const SeriesFile& file, const std::vector<Piece>& pieces, std::uint64_t deadline_ns) {
  for (const auto& range : ranges_of(pieces)) {
    for (std::uint64_t slot = 0; slot < file.slots() && os::now_ns() < deadline_ns; ++slot) {
      os::populate_pages(file.slot(slot) + range.begin, range.end - range.begin, false);
    }
  }
}

}  // namespace

// A part that is not completely open at the deadline is kept for the next call.
Status Attachment::open_source(Source& source, From from, std::uint64_t deadline_ns) {
  if (source.part == nullptr) {
    COUPLET_TRY_VALUE(source.part, open_part(source.writer, from, deadline_ns));
  }
  if (Status opened = source.part->finish_opening(deadline_ns); !opened.ok()) {
    if (opened.code() != Code::timeout && opened.code() != Code::interrupted) {
      source.part.reset();
    }
    return opened;
  }
  source.file = &source.part->file();
  return {};
}

Status Attachment::connect(From from, std::uint64_t deadline_ns) {
  for (Source& source : sources_) {
    if (source.state != Source::State::attaching) {
      continue;
    }
    COUPLET_TRY(open_source(source, from, deadline_ns));
    source.pieces = pieces_of(source.part->geometry(), {});
    if (record_.parts[source.writer].node == environment_.node() && !source.part->fetches()) {
      populate(*source.file, source.pieces, deadline_ns);
    }
    if (options_.mode == Mode::hold) {
      if (Status held = take_hold(source); !held.ok()) {
        source.file = nullptr;
        source.part.reset();
        return held;
      }
    }
    source.state = Source::State::attached;
  }
  return {};
}

Status Attachment::take_hold(Source& source) {
  const Owner owner{.peer = environment_.self(), .incarnation = environment_.incarnation()};
  source.hold = take_hold_entry(*source.file, owner, name_hash(environment_.program()), [&](const Owner& other) {
    return environment_.alive(other.peer, other.incarnation).ok();
  });
  if (!source.hold.taken()) {
    return fail(Code::limit, "{}: writer rank {} has {} already, more do not fit (setting series.{}.holders)", title(),
                source.writer, counted(source.file->reader_entries(), "holder"), record_.name);
  }
  return {};
}

Result<std::uint64_t> Attachment::start_in(Source& source, From from) {
  SeriesFile& file = *source.file;
  COUPLET_TRY(source.part->poll());
  std::uint64_t first = wanted_start(file, from);
  if (source.hold.taken()) {
    auto held = hold_from(file, source.hold, name_hash(environment_.program()), from);
    if (!held) {
      return held.status().within(fmt::format("{}: writer rank {}", title(), source.writer));
    }
    // A part that fetches has checked its hold in the writer's memory. Its mirror may show a claim that is taken back.
    first = source.part->fetches() ? source.part->first_ordinal() : *held;
  }
  first = std::max(first, source.part->first_ordinal());
  if (from != From::step) {
    return first;
  }
  const std::uint64_t published = file.control().published.published.load(std::memory_order_acquire);
  return find_step(file, std::max(first, oldest_retained(published, file.slots())), options_.from_step);
}

Result<std::uint64_t> Attachment::start(From from) {
  std::uint64_t first = 0;
  for (Source& source : sources_) {
    COUPLET_TRY_VALUE(const std::uint64_t own, start_in(source, from));
    first = std::max(first, own);
  }
  if (first > max_ordinal) {
    return fail(Code::protocol, "{}: its control lines say that it begins at ordinal {}", title(), first);
  }
  return first;
}

// ---- looking ----

std::uint64_t published_in(const Source& source) noexcept {
  return source.file->control().published.published.load(std::memory_order_acquire);
}

Status Attachment::poll() {
  for (Source& source : sources_) {
    COUPLET_TRY(source.part->poll());
  }
  return {};
}

Result<Sight> Attachment::look(bool with_oldest) const {
  Sight sight;
  sight.published = UINT64_MAX;
  for (std::size_t index = 0; index < sources_.size(); ++index) {
    const Source& source = sources_[index];
    const auto& control = source.file->control();
    // closed is read first: if it is set, published does not change any more.
    const bool closed = control.published.closed.load(std::memory_order_acquire) != 0;
    const std::uint64_t published = control.published.published.load(std::memory_order_acquire);
    const std::uint64_t claimed = with_oldest ? control.claimed.claimed.load(std::memory_order_acquire) : 0;
    if (published > max_ordinal || claimed > max_ordinal) {
      return fail(Code::protocol, "{}: the control line of writer rank {} says {} steps published, {} claimed", title(),
                  source.writer, published, claimed);
    }
    sight.oldest = std::max(sight.oldest, oldest_retained(claimed, source.file->slots()));
    if (!closed) {
      sight.open = index;
    }
    if (published < sight.published || (published == sight.published && closed)) {
      sight.published = published;
      sight.limiting = index;
      sight.ended = closed;
    }
  }
  sight.oldest = std::min(sight.oldest, sight.published);
  return sight;
}

// The control lines are read again after the writer was found to have ended, since it may have published steps, or
// closed the series, just before its end.
const Source* Attachment::find_lost(std::uint64_t published) {
  for (Source& source : sources_) {
    const auto& control = source.file->control().published;
    if (control.published.load(std::memory_order_acquire) <= published && !source.part->alive().ok() &&
        control.closed.load(std::memory_order_acquire) == 0 &&
        control.published.load(std::memory_order_acquire) <= published) {
      source.state = Source::State::lost;
      return &source;
    }
  }
  return nullptr;
}

Status Attachment::check_holds() const {
  for (const Source& source : sources_) {
    if (!source.hold.taken()) {
      continue;
    }
    const HoldState state = look_at_hold(*source.file, source.hold);
    if (state == HoldState::evicted) {
      return fail(
          Code::evicted,
          "{}: this reader ({}) has kept writer rank {} waiting for longer than evict_after_held_s, and was released",
          title(), environment_.peer_name(environment_.self()), source.writer);
    }
    if (state == HoldState::released) {
      return fail(Code::evicted, "{}: the hold of this reader ({}) on writer rank {} was released by another process",
                  title(), environment_.peer_name(environment_.self()), source.writer);
    }
  }
  return {};
}

void Attachment::release(NeededSteps needed) {
  needed.from = std::min(needed.from, max_ordinal);
  for (Source& source : sources_) {
    if (source.hold.taken()) {
      static_cast<void>(consume(*source.file, source.hold, needed.from));  // check_holds() says if it was released
    }
    source.part->released(needed);
  }
}

std::uint64_t Attachment::claimed() const noexcept {
  std::uint64_t most = 0;
  for (const Source& source : sources_) {
    most = std::max(most, source.file->control().claimed.claimed.load(std::memory_order_acquire));
  }
  return std::min(most, max_ordinal);
}

std::uint64_t Attachment::published() noexcept {
  std::uint64_t least = max_ordinal;
  for (const Source& source : sources_) {
    least = std::min(least, source.part->published());
  }
  return least;
}

// The newest step is the newest one whose number can still be read: the last one may be overwritten at this moment.
Result<Retained> Attachment::retained(const Sight& sight) const {
  std::uint64_t first = sight.oldest;
  for (const Source& source : sources_) {
    first = std::max(first, source.part->first_ordinal());
  }
  const SeriesFile& file = *sources_[sight.limiting].file;
  const std::uint64_t oldest = sight.published > file.slots() ? sight.published - file.slots() : 0;
  for (std::uint64_t end = sight.published; end > oldest; --end) {
    if (const auto step = read_step(file.slot_header(end - 1), end - 1)) {
      return Retained{std::min(first, sight.published), sight.published, *step};
    }
  }
  return Code::not_yet;
}

std::uint64_t Attachment::fewest_slots() const {
  std::uint64_t fewest = record_.slots;
  for (const Source& source : sources_) {
    fewest = std::min(fewest, source.file->slots());
  }
  return fewest;
}

}  // namespace couplet::series
