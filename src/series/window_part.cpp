#include "series/window_part.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <thread>

#include "base/counted.hpp"
#include "series/hold.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

using wire::ReaderState;

constexpr std::string_view place_prefix = "window:";
constexpr const char* route_name = "window";
constexpr std::uint64_t max_ordinal_there = (std::uint64_t{1} << 52) - 1;
constexpr std::uint64_t nap_ns = 50'000;  // between two reads of another rank's memory
constexpr std::uint64_t settle_nap_ns = 1'000'000;
constexpr int quick_looks = 100;  // number of checks before the reader begins to sleep between them

// A copy of a control line, which may change while it is copied.
struct ControlImage {
  std::array<std::uint64_t, sizeof(wire::SeriesControl) / 8> words{};
  [[nodiscard]] std::uint64_t at(std::size_t offset) const noexcept { return words[offset / 8]; }
  [[nodiscard]] std::uint64_t published() const noexcept { return at(offsetof(wire::SeriesPublished, published)); }
  [[nodiscard]] std::uint64_t claimed() const noexcept {
    return at(offsetof(wire::SeriesControl, claimed) + offsetof(wire::SeriesClaimed, claimed));
  }
  [[nodiscard]] std::uint64_t claim() const noexcept {
    return at(offsetof(wire::SeriesControl, claimed) + offsetof(wire::SeriesClaimed, claim));
  }
  [[nodiscard]] bool closed() const noexcept {
    std::uint32_t value = 0;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(words.data()) + offsetof(wire::SeriesPublished, closed),
                sizeof value);
    return value != 0;
  }
};
using LineImage = std::array<std::uint64_t, 8>;  // a copy of an entry or of a slot header

constexpr std::size_t word_of(std::size_t offset) noexcept {
  return offset / 8;
}
constexpr std::size_t stamp_word = word_of(offsetof(wire::SeriesSlotHeader, stamp));
constexpr std::size_t step_word = word_of(offsetof(wire::SeriesSlotHeader, step));
constexpr std::size_t time_word = word_of(offsetof(wire::SeriesSlotHeader, time_bits));
constexpr std::size_t owner_word = word_of(offsetof(wire::SeriesReaderEntry, owner));
constexpr std::size_t consumed_word = word_of(offsetof(wire::SeriesReaderEntry, consumed));
constexpr std::size_t program_word = word_of(offsetof(wire::SeriesReaderEntry, program));

// The reservation of a required program, if there is one.
struct Reservation {
  bool stands = false;
  std::uint64_t consumed = 0;
};

class WindowPart final : public Part {
 public:
  WindowPart(Environment& environment, const WindowPlace& place, std::string title)
      : environment_(environment), window_(*environment.window()), place_(place), title_(std::move(title)) {}
  ~WindowPart() override {
    LineImage entry{};
    if (held_ && get_now(entry_offset(), &entry, sizeof entry).ok() && same_turn(unpack(entry[owner_word]), owner_)) {
      const std::uint64_t nobody = 0;
      static_cast<void>(put_word(entry_offset() + offsetof(wire::SeriesReaderEntry, owner), nobody));
    }
  }

