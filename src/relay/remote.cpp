#include "relay/remote.hpp"

#include <algorithm>
#include <iterator>

#include "base/types.hpp"
#include "relay/line.hpp"
#include "relay/remote_part.hpp"

namespace couplet::relay {
namespace {

constexpr std::uint32_t local_reader_entries = 4;

// Returns the wanted boxes that overlap a box of the part; one empty box if there are none.
std::vector<layout::Box> boxes_of_part(const std::vector<layout::Box>& wanted,
                                       const std::vector<layout::Box>& written) {
  std::vector<layout::Box> own;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(own), [&](const layout::Box& box) {
    return std::any_of(written.begin(), written.end(),
                       [&](const layout::Box& other) { return layout::intersect(box, other).has_value(); });
  });
  if (own.empty()) {
    layout::Box& nothing = own.emplace_back(wanted.front());
    nothing.stop = nothing.start;
  }
  return own;
}

// Returns the geometry of local slots for what is wanted of a part.
wire::SeriesGeometry geometry_of(const universe::SeriesRecord& record, std::size_t part,
                                 const std::vector<series::FieldSelection>& selections) {
  std::vector<wire::SeriesField> fields;
  for (std::size_t index = 0; index < record.fields.size(); ++index) {
    const auto& field = record.fields[index];
    fields.push_back(series::make_field(field.name, field.type, field.shape, record.parts[part].boxes[index]));
  }
  wire::SeriesGeometry geometry;
  geometry.name = record.name;
  geometry.program = record.program;
  geometry.fields = series::cut_fields(fields, selections);
  geometry.slot_count = 1;
  geometry.reader_entries = local_reader_entries;
  geometry.writer_peer = record.parts[part].writer;
  geometry.writer_rank = static_cast<std::int32_t>(part);
  geometry.writer_count = static_cast<std::int32_t>(record.parts.size());
  return geometry;
}

std::string title_of(const universe::SeriesRecord& record, std::size_t part) {
  return fmt::format("series '{}', slots of writer rank {}", record.name, part);
}

}  // namespace

Remote::Remote(series::Environment& environment, message::Channels& channels, const RemoteOptions& options)
    : environment_(environment), channels_(channels), options_(options) {}

Remote::~Remote() = default;

// ---- opening ----

Result<channel::PeerId> Remote::server_of(const universe::SeriesRecord& record, std::size_t part,
                                          std::uint64_t deadline_ns) {
  if (options_.in_calls) {
    return record.parts[part].writer;
  }
  return environment_.registry().relay_of(record.parts[part].node, deadline_ns);
}

// Returns the number of slots. The slots of all parts from other nodes share buffer_bytes. 0: they cannot hold one
// step.
std::uint64_t Remote::slots_for(const universe::SeriesRecord& record, const series::PartSelection& selection) const {
  std::uint64_t stride = 0;
  for (std::size_t part = 0; part < record.parts.size(); ++part) {
    auto geometry = geometry_of(record, part, selection.fields);
    if (record.parts[part].node != environment_.node() && wire::place_series(geometry).ok()) {
      stride += geometry.slot_stride;
    }
  }
  if (selection.buffer_bytes > 0) {
    return std::min(selection.buffer_bytes / std::max(stride, wire::series_page_bytes), record.slots);
  }
  const std::uint64_t fitting = options_.buffer_bytes / std::max(stride, wire::series_page_bytes);
  return std::clamp<std::uint64_t>(fitting, std::min<std::uint64_t>(2, record.slots), record.slots);
}

Result<std::unique_ptr<series::Part>> Remote::open_part(const universe::SeriesRecord& record, std::size_t part,
                                                        const series::PartSelection& selection,
                                                        std::uint64_t deadline_ns) {
  const auto& described = record.parts[part];
  const auto title = title_of(record, part);
  const std::uint64_t slots = slots_for(record, selection);
  if (slots == 0) {
    return fail(Code::limit, "{}: buffer_bytes is {}, which does not hold one step of this reader's box", title,
                selection.buffer_bytes);
  }
  auto server = server_of(record, part, deadline_ns);
  if (!server) {
    return server.status().within(title);
  }
  wire::SeriesGeometry geometry = geometry_of(record, part, selection.fields);
  geometry.slot_count = slots;
  const std::uint32_t number = next_number_++;
  COUPLET_TRY_VALUE(auto slots_here, LocalSlots::make(geometry, title));
  RemotePart::Source source;
  source.writer = described.writer;
  source.program = record.program;
  source.title = title;
  source.retained = record.slots;
  source.selection.incarnation = environment_.incarnation();
  source.selection.mode = static_cast<std::uint8_t>(selection.mode);
  source.selection.from = static_cast<std::uint8_t>(selection.from);
  source.selection.from_step = selection.from_step;
  source.selection.latest = selection.latest;
  if (selection.mode == series::Mode::follow) {
    source.selection.reader = selection.reader != 0 ? selection.reader : number;
    source.selection.jumps = true;
  }
  source.selection.window = slots;
  source.selection.program = series::name_hash(environment_.program());
  source.selection.series_incarnation = record.incarnation;
  for (const auto& each : selection.fields) {
    auto& field = source.selection.fields.emplace_back();
    field.field = static_cast<std::uint8_t>(each.field);
    const auto boxes = boxes_of_part(each.boxes, described.boxes[each.field]);
    field.boxes = static_cast<std::uint16_t>(boxes.size());
    for (const auto& box : boxes) {
      field.start.insert(field.start.end(), box.start.begin(), box.start.begin() + box.dimensions);
      field.stop.insert(field.stop.end(), box.stop.begin(), box.stop.begin() + box.dimensions);
    }
  }
  source.selection.file = described.file;
  source.selection.series = record.name;
  if (selection.mode == series::Mode::hold) {
    source.end.emplace(number, source.selection);
  }
  return std::unique_ptr<series::Part>(
      std::make_unique<RemotePart>(*this, number, *server, std::move(source), std::move(slots_here)));
}

// ---- frames ----

std::byte* Remote::place(channel::Channel& channel, const wire::FrameHeader& header) {
  const auto found = parts_.find(header.context);
  return found == parts_.end() || found->second->channel() != &channel ? nullptr : found->second->place(header);
}

Status Remote::arrived(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (wire::relay_kind_of(header) == wire::RelayKind::unsubscribed) {
    owed_ends_.confirmed(channel.peer(), header.context);
    return {};
  }
  const auto found = parts_.find(header.context);
  if (found == parts_.end()) {
    unplaced(header);
    return {};  // it was sent before the reader closed
  }
  if (found->second->channel() != &channel) {
    return fail(Code::protocol, "a frame for subscription {}, which belongs to another relay", header.context);
  }
  return found->second->arrived(header, payload);
}

// The lane has filled the memory that place() gave, or no longer does.
void Remote::unplaced(const wire::FrameHeader& header) {
  std::erase_if(left_, [&header](const FilledSlots::Left& left) { return left.number == header.context; });
}

void Remote::lost(channel::Channel& channel, const Status& why) {
  std::erase_if(left_, [&channel](const FilledSlots::Left& left) { return left.channel == &channel; });
  for (const auto& [number, part] : parts_) {
    part->lost(channel, why);
  }
  owed_ends_.lost(channel, why);
}

}  // namespace couplet::relay
