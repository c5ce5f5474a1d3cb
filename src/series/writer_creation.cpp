// Collective creation: the writers exchange proposals, check them all in the same way, make their files, and the first
// rank announces the series. A failure of one is a failure of all, and the files go away again.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/types.hpp"
#include "layout/overlap.hpp"
#include "os/host.hpp"
#include "series/collective.hpp"
#include "series/slot_protocol.hpp"
#include "series/window.hpp"
#include "series/writer.hpp"

namespace couplet::series {

using nlohmann::json;

namespace {

constexpr std::uint64_t default_memory_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t most_derived_slots = 4096;
constexpr std::uint32_t default_holders = 64;
constexpr double withdraw_s = 5;  // for the hub to hear that a creation has failed
constexpr std::size_t longest_name = wire::series_name_bytes - 1;
constexpr std::size_t longest_field_name = wire::series_field_name_bytes - 1;

// What one writer rank brings along.
struct Proposal {
  WriterSpecification specification;
  std::uint64_t slots = 0;
  std::vector<std::string> required_readers;
  double linger_s = 0;
  channel::PeerId peer = 0;
  std::uint16_t node = 0;
  bool in_window = false;
  bool collective = false;
  std::string file;
};

// Corners, as many numbers as the box has dimensions.
json json_of(const layout::Box& box) {
  const auto dimensions = std::max(box.dimensions, 0);
  return json::array({std::vector<std::int64_t>(box.start.begin(), box.start.begin() + dimensions),
                      std::vector<std::int64_t>(box.stop.begin(), box.stop.begin() + dimensions)});
}

std::string encode(const Proposal& proposal) {
  json fields = json::array();
  for (const auto& field : proposal.specification.fields) {
    json boxes = json::array();
    for (const auto& box : field.boxes) {
      boxes.push_back(json_of(box));
    }
    fields.push_back({{"name", field.name}, {"type", field.type}, {"shape", field.shape}, {"boxes", std::move(boxes)}});
  }
  return json{{"name", proposal.specification.name},
              {"fields", std::move(fields)},
              {"slots", proposal.slots},
              {"required", proposal.required_readers},
              {"linger", proposal.linger_s},
              {"peer", proposal.peer},
              {"node", proposal.node},
              {"window", proposal.in_window},
              {"collective", proposal.collective},
              {"file", proposal.file}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

// False: no box, or no type.
bool decode_field(const json& value, FieldSpecification& field) {
  field.name = value.at("name").get<std::string>();
  field.type = value.at("type").get<couplet_type>();
  field.shape = value.at("shape").get<std::vector<std::int64_t>>();
  for (const auto& each : value.at("boxes")) {
    const auto start = each.at(0).get<std::vector<std::int64_t>>();
    const auto stop = each.at(1).get<std::vector<std::int64_t>>();
    if (start.size() != stop.size() || start.size() > layout::max_dimensions) {
      return false;
    }
    auto& box = field.boxes.emplace_back();
    box.dimensions = static_cast<int>(start.size());
    std::copy(start.begin(), start.end(), box.start.begin());
    std::copy(stop.begin(), stop.end(), box.stop.begin());
  }
  return find_type(field.type) != nullptr;
}

Result<Proposal> decode(const std::string& text, std::size_t rank) {
  const json value = json::parse(text, nullptr, false);
  Proposal proposal;
  try {  // the library of JSON knows no other way to say that a member is missing or of another kind
    proposal.specification.name = value.at("name").get<std::string>();
    proposal.slots = value.at("slots").get<std::uint64_t>();
    proposal.required_readers = value.at("required").get<std::vector<std::string>>();
    proposal.linger_s = value.at("linger").get<double>();
    proposal.peer = value.at("peer").get<channel::PeerId>();
    proposal.node = value.at("node").get<std::uint16_t>();
    proposal.in_window = value.at("window").get<bool>();
    proposal.collective = value.at("collective").get<bool>();
    proposal.file = value.at("file").get<std::string>();
    for (const auto& field : value.at("fields")) {
      if (!decode_field(field, proposal.specification.fields.emplace_back())) {
        return fail(Code::protocol, "writer rank {} sent a proposal for a series with a box or type that cannot be",
                    rank);
      }
    }
  } catch (const json::exception& error) {
    return fail(Code::protocol, "writer rank {} sent no sound proposal for a series: {}", rank, error.what());
  }
  return proposal;
}

bool is_name(const std::string& name, std::size_t longest) {
  return !name.empty() && name.size() <= longest &&
         std::none_of(name.begin(), name.end(), [](char letter) { return static_cast<unsigned char>(letter) < ' '; });
}

// "series 'sky'", or with the field where it has a name
std::string title_of(const std::string& series, const FieldSpecification& field) {
  return field.name.empty() ? fmt::format("series '{}'", series)
                            : fmt::format("series '{}', field '{}'", series, field.name);
}

Status check_field(const std::string& series, const FieldSpecification& field) {
  const std::string title = title_of(series, field);
  const TypeInfo* type = find_type(field.type);
  if (type == nullptr) {
    return fail(Code::type, "{}: {} is no data type", title, field.type);
  }
  if (field.shape.empty() || field.shape.size() > layout::max_dimensions) {
    return fail(Code::shape, "{}: {} dimensions, 1 to {} are possible", title, field.shape.size(),
                layout::max_dimensions);
  }
  for (const std::int64_t extent : field.shape) {
    if (extent <= 0) {
      return fail(Code::shape, "{}: an extent of {}", title, extent);
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
  if (!is_name(name, longest_name)) {
    return fail(Code::argument, "a series needs a name of 1 to {} bytes without control characters", longest_name);
  }
  if (fields.empty() || fields.size() > wire::series_most_fields) {
    return fail(Code::limit, "series '{}': {} fields, 1 to {} are possible", name, fields.size(),
                wire::series_most_fields);
  }
  std::size_t boxes = 0;
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (!(fields.size() == 1 && fields[index].name.empty()) && !is_name(fields[index].name, longest_field_name)) {
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
    return fail(Code::limit, "series '{}': {} boxes of one writer rank, at most {} are possible", name, boxes,
                wire::series_most_boxes);
  }
  return {};
}

struct OwnedBox {
  std::size_t rank = 0;
  layout::Box box;
};

// Two boxes of a field that share an element, the lower rank first.
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
    return fail(Code::mismatch, "series '{}' has {} fields on writer rank 0 and {} on rank {}", series, first.size(),
                other.size(), rank);
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
      return fail(Code::mismatch, "series '{}' lies in the window of the MPI job on writer rank {}, but not on rank {}",
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
    const std::string text = environment_.setting(fmt::format("series.{}.{}", name_, key));
    if (text.empty()) {
      return {};
    }
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
      return fail(Code::config, "setting series.{}.{}: '{}' is not a number that fits", name_, key, text);
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

  Result<std::unique_ptr<Writer>> run() {
    const Status prepared = prepare();
    COUPLET_TRY(agree_on_status(team_, prepared, "writer rank", deadline_ns_));
    COUPLET_TRY(exchange());
    const Status made = make_file();
    Status status = agree_on_status(team_, made, "writer rank", deadline_ns_);
    if (status.ok()) {
      status = exchange_places();
    }
    if (status.ok()) {
      status = announce();
    }
    if (!status.ok()) {
      give_back();
      return status;
    }
    file_->control().claimed.incarnation.store(incarnation_, std::memory_order_release);
    std::unique_ptr<Writer> writer(new Writer(environment_, std::move(file_), std::move(settings_)));
    writer->team_ = options_.collective && team_.size() > 1 ? &team_ : nullptr;
    return writer;
  }

 private:
  // Everything that this rank can find out alone.
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
      own_.slots = std::clamp<std::uint64_t>(bytes / slot_bytes, 2, most_derived_slots);
    }
    COUPLET_TRY_VALUE(const std::uint64_t unique, os::random_bits());
    own_.specification = specification_;
    own_.required_readers = settings_.required_readers;
    own_.peer = environment_.self();
    own_.node = environment_.node();
    own_.file = fmt::format("series-{:016x}-{:08x}-{:016x}", name_hash(specification_.name), own_.peer, unique);
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
                "series '{}' is to lie in the window of the MPI job, but this process has joined without one "
                "(mpi_window_bytes)",
                specification_.name);
  }
  // For the slots that were agreed on, of which a rank with larger boxes wishes fewer.
  Status reserve_window() {
    wire::SeriesGeometry geometry = geometry_of(record_.slots);
    COUPLET_TRY(wire::place_series(geometry));
    auto piece = window_->reserve(geometry.file_bytes);
    if (!piece) {
      return piece.status().within(fmt::format("series '{}' with {} slots", specification_.name, record_.slots));
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

  // Nobody was told of what this rank has made.
  void give_back() {
    if (file_) {
      static_cast<void>(file_->remove());
    }
    if (window_piece_) {
      window_->give_back(*window_piece_);
    }
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
    COUPLET_TRY_VALUE(const auto texts, team_.gather(encode(own_), deadline_ns_));
    std::vector<Proposal> proposals;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      COUPLET_TRY_VALUE(auto proposal, decode(texts[rank], rank));
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
    record_.slots = UINT64_MAX;
    for (const Proposal& proposal : proposals) {
      record_.slots = std::min(record_.slots, proposal.slots);
      auto& part = record_.parts.emplace_back();
      part.writer = proposal.peer;
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
      return fail(Code::limit, "series '{}': {} required readers do not fit into a table of {} holders", record_.name,
                  settings_.required_readers.size(), holders_);
    }
    auto file = window_ != nullptr
                    ? SeriesFile::create_in(window_memory_, std::move(geometry))
                    : SeriesFile::create(environment_.node_directory() + "/" + own_.file, std::move(geometry));
    if (!file) {
      return file.status().within(fmt::format("series '{}' with {} slots", record_.name, record_.slots));
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
    const bool announced = team_.rank() == 0 && status.ok();
    status = agree_on_status(team_, status, "writer rank", deadline_ns_);
    Result<std::vector<std::string>> answers = status.ok() ? team_.gather(answer, deadline_ns_) : status;
    if (answers) {
      const auto& number = answers->front();
      std::from_chars(number.data(), number.data() + number.size(), incarnation_);
      environment_.registry().writing(record_.name, incarnation_);
      return {};
    }
    if (announced) {  // another rank has not heard of it: the name must not stay taken by a series that nobody writes
      std::from_chars(answer.data(), answer.data() + answer.size(), incarnation_);
      static_cast<void>(environment_.registry().withdraw(record_.name, incarnation_, os::deadline_after(withdraw_s)));
    }
    return answers.status();
  }

  Environment& environment_;
  message::Team& team_;
  const WriterSpecification& specification_;
  const WriterOptions& options_;
  std::uint64_t deadline_ns_;
  std::uint32_t holders_ = default_holders;
  std::uint32_t far_entries_ = 0;  // behind those, one for each rank of the job
  std::uint64_t incarnation_ = 0;
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
                                               std::uint64_t deadline_ns) {
  return WriterCreation(environment, team, specification, options, deadline_ns).run();
}

}  // namespace couplet::series
