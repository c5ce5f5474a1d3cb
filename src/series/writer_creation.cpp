// Collective creation: the writers exchange proposals, check them all in the same way, and make their files; then the
// first rank announces the series. If one rank fails, all fail, and the files are removed.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>
#include <type_traits>

#include "base/counted.hpp"
#include "base/types.hpp"
#include "layout/overlap.hpp"
#include "layout/type_handles.hpp"
#include "os/futex.hpp"
#include "os/host.hpp"
#include "series/collective.hpp"
#include "series/slot_protocol.hpp"
#include "series/window.hpp"
#include "series/writer.hpp"
#include "series/writer_proposal.hpp"
#include "universe/series_record.hpp"

namespace couplet::series {

namespace {

constexpr std::uint64_t default_memory_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t max_default_slots = 4096;  // if nobody has said how much memory there is
constexpr std::uint32_t default_holders = 64;
constexpr double withdraw_s = 1;  // how long to wait until the hub knows that a creation has failed
constexpr std::size_t longest_field_name = wire::series_field_name_bytes - 1;

// Returns "series 'sky'", with the name of the field if it has one.
std::string title_of(const std::string& series, const FieldSpecification& field) {
  return field.name.empty() ? fmt::format("series '{}'", series)
                            : fmt::format("series '{}', field '{}'", series, field.name);
}

Status check_field(const std::string& series, const FieldSpecification& field) {
  const std::string title = title_of(series, field);
  const TypeInfo* type = find_type(field.type);
  if (type == nullptr) {
    return fail(Code::type, "{}: {}", title, layout::why_no_element(field.type));
  }
  if (field.shape.empty() || field.shape.size() > layout::max_dimensions) {
    return fail(Code::shape, "{}: {} dimensions, 1 to {} are possible", title, field.shape.size(),
                layout::max_dimensions);
  }
  for (const std::int64_t extent : field.shape) {
    if (extent <= 0) {
      return fail(Code::shape, "{}: an extent of its shape is {}; it must be at least 1", title, extent);
    }
  }
  for (const auto& box : field.boxes) {
    COUPLET_TRY(layout::check_inside(box, field.shape, title + ": the writer's box"));
    if (Status status = layout::box_bytes(box, type->element_bytes).status(); !status.ok()) {
      return status.within(title);
    }
  }
  return {};
}

Status check_specification(const WriterSpecification& specification) {
  const auto& name = specification.name;
  const auto& fields = specification.fields;
  COUPLET_TRY(universe::check_series_name(name));
  if (fields.empty() || fields.size() > wire::series_most_fields) {
    return fail(Code::limit, "series '{}': {} fields, 1 to {} are possible", name, fields.size(),
                wire::series_most_fields);
  }
  std::size_t boxes = 0;
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (!(fields.size() == 1 && fields[index].name.empty()) &&
        !universe::is_name(fields[index].name, longest_field_name)) {
      return fail(Code::argument, "series '{}': field {} needs a name of 1 to {} bytes without control characters",
                  name, index, longest_field_name);
    }
    for (std::size_t other = 0; other < index; ++other) {
      if (fields[other].name == fields[index].name) {
        return fail(Code::argument, "series '{}' has two fields '{}'", name, fields[index].name);
      }
    }
    COUPLET_TRY(check_field(name, fields[index]));
    boxes += fields[index].boxes.size();
  }
  if (boxes > wire::series_most_boxes) {
    return fail(Code::limit, "series '{}': this writer rank has {} boxes; at most {} are possible", name, boxes,
                wire::series_most_boxes);
  }
  return {};
}

struct OwnedBox {
  std::size_t rank = 0;
  layout::Box box;
};

// Returns two boxes of a field that share an element, the one of the lower rank first; nothing if there are none.
std::optional<std::pair<OwnedBox, OwnedBox>> find_overlap(const std::vector<Proposal>& proposals, std::size_t field) {
  std::vector<layout::Box> boxes;
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < proposals.size(); ++rank) {
    const auto& own = proposals[rank].specification.fields[field].boxes;
    boxes.insert(boxes.end(), own.begin(), own.end());
    ranks.resize(boxes.size(), rank);
  }
  const auto found = layout::find_overlap(boxes);
  if (!found) {
    return std::nullopt;
  }
  return std::pair(OwnedBox{ranks[found->first], boxes[found->first]},
                   OwnedBox{ranks[found->second], boxes[found->second]});
}