  // Reads the header, and makes a mirror of everything but the slots.
  Status open(const universe::SeriesRecord& record, std::size_t part, const PartSelection& selection) {
    COUPLET_TRY(read_header());
    COUPLET_TRY(check_described(geometry_, record, part, title_));
    wire::SeriesGeometry mirrored = geometry_;
    mirrored.fields.clear();
    for (const FieldSelection& field : selection.fields) {
      mirrored.fields.push_back(geometry_.fields[field.field]);
      mirrored.fields.back().boxes.clear();
    }
    mirrored.reader_entries = 1;
    COUPLET_TRY(wire::place_series(mirrored));
    const std::uint64_t bytes = mirrored.file_bytes;
    COUPLET_TRY_VALUE(std::byte* const data, memory_.reserve(bytes));
    COUPLET_TRY_VALUE(mirror_, SeriesFile::create_in({data, bytes}, std::move(mirrored)));
    COUPLET_TRY(poll());
    return selection.mode == Mode::hold ? hold(selection.from) : Status();
  }
  // Waits until a claim that the writer was making when the hold came is definite or withdrawn, since a rank that
  // fetches cannot take it back.
  Status settle(std::uint64_t deadline_ns) {
    bool writer_gone = false;  // then the claim stays undecided, and nothing further is overwritten
    for (int look = 0; first_ > wanted_start_ && undecided_ && !writer_gone; ++look) {
      if (os::now_ns() > deadline_ns) {
        return fail(Code::timeout,
                    "{}: the writer has not taken notice of this reader's hold in time; it may be stopped", title_);
      }
      window_.progress();
      if (look < quick_looks) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::nanoseconds(settle_nap_ns));
        writer_gone =
            !environment_.alive(geometry_.writer_peer, static_cast<std::uint16_t>(geometry_.writer_incarnation)).ok();
      }
      COUPLET_TRY(look_at_hold());
    }
    first_ = writer_gone && undecided_ ? certain_first_ : first_;
    return {};
  }

  [[nodiscard]] const char* route() const noexcept override { return route_name; }
  [[nodiscard]] SeriesFile& file() noexcept override { return *mirror_; }
  [[nodiscard]] const wire::SeriesGeometry& geometry() noexcept override { return geometry_; }
  [[nodiscard]] std::uint64_t first_ordinal() const noexcept override { return first_; }
  Status alive() override {
    Status there = environment_.alive(geometry_.writer_peer, static_cast<std::uint16_t>(geometry_.writer_incarnation));
    if (!there.ok()) {
      COUPLET_TRY(poll());  // it may have published steps that are not mirrored yet
    }
    return there;
  }
  Status poll() override;
  void released(const NeededSteps& needed) override {
    if (held_ && needed.from > told_consumed_) {
      told_consumed_ = needed.from;
      static_cast<void>(put_word(entry_offset() + offsetof(wire::SeriesReaderEntry, consumed),
                                 pack_consumed(owner_.generation, told_consumed_)));
    }
  }
  Status sleep(Waiting& waiting, std::uint64_t /*target*/) override { return waiting.nap(nap_ns); }
  [[nodiscard]] bool fetches() const noexcept override { return true; }
  Status fetch(const Fetch& fetch) override;

 private:
  [[nodiscard]] std::uint64_t entry_offset() const noexcept {
    return geometry_.readers_offset +
           window_entry(geometry_.reader_entries, window_.size(), window_.rank()) * sizeof(wire::SeriesReaderEntry);
  }
  Status get(std::uint64_t offset, void* target, std::uint64_t bytes) {
    return window_.get(place_.rank, place_.offset + offset, target, bytes);
  }
  Status get_now(std::uint64_t offset, void* target, std::uint64_t bytes) {
    COUPLET_TRY(get(offset, target, bytes));
    return window_.complete(place_.rank);
  }
  Status put_word(std::uint64_t offset, const std::uint64_t& word) {
    COUPLET_TRY(window_.put(place_.rank, place_.offset + offset, &word, sizeof word));
    return window_.complete(place_.rank);
  }
  Status read_header();
  Status get_headers(std::uint64_t begin, std::uint64_t end);
  Status mirror_headers(std::uint64_t begin, std::uint64_t end, ControlImage& control);
  Result<Reservation> find_reservation_there();
  Status hold(From from);
  void mirror_release(const Owner& now);
  Status look_at_hold();
  Status get_data(const Fetch& fetch);

  Environment& environment_;
  Window& window_;
  WindowPlace place_;
  std::string title_;
  wire::SeriesGeometry geometry_;  // that of the writer's slots
  os::MemoryBlock memory_;
  std::unique_ptr<SeriesFile> mirror_;
  struct {
    std::vector<LineImage> lines;
    ControlImage control;
  } got_;                            // where a fetch writes, which MPI may still do after an error
  bool held_ = false;                // this rank holds, and poll() has not seen a release
  Owner owner_;                      // the owner of the entry while it is held
  bool undecided_ = false;           // the claim was tentative when first_ was found
  std::uint64_t certain_first_ = 0;  // first_ if the claim is withdrawn
  std::uint64_t wanted_start_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t told_consumed_ = 0;
};

Status WindowPart::read_header() {
  wire::SeriesHeaderImage image{};
  COUPLET_TRY(get_now(0, &image, sizeof image));
  const std::uint64_t header_bytes = std::max<std::uint64_t>(image.header_bytes, wire::series_page_bytes);
  if (header_bytes > wire::series_largest_header || image.file_bytes > place_.bytes || header_bytes > place_.bytes) {
    return fail(Code::protocol, "{}: there is no series at the place that the register describes", title_);
  }
  std::vector<std::byte> bytes(header_bytes);
  COUPLET_TRY(get_now(0, bytes.data(), bytes.size()));
  auto decoded = wire::decode_series_header(bytes, image.file_bytes);
  if (!decoded) {
    return decoded.status().within(title_);
  }
  geometry_ = std::move(decoded).value();
  if (geometry_.reader_entries < static_cast<std::uint32_t>(window_.size())) {
    return fail(Code::protocol, "{}: its reader table has fewer entries than the MPI job has ranks", title_);
  }
  return {};
}

