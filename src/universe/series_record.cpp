#include "universe/series_record.hpp"

#include <algorithm>

#include "base/types.hpp"
#include "universe/control.hpp"
#include "universe/programs.hpp"
#include "wire/fields.hpp"
#include "wire/series_format.hpp"

namespace couplet::universe {
namespace {

static_assert(max_series_name == wire::series_name_bytes - 1, "a file of the series has room for the name");

using wire::FieldReader;
using wire::FieldWriter;

constexpr std::uint16_t record_version = 2;
constexpr std::size_t max_file_name = 255;

void put_box(FieldWriter& out, const layout::Box& box) {
  for (int dimension = 0; dimension < box.dimensions; ++dimension) {
    out.put(box.start[static_cast<std::size_t>(dimension)]);
    out.put(box.stop[static_cast<std::size_t>(dimension)]);
  }
}

layout::Box take_box(FieldReader& in, std::size_t dimensions) {
  layout::Box box;
  box.dimensions = static_cast<int>(dimensions);
  for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
    box.start[dimension] = in.take<std::int64_t>("start");
    box.stop[dimension] = in.take<std::int64_t>("stop");
  }
  return box;
}

SeriesField take_field(FieldReader& in) {
  SeriesField field;
  field.name = in.take_text("name of a field", max_series_name);
  field.type = in.take<couplet_type>("type");
  if (!in.failed() && find_type(field.type) == nullptr) {
    in.complain("type", "none that this library knows");
  }
  field.shape.resize(in.take<std::uint8_t>("dimensions", 1, layout::max_dimensions));
  for (auto& extent : field.shape) {
    extent = in.take<std::int64_t>("extent", 0);
  }
  return field;
}

bool plain_file_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

SeriesPart take_series_part(FieldReader& in, const std::vector<SeriesField>& fields) {
  SeriesPart part;
  part.writer = in.take<channel::PeerId>("writer");
  part.writer_incarnation = in.take<std::uint16_t>("writer_incarnation");
  part.node = in.take<std::uint16_t>("node");
  part.file = in.take_text("file", max_file_name);
  if (!in.failed() && !plain_file_name(part.file)) {
    in.complain("file", "no plain name of a file");
  }
  part.boxes.resize(in.failed() ? 0 : fields.size());
  for (std::size_t index = 0; index < part.boxes.size() && !in.failed(); ++index) {
    const auto dimensions = fields[index].shape.size();
    const auto count = in.take_count("boxes", max_record_boxes, 2 * sizeof(std::int64_t) * dimensions);
    part.boxes[index].reserve(count);
    for (std::size_t box = 0; box < count; ++box) {
      part.boxes[index].push_back(take_box(in, dimensions));
    }
  }
  return part;
}

// The fewest bytes of a part: its numbers and the counts of its boxes. It bounds what is allocated before they are
// read.
std::size_t min_part_bytes(const std::vector<SeriesField>& fields) {
  return sizeof(channel::PeerId) + 3 * sizeof(std::uint16_t) + 1 + sizeof(std::uint32_t) * fields.size();
}

}  // namespace

bool is_name(std::string_view name, std::size_t longest) {
  return !name.empty() && name.size() <= longest &&
         std::none_of(name.begin(), name.end(), [](char letter) { return static_cast<unsigned char>(letter) < ' '; });
}

Status check_series_name(std::string_view name) {
  if (is_name(name, max_series_name)) {
    return {};
  }
  return fail(Code::argument, "a series needs a name of 1 to {} bytes without control characters, not {} bytes{}",
              max_series_name, name.size(),
              name.size() > max_series_name || name.empty() ? "" : " with such characters");
}

std::string encode_record(const SeriesRecord& record) {
  FieldWriter out;
  out.put(record_version);
  out.put_text(record.name);
  out.put_text(record.program);
  out.put(record.slots);
  out.put(record.linger_s);
  out.put(record.creation);
  out.put(static_cast<std::uint32_t>(record.required_readers.size()));
  for (const auto& reader : record.required_readers) {
    out.put_text(reader);
  }
  out.put(static_cast<std::uint32_t>(record.fields.size()));
  for (const auto& field : record.fields) {
    out.put_text(field.name);
    out.put(field.type);
    out.put(static_cast<std::uint8_t>(field.shape.size()));
    for (const auto extent : field.shape) {
      out.put(extent);
    }
  }
  out.put(static_cast<std::uint32_t>(record.parts.size()));
  for (const auto& part : record.parts) {
    out.put(part.writer);
    out.put(part.writer_incarnation);
    out.put(part.node);
    out.put_text(part.file);
    for (const auto& boxes : part.boxes) {
      out.put(static_cast<std::uint32_t>(boxes.size()));
      for (const auto& box : boxes) {
        put_box(out, box);
      }
    }
  }
  return out.take();
}

Result<SeriesRecord> decode_record(std::string_view bytes) {
  constexpr std::size_t min_reader_bytes = 2;
  constexpr std::size_t min_field_bytes = 15;
  if (bytes.size() > max_record_bytes) {
    return fail(Code::limit, "a series described by {} bytes, at most {} are allowed", bytes.size(), max_record_bytes);
  }
  FieldReader in(bytes, "description of a series");
  SeriesRecord record;
  static_cast<void>(in.take<std::uint16_t>("version", record_version, record_version));
  record.name = in.take_text("name", max_series_name);
  record.program = in.take_text("program", max_name);
  record.slots = in.take<std::uint64_t>("slots");
  record.linger_s = in.take_real("linger_s");
  record.creation = in.take<std::uint64_t>("creation");
  record.required_readers.resize(in.take_count("required_readers", max_programs, min_reader_bytes));
  for (auto& reader : record.required_readers) {
    reader = in.take_text("required reader", max_name);
  }
  const auto fields = in.take_count("fields", max_record_fields, min_field_bytes);
  for (std::size_t index = 0; index < fields && !in.failed(); ++index) {
    record.fields.push_back(take_field(in));
  }
  if (!in.failed() && !is_name(record.name, max_series_name)) {
    in.complain("name", "empty, or has control characters");
  }
  if (!in.failed() && record.fields.empty()) {
    in.complain("fields", "empty");
  }
  const auto parts = in.take_count("parts", max_record_parts, min_part_bytes(record.fields));
  for (std::size_t index = 0; index < parts && !in.failed(); ++index) {
    record.parts.push_back(take_series_part(in, record.fields));
  }
  COUPLET_TRY(in.finish());
  return record;
}

}  // namespace couplet::universe