Status check_fields_agree(const std::string& series, const std::vector<FieldSpecification>& first,
                          const std::vector<FieldSpecification>& other, std::size_t rank) {
  if (first.size() != other.size()) {
    return fail(Code::mismatch, "series '{}' has {} on writer rank 0 and {} on rank {}", series,
                counted(first.size(), "field"), other.size(), rank);
  }
  for (std::size_t index = 0; index < first.size(); ++index) {
    const std::string title = title_of(series, first[index]);
    if (other[index].name != first[index].name) {
      return fail(Code::mismatch, "series '{}': field {} is '{}' on writer rank 0 and '{}' on rank {}", series, index,
                  first[index].name, other[index].name, rank);
    }
    if (other[index].type != first[index].type) {
      return fail(Code::mismatch, "{} has type {} on writer rank 0 and type {} on rank {}", title,
                  find_type(first[index].type)->name, find_type(other[index].type)->name, rank);
    }
    if (other[index].shape != first[index].shape) {
      return fail(Code::mismatch, "{} has shape ({}) on writer rank 0 and ({}) on rank {}", title,
                  fmt::join(first[index].shape, ", "), fmt::join(other[index].shape, ", "), rank);
    }
  }
  return {};
}

Status check_agreement(const std::vector<Proposal>& proposals) {
  const auto& first = proposals.front().specification;
  for (std::size_t rank = 1; rank < proposals.size(); ++rank) {
    const auto& other = proposals[rank].specification;
    if (other.name != first.name) {
      return fail(Code::mismatch, "writer rank 0 creates series '{}', rank {} creates series '{}'", first.name, rank,
                  other.name);
    }
    COUPLET_TRY(check_fields_agree(first.name, first.fields, other.fields, rank));
    if (proposals[rank].in_window != proposals.front().in_window) {
      return fail(Code::mismatch, "series '{}' is in the window of the MPI job on writer rank {}, but not on rank {}",
                  first.name, proposals.front().in_window ? 0 : rank, proposals.front().in_window ? rank : 0);
    }
    if (proposals[rank].collective != proposals.front().collective) {
      return fail(Code::mismatch, "series '{}' is written collectively on writer rank {}, but not on rank {}",
                  first.name, proposals.front().collective ? 0 : rank, proposals.front().collective ? rank : 0);
    }
    if (proposals[rank].required_readers != proposals.front().required_readers) {
      return fail(Code::mismatch, "series '{}' requires the readers ({}) on writer rank 0 and ({}) on rank {}",
                  first.name, fmt::join(proposals.front().required_readers, ", "),
                  fmt::join(proposals[rank].required_readers, ", "), rank);
    }
  }
  for (std::size_t field = 0; field < first.fields.size(); ++field) {
    if (const auto overlap = find_overlap(proposals, field)) {
      return fail(Code::shape, "{}: the boxes {} of writer rank {} and {} of rank {} overlap",
                  title_of(first.name, first.fields[field]), layout::to_string(overlap->first.box), overlap->first.rank,
                  layout::to_string(overlap->second.box), overlap->second.rank);
    }
  }
  return {};
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::size_t first = text.find_first_not_of(' ', at);
    if (first < end) {
      const std::size_t last = text.find_last_not_of(' ', end - 1);
      names.push_back(text.substr(first, last - first + 1));
    }
    at = end + 1;
  }
  return names;
}