// Gets the slot headers of these ordinals into got_.lines.
Status WindowPart::get_headers(std::uint64_t begin, std::uint64_t end) {
  got_.lines.resize(end - begin);
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t slot = at % geometry_.slot_count;
    const std::uint64_t count = std::min(end - at, geometry_.slot_count - slot);
    COUPLET_TRY(get(geometry_.slot_headers_offset + slot * sizeof(wire::SeriesSlotHeader), &got_.lines[at - begin],
                    count * sizeof(LineImage)));
    at += count;
  }
  return window_.complete(place_.rank);
}

// Mirrors the stamps and labels of published ordinals. A get copies words in any order, so that a stamp may come with
// the label of the step that replaces the ordinal. But the writer claims a step before it changes the label that it
// replaces: if the step was not claimed when the claim was read afterwards, the label is the ordinal's own. A holder's
// steps are not replaced.
Status WindowPart::mirror_headers(std::uint64_t begin, std::uint64_t end, ControlImage& control) {
  COUPLET_TRY(get_headers(begin, end));
  if (!held_) {
    COUPLET_TRY(get_now(geometry_.control_offset, &control, sizeof control));
  }
  const std::uint64_t oldest = held_ ? 0 : oldest_retained(control.claimed(), geometry_.slot_count);
  for (std::uint64_t ordinal = begin; ordinal < end; ++ordinal) {
    const LineImage& line = got_.lines[ordinal - begin];
    auto& header = mirror_->slot_header(ordinal);
    header.step.store(static_cast<std::int64_t>(line[step_word]), std::memory_order_relaxed);
    header.time_bits.store(line[time_word], std::memory_order_relaxed);
    const std::uint64_t replaced = stamp_writing(ordinal + geometry_.slot_count);
    header.stamp.store(ordinal < oldest ? replaced : line[stamp_word], std::memory_order_relaxed);
  }
  return {};
}

Status WindowPart::poll() {
  ControlImage control;
  LineImage entry{};
  COUPLET_TRY(get(geometry_.control_offset, &control, sizeof control));
  if (held_) {
    COUPLET_TRY(get(entry_offset(), &entry, sizeof entry));
  }
  COUPLET_TRY(window_.complete(place_.rank));
  auto& mirrored = mirror_->control();
  const bool closed = control.closed();
  if (closed && mirrored.published.closed.load(std::memory_order_relaxed) == 0) {
    // Before it closed, the writer may have published steps that the first get has not seen.
    COUPLET_TRY(get_now(geometry_.control_offset, &control, sizeof control));
  }
  const std::uint64_t known = mirrored.published.published.load(std::memory_order_relaxed);
  const std::uint64_t published = control.published();
  if (published > max_ordinal_there) {
    return fail(Code::protocol, "{}: its control line says {} steps published", title_, published);
  }
  if (published > known) {
    COUPLET_TRY(mirror_headers(std::max(known, oldest_retained(published, geometry_.slot_count)), published, control));
    mirrored.published.published.store(published, std::memory_order_release);
  }
  mirrored.claimed.claimed.store(std::max(control.claimed(), published), std::memory_order_release);
  if (closed) {
    mirrored.published.closed.store(1, std::memory_order_release);
  }
  if (held_ && entry[owner_word] != pack(owner_)) {
    held_ = false;
    mirror_release(unpack(entry[owner_word]));
  }
  return {};
}

// ---- holding ----

// Notes in the mirror, where the reader checks its hold, what has become of the hold in the writer's table.
void WindowPart::mirror_release(const Owner& now) {
  auto& own = mirror_->readers()[0];
  Owner left = owner_of(own);
  left.state = ReaderState::evicted;
  const bool evicted = same_turn(now, owner_) && now.state == ReaderState::evicted;
  own.owner.store(evicted ? pack(left) : 0, std::memory_order_release);
}

Result<Reservation> WindowPart::find_reservation_there() {
  const std::uint32_t others = geometry_.reader_entries - static_cast<std::uint32_t>(window_.size());
  std::vector<LineImage> entries(others);
  if (others > 0) {
    COUPLET_TRY(get_now(geometry_.readers_offset, entries.data(), others * sizeof(LineImage)));
  }
  const std::uint64_t program = name_hash(environment_.program());
  for (const LineImage& entry : entries) {
    if (unpack(entry[owner_word]).state == ReaderState::reserved && entry[program_word] == program) {
      return Reservation{true, consumed_ordinals(entry[consumed_word])};
    }
  }
  return Reservation{};
}

Status WindowPart::hold(From from) {
  LineImage entry{};
  COUPLET_TRY(get_now(entry_offset(), &entry, sizeof entry));
  if (unpack(entry[owner_word]).state == ReaderState::holding) {
    return fail(Code::limit, "{}: this rank holds the series already; in a window, a rank can hold a series only once",
                title_);
  }
  COUPLET_TRY_VALUE(const Reservation reservation, find_reservation_there());
  wanted_start_ = wanted_start(*mirror_, from);
  const bool all = from == From::oldest || from == From::step;
  if (reservation.stands && all) {
    wanted_start_ = std::min(wanted_start_, reservation.consumed);
  }
  owner_ = {environment_.self(), environment_.incarnation(), ReaderState::holding,
            generation_after(consumed_generation(entry[consumed_word]))};
  COUPLET_TRY(put_word(entry_offset() + offsetof(wire::SeriesReaderEntry, program), name_hash(environment_.program())));
  COUPLET_TRY(put_word(entry_offset() + offsetof(wire::SeriesReaderEntry, consumed),
                       pack_consumed(owner_.generation, wanted_start_)));
  COUPLET_TRY(put_word(entry_offset() + offsetof(wire::SeriesReaderEntry, owner), pack(owner_)));
  told_consumed_ = wanted_start_;
  held_ = true;
  return look_at_hold();
}

// Finds the ordinal from which on the hold came in time.
Status WindowPart::look_at_hold() {
  ControlImage control;
  COUPLET_TRY(get_now(geometry_.control_offset, &control, sizeof control));
  const std::uint64_t claim = control.claim();
  const auto first_after = [&](std::uint64_t claimed) {
    return std::max(wanted_start_, oldest_retained(std::max(claimed, control.claimed()), geometry_.slot_count));
  };
  undecided_ = is_tentative(claim);
  certain_first_ = first_after(certainly_claimed(claim));
  first_ = first_after(possibly_claimed(claim));
  return poll();
}

// ---- fetching ----

Status WindowPart::fetch(const Fetch& fetch) {
  const std::uint64_t begin = fetch.ordinals.front();
  const std::uint64_t end = fetch.ordinals.back() + 1;
  COUPLET_TRY(get_headers(begin, end));
  for (std::size_t at = 0; at < fetch.ordinals.size(); ++at) {
    const LineImage& line = got_.lines[fetch.ordinals[at] - begin];
    fetch.looks[at] = {line[stamp_word], 0, static_cast<std::int64_t>(line[step_word]), line[time_word]};
  }
  COUPLET_TRY(get_data(fetch));
  // The control line shows how far the writer has come meanwhile, on which a follower's pace depends.
  COUPLET_TRY(get(geometry_.control_offset, &got_.control, sizeof got_.control));
  COUPLET_TRY(get_headers(begin, end));
  auto& claimed = mirror_->control().claimed.claimed;
  claimed.store(std::max(got_.control.claimed(), claimed.load(std::memory_order_relaxed)), std::memory_order_release);
  for (std::size_t at = 0; at < fetch.ordinals.size(); ++at) {
    const std::uint64_t ordinal = fetch.ordinals[at];
    Fetch::Look& look = fetch.looks[at];
    look.stamp_after = got_.lines[ordinal - begin][stamp_word];
    if (look.stamp_after == stamp_there(ordinal)) {
      continue;
    }
    // The step was replaced meanwhile, and the label may be that of its successor: the one mirrored before is its own.
    const auto label = read_label(mirror_->slot_header(ordinal), ordinal);
    look.stamp_before = label ? look.stamp_before : look.stamp_after;
    look.step = label ? label->step : 0;
    look.time_bits = label ? label->time_bits : wire::no_time;
  }
  return {};
}