// A name that is given twice is one program, for which steps are kept once.
void remove_repeated(std::vector<std::string>& names) {
  for (auto at = names.begin(); at != names.end();) {
    at = std::find(names.begin(), at, *at) == at ? at + 1 : names.erase(at);
  }
}

// Settings of one series.
class SeriesSettings {
 public:
  SeriesSettings(const Environment& environment, const std::string& name) : environment_(environment), name_(name) {}

  template <typename Number>
  Status take(std::string_view key, Number& value) const {
    const std::string full_key = fmt::format("series.{}.{}", name_, key);
    const std::string text = environment_.setting(full_key);
    if (text.empty()) {
      return {};
    }
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    bool sound = result.ec == std::errc() && result.ptr == text.data() + text.size();
    if constexpr (std::is_floating_point_v<Number>) {
      sound = sound && !std::isnan(value);
    }
    if (!sound) {
      return fail(Code::config, "setting {}: '{}' is not a number, or is out of range",
                  environment_.setting_read(full_key), text);
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> required_readers() const {
    std::string text = environment_.setting(fmt::format("series.{}.required_readers", name_));
    return split_names(text.empty() ? environment_.setting(fmt::format("required_readers.{}", name_)) : text);
  }

 private:
  const Environment& environment_;
  const std::string& name_;
};

}  // namespace

class WriterCreation {
 public:
  WriterCreation(Environment& environment, message::Team& team, const WriterSpecification& specification,
                 const WriterOptions& options, std::uint64_t deadline_ns)
      : environment_(environment),
        team_(team),
        specification_(specification),
        options_(options),
        deadline_ns_(deadline_ns) {}

  // If there is no memory, this rank leaves the sequence, and the others are told.
  Result<std::unique_ptr<Writer>> run(const Status& refusal) {
    try {
      return make(refusal);
    } catch (const std::bad_alloc&) {
      Status why = fail(Code::memory, "writer rank {}: there is not enough memory to create series '{}'", team_.rank(),
                        specification_.name);
      team_.leave(why);
      end_failed(why);
      return why;
    }
  }

 private:
  Result<std::unique_ptr<Writer>> make(const Status& refusal) {
    const Status prepared = refusal.ok() ? prepare() : refusal;
    COUPLET_TRY(agree_on_status(team_, prepared, preparing_series, deadline_ns_));
    COUPLET_TRY(exchange());
    Status made = environment_.registry().creating(record_.name, record_.creation);
    made = made.ok() ? make_file() : made;
    // A rank that has failed by itself knows that the first one will not announce the series.
    announcement_.stage = made.ok() ? Stage::agreeing : Stage::before;
    Status status = agree_on_status(team_, made, making_series, deadline_ns_);
    if (status.ok()) {
      announcement_.stage = Stage::announcing;
      status = exchange_places();
    }
    if (status.ok()) {
      status = announce();
    }
    if (!status.ok()) {
      end_failed(status);
      return status;
    }
    file_->control().claimed.incarnation.store(*announcement_.incarnation, std::memory_order_release);
    remove_superseded(environment_, record_.name, *announcement_.incarnation);
    std::unique_ptr<Writer> writer(new Writer(environment_, std::move(file_), std::move(settings_)));
    writer->team_ = options_.collective && team_.size() > 1 ? &team_ : nullptr;
    return writer;
  }

  // Checks and chooses everything that this rank can decide alone.
  Status prepare() {
    COUPLET_TRY(check_specification(specification_));
    const SeriesSettings given(environment_, specification_.name);
    std::uint64_t memory_bytes = options_.memory_bytes;
    own_.slots = options_.slots;
    settings_.required_timeout_s = options_.required_timeout_s;
    settings_.wait_timeout_s = options_.wait_timeout_s;
    settings_.evict_after_held_s = options_.evict_after_held_s;
    std::uint64_t holders = options_.holders;
    if (own_.slots == 0) {
      COUPLET_TRY(given.take("slots", own_.slots));
    }
    if (memory_bytes == 0) {
      COUPLET_TRY(given.take("memory_bytes", memory_bytes));
    }
    if (settings_.required_timeout_s < 0) {
      COUPLET_TRY(given.take("required_timeout_s", settings_.required_timeout_s));
    }
    if (settings_.wait_timeout_s < 0) {
      COUPLET_TRY(given.take("wait_timeout_s", settings_.wait_timeout_s));
    }
    if (settings_.evict_after_held_s < 0) {
      COUPLET_TRY(given.take("evict_after_held_s", settings_.evict_after_held_s));
    }
    if (holders == 0) {
      COUPLET_TRY(given.take("holders", holders));
    }
    COUPLET_TRY(given.take("linger_s", own_.linger_s));
    if (!std::isfinite(own_.linger_s)) {
      return fail(Code::config, "setting series.{}.linger_s must be a finite number of seconds, not {}",
                  specification_.name, own_.linger_s);
    }
    COUPLET_TRY(given.take("streaming_bytes", settings_.streaming_bytes));
    settings_.required_deadline_ns = os::deadline_after(settings_.required_timeout_s);
    settings_.required_readers = options_.required_readers ? *options_.required_readers : given.required_readers();
    remove_repeated(settings_.required_readers);
    COUPLET_TRY(check_required());
    std::uint32_t in_window = 0;
    COUPLET_TRY(given.take("window", in_window));
    COUPLET_TRY(in_window != 0 ? choose_window() : Status());
    holders_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(holders == 0 ? default_holders : holders, UINT32_MAX));
    far_entries_ = window_ != nullptr ? static_cast<std::uint32_t>(window_->size()) : 0;
    COUPLET_TRY_VALUE(const std::uint64_t slot_bytes, slot_bytes_of());
    if (own_.slots == 0) {
      const std::uint64_t bytes = memory_bytes == 0 ? default_memory_bytes : memory_bytes;
      own_.slots = std::max<std::uint64_t>(bytes / slot_bytes, 2);
      own_.slots = memory_bytes == 0 ? std::min(own_.slots, max_default_slots) : own_.slots;
    }
    COUPLET_TRY_VALUE(const std::uint64_t unique, os::random_bits());
    own_.specification = specification_;
    own_.required_readers = settings_.required_readers;
    own_.peer = environment_.self();
    own_.incarnation = environment_.incarnation();
    own_.node = environment_.node();
    own_.creation = unique;
    own_.file = fmt::format("{}{:08x}-{:016x}", file_prefix(specification_.name), own_.peer, unique);
    own_.in_window = window_ != nullptr;
    own_.collective = options_.collective;
    return {};
  }

  Status choose_window() {
    window_ = environment_.window();
    if (window_ != nullptr) {
      return {};
    }
    return fail(Code::unsupported,
                "series '{}' is to be in the window of the MPI job, but this process has joined without one "
                "(set COUPLET_MPI_WINDOW_BYTES)",
                specification_.name);
  }
  // Reserves memory for the number of slots on which the ranks have agreed.
  Status reserve_window() {
    wire::SeriesGeometry geometry = geometry_of(record_.slots);
    COUPLET_TRY(wire::place_series(geometry));
    auto piece = window_->reserve(geometry.file_bytes);
    if (!piece) {
      return piece.status().within(
          fmt::format("series '{}' with {}", specification_.name, counted(record_.slots, "slot")));
    }
    window_piece_ = *piece;
    window_memory_ = {piece->data, geometry.file_bytes};
    own_.file = place_text({window_->job(), window_->rank(), piece->offset, geometry.file_bytes});
    return {};
  }