// Gets the data with as few calls as possible: one for steps at equal distances whose slots follow each other.
Status WindowPart::get_data(const Fetch& fetch) {
  const auto there = [&](std::size_t at) { return fetch.looks[at].stamp_before == stamp_there(fetch.ordinals[at]); };
  for (std::size_t at = 0; at < fetch.ordinals.size();) {
    if (!there(at)) {
      ++at;
      continue;
    }
    const std::uint64_t slot = fetch.ordinals[at] % geometry_.slot_count;
    std::uint64_t distance = 1;
    std::size_t count = 1;
    for (; at + count < fetch.ordinals.size() && there(at + count); ++count) {
      const std::uint64_t next = fetch.ordinals[at + count] - fetch.ordinals[at + count - 1];
      distance = count == 1 ? next : distance;
      if (next != distance || slot + count * distance >= geometry_.slot_count) {
        break;
      }
    }
    for (const Fetch::Piece& piece : fetch.pieces) {
      const WindowSteps steps{.source_offset = place_.offset + geometry_.slots_offset + slot * geometry_.slot_stride,
                              .source_step = distance * geometry_.slot_stride,
                              .target = piece.target + static_cast<std::int64_t>(at) * piece.target_step,
                              .target_step = piece.target_step,
                              .count = count,
                              .plan = piece.plan};
      COUPLET_TRY(window_.get_steps(place_.rank, steps));
    }
    at += count;
  }
  return window_.complete(place_.rank);
}

Result<WindowPlace> place_for(Environment& environment, const universe::SeriesRecord& record, std::size_t part,
                              const std::string& title) {
  const auto place = parse_place(record.parts[part].file);
  Window* const window = environment.window();
  if (!place) {
    return fail(Code::protocol, "{}: '{}' is not a place in a window", title, record.parts[part].file);
  }
  if (window == nullptr) {
    return fail(
        Code::unsupported,
        "{} are in the window of an MPI job, but this process has joined without one (set COUPLET_MPI_WINDOW_BYTES)",
        title);
  }
  if (window->job() != place->job && window->has(record.parts[part].writer)) {
    return fail(Code::not_found,
                "{} were in the window of an earlier launch of this MPI job; program '{}' has not created the series "
                "again in time",
                title, record.program);
  }
  if (window->job() != place->job) {
    return fail(Code::unsupported, "{} are in the window of another MPI job; only ranks of the same job can read them",
                title);
  }
  if (place->rank < 0 || place->rank >= window->size()) {
    return fail(Code::protocol, "{}: the register says that they are on rank {} of an MPI job with {}", title,
                place->rank, counted(window->size(), "rank"));
  }
  return *place;
}

// Returns the slots if they are mapped here; nullptr if they must be fetched.
Result<std::unique_ptr<SeriesFile>> mapped_slots(const Window& window, const WindowPlace& place,
                                                 const std::string& title) {
  std::byte* const memory = window.memory_of(place.rank, place.offset, place.bytes);
  if (memory == nullptr) {
    return std::unique_ptr<SeriesFile>();
  }
  auto file = SeriesFile::open_in({memory, place.bytes}, static_cast<std::uint32_t>(window.size()));
  return file ? std::move(file) : Result<std::unique_ptr<SeriesFile>>(file.status().within(title));
}

std::string title_of(const universe::SeriesRecord& record, std::size_t part) {
  return fmt::format("series '{}', slots of writer rank {}", record.name, part);
}

}  // namespace

std::string place_text(const WindowPlace& place) {
  return fmt::format("{}{:016x}:{}:{}:{}", place_prefix, place.job, place.rank, place.offset, place.bytes);
}

std::optional<WindowPlace> parse_place(std::string_view text) {
  if (!text.starts_with(place_prefix)) {
    return std::nullopt;
  }
  const char* at = text.data() + place_prefix.size();
  const char* const end = text.data() + text.size();
  const auto number = [&](auto& value, int base, bool last) {
    const auto result = std::from_chars(at, end, value, base);
    const bool good = result.ec == std::errc() && (last ? result.ptr == end : result.ptr != end && *result.ptr == ':');
    at = last || !good ? result.ptr : result.ptr + 1;
    return good;
  };
  WindowPlace place;
  if (number(place.job, 16, false) && number(place.rank, 10, false) && number(place.offset, 10, false) &&
      number(place.bytes, 10, true)) {
    return place;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Part>> open_window_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part, const PartSelection& selection,
                                               std::uint64_t deadline_ns) {
  const std::string title = title_of(record, part);
  COUPLET_TRY_VALUE(const WindowPlace place, place_for(environment, record, part, title));
  COUPLET_TRY_VALUE(auto mapped, mapped_slots(*environment.window(), place, title));
  if (mapped) {
    COUPLET_TRY(check_described(mapped->geometry(), record, part, title));
    return make_mapped_part(environment, std::move(mapped), route_name);
  }
  auto made = std::make_unique<WindowPart>(environment, place, title);
  COUPLET_TRY(made->open(record, part, selection));
  COUPLET_TRY(made->settle(deadline_ns));
  return std::unique_ptr<Part>(std::move(made));
}

}  // namespace couplet::series