  // In a window each rank knows only now where its slots lie; all are in one, or none is (check_agreement).
  Status exchange_places() {
    if (window_ == nullptr) {
      return {};
    }
    COUPLET_TRY_VALUE(const auto places, team_.gather(own_.file, deadline_ns_));
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      record_.parts[rank].file = places[rank];
    }
    return {};
  }

  // Nobody knows what this rank has made, or was told that it has ended.
  void give_back() {
    if (file_) {
      static_cast<void>(file_->remove());
    }
    if (window_piece_) {
      window_->give_back(*window_piece_);
    }
  }

  // Readers may know the series already. They are told that it has ended, and the memory in the window stays theirs.
  void tell_readers() noexcept {
    if (file_) {
      series::close(file_->control().published);
      os::futex_wake(file_->control().published.word);
    }
    window_piece_.reset();
  }

  [[nodiscard]] wire::SeriesGeometry geometry_of(std::uint64_t slots) const {
    wire::SeriesGeometry geometry;
    geometry.name = specification_.name;
    geometry.program = environment_.program();
    for (const auto& field : specification_.fields) {
      geometry.fields.push_back(make_field(field.name, field.type, field.shape, field.boxes));
    }
    geometry.slot_count = slots;
    geometry.reader_entries = holders_ + far_entries_;
    return geometry;
  }
  Result<std::uint64_t> slot_bytes_of() const {
    wire::SeriesGeometry geometry = geometry_of(1);
    COUPLET_TRY(wire::place_series(geometry));
    return std::max<std::uint64_t>(geometry.slot_stride, wire::series_page_bytes);
  }

  Status check_required() const {
    for (const auto& name : settings_.required_readers) {
      const Status known = environment_.program_alive(name);
      if (known.code() == Code::not_found) {
        return known.within(fmt::format("series '{}' requires a reader", specification_.name));
      }
    }
    return {};
  }

  // All proposals reach all ranks, which check them in the same way and so come to the same answer.
  Status exchange() {
    COUPLET_TRY_VALUE(const auto texts, team_.gather(encode_proposal(own_), deadline_ns_));
    std::vector<Proposal> proposals;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      COUPLET_TRY_VALUE(auto proposal, decode_proposal(texts[rank], rank));
      proposals.push_back(std::move(proposal));
    }
    COUPLET_TRY(check_agreement(proposals));
    record_.name = specification_.name;
    record_.program = environment_.program();
    for (const auto& field : specification_.fields) {
      record_.fields.push_back({field.name, field.type, field.shape});
    }
    record_.required_readers = settings_.required_readers;
    record_.linger_s = proposals.front().linger_s;
    record_.creation = proposals.front().creation;
    record_.slots = UINT64_MAX;
    for (const Proposal& proposal : proposals) {
      record_.slots = std::min(record_.slots, proposal.slots);
      auto& part = record_.parts.emplace_back();
      part.writer = proposal.peer;
      part.writer_incarnation = proposal.incarnation;
      part.node = proposal.node;
      part.file = proposal.file;
      for (const auto& field : proposal.specification.fields) {
        part.boxes.push_back(field.boxes);
      }
    }
    return {};
  }

  Status make_file() {
    if (window_ != nullptr) {
      COUPLET_TRY(reserve_window());
    }
    wire::SeriesGeometry geometry = geometry_of(record_.slots);
    geometry.writer_peer = own_.peer;
    geometry.writer_incarnation = environment_.incarnation();
    geometry.writer_rank = team_.rank();
    geometry.writer_count = team_.size();
    if (settings_.required_readers.size() > holders_) {
      return fail(Code::limit, "series '{}': {} not fit into a table of {}", record_.name,
                  counted(settings_.required_readers.size(), "required reader does", "required readers do"),
                  counted(holders_, "holder"));
    }
    auto file = window_ != nullptr
                    ? SeriesFile::create_in(window_memory_, std::move(geometry))
                    : SeriesFile::create(environment_.node_directory() + "/" + own_.file, std::move(geometry));
    if (!file) {
      return file.status().within(fmt::format("series '{}' with {}", record_.name, counted(record_.slots, "slot")));
    }
    file_ = std::move(file).value();
    const Owner owner{.peer = own_.peer, .incarnation = environment_.incarnation()};
    for (const auto& name : settings_.required_readers) {
      const Hold taken = take_entry(file_->control(), file_->readers(), file_->reader_entries(), owner);
      auto& entry = file_->readers()[taken.entry];
      entry.program.store(name_hash(name), std::memory_order_relaxed);
      Owner reserved = taken.owner;
      reserved.state = wire::ReaderState::reserved;
      entry.owner.store(pack(reserved), std::memory_order_release);
    }
    if (window_ != nullptr) {
      file_->control().released.entries_used.store(holders_ + far_entries_, std::memory_order_release);
      settings_.far_entries = far_entries_;
    }
    return {};
  }

  Status announce() {
    Status status;
    std::string answer;
    if (team_.rank() == 0) {
      auto record = environment_.registry().announce(record_, deadline_ns_);
      status = record.status();
      answer = record ? std::to_string(record->incarnation) : std::string();
    }
    if (!answer.empty()) {
      note_incarnation(answer);
    }
    status = agree_on_status(team_, status, announcing_series, deadline_ns_);
    Result<std::vector<std::string>> answers = status.ok() ? team_.gather(answer, deadline_ns_) : status;
    if (answers) {
      note_incarnation(answers->front());
      environment_.registry().created(record_.name, record_.creation, announcement_.incarnation);
      return {};
    }
    return answers.status();
  }

  // If the series may have been announced, readers that have found it are told that it has ended, and the hub that this
  // rank does not write it: the name must not stay taken by a series without writers. That the name is taken does not
  // say that this series was never announced, since the announcement may have been repeated to another hub. But nobody
  // waits for that name, so the hub's answer is not awaited, and memory in the window is given back.
  void end_failed(const Status& why) {
    if (!may_be_announced()) {
      environment_.registry().created(record_.name, record_.creation, std::nullopt);
      return give_back();
    }
    const bool is_taken = why.code() == Code::exists;
    if (!is_taken || window_ == nullptr) {
      tell_readers();
    }
    give_back();
    environment_.registry().withdraw(record_.name, record_.creation,
                                     is_taken ? universe::unanswered : os::deadline_after(withdraw_s));
  }

  // What is in a window is announced once all ranks have told their places.
  [[nodiscard]] bool may_be_announced() const {
    const bool agreeing = announcement_.stage == Stage::agreeing && window_ == nullptr;
    return agreeing || announcement_.stage == Stage::announcing;
  }

  void note_incarnation(const std::string& number) {
    std::from_chars(number.data(), number.data() + number.size(), announcement_.incarnation.emplace(0));
  }

  // agreeing: the first rank may know already that all ranks agree, and announce the series.
  enum class Stage : std::uint8_t { before, agreeing, announcing };

  Environment& environment_;
  message::Team& team_;
  const WriterSpecification& specification_;
  const WriterOptions& options_;
  std::uint64_t deadline_ns_;
  std::uint32_t holders_ = default_holders;
  std::uint32_t far_entries_ = 0;  // behind those, one for each rank of the job
  struct {
    Stage stage = Stage::before;
    std::optional<std::uint64_t> incarnation;  // none: not announced, as far as this rank knows
  } announcement_;
  Proposal own_;
  universe::SeriesRecord record_;
  Writer::Settings settings_;
  Window* window_ = nullptr;  // where the slots are to lie
  std::optional<Window::Piece> window_piece_;
  std::span<std::byte> window_memory_;
  std::unique_ptr<SeriesFile> file_;
};

Result<std::unique_ptr<Writer>> Writer::create(Environment& environment, message::Team& team,
                                               const WriterSpecification& specification, const WriterOptions& options,
                                               std::uint64_t deadline_ns, const Status& refusal) {
  return WriterCreation(environment, team, specification, options, deadline_ns).run(refusal);
}

}  // namespace couplet::series
