#include "universe/control_fields.hpp"

#include <algorithm>
#include <cmath>

#include "base/types.hpp"
#include "universe/control.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t most_parts = 1 << 20;
constexpr std::size_t most_fields = 64;
constexpr std::size_t most_boxes = 4096;  // of a field of one rank
constexpr std::size_t most_required_readers = most_programs;

bool corner_from(const Json& json, std::size_t dimensions, std::array<std::int64_t, layout::max_dimensions>& numbers) {
  if (!json.is_array() || json.size() != dimensions) {
    return false;
  }
  for (std::size_t index = 0; index < dimensions; ++index) {
    const auto number = Fields::to_integer<std::int64_t>(json[index]);
    if (!number) {
      return false;
    }
    numbers[index] = *number;
  }
  return true;
}

Json json_of_corner(const layout::Box& box, const std::array<std::int64_t, layout::max_dimensions>& corner) {
  return std::vector(corner.begin(), corner.begin() + box.dimensions);
}

// [[start...], [stop...]]
std::optional<layout::Box> box_from(const Json& json, std::size_t dimensions) {
  layout::Box box;
  box.dimensions = static_cast<int>(dimensions);
  if (!json.is_array() || json.size() != 2 || !corner_from(json[0], dimensions, box.start) ||
      !corner_from(json[1], dimensions, box.stop)) {
    return std::nullopt;
  }
  return box;
}

// [name, type, [extent...]]
std::optional<SeriesField> field_from(const Json& json) {
  if (!json.is_array() || json.size() != 3 || !json[0].is_string() || !json[2].is_array() || json[2].empty() ||
      json[2].size() > layout::max_dimensions) {
    return std::nullopt;
  }
  SeriesField field;
  field.name = json[0].get<std::string>();
  const auto type = Fields::to_integer<couplet_type>(json[1]);
  if (!type || find_type(*type) == nullptr || field.name.size() > longest_series_name) {
    return std::nullopt;
  }
  field.type = *type;
  for (const auto& extent : json[2]) {
    const auto number = Fields::to_integer<std::int64_t>(extent);
    if (!number || *number < 0) {
      return std::nullopt;
    }
    field.shape.push_back(*number);
  }
  return field;
}

// [writer, node, file, [[box...] of each field]]
std::optional<SeriesPart> part_from(const Json& json, const std::vector<SeriesField>& fields) {
  if (!json.is_array() || json.size() != 4 || !json[2].is_string() || !json[3].is_array() ||
      json[3].size() != fields.size()) {
    return std::nullopt;
  }
  SeriesPart part;
  const auto writer = Fields::to_integer<channel::PeerId>(json[0]);
  const auto node = Fields::to_integer<std::uint16_t>(json[1]);
  part.file = json[2].get<std::string>();
  const bool plain = !part.file.empty() && part.file.size() <= 255 && part.file.front() != '.' &&
                     part.file.find('/') == std::string::npos && part.file.find('\0') == std::string::npos;
  if (!writer || !node || !plain) {
    return std::nullopt;
  }
  part.writer = *writer;
  part.node = *node;
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (!json[3][index].is_array() || json[3][index].size() > most_boxes) {
      return std::nullopt;
    }
    auto& boxes = part.boxes.emplace_back();
    for (const auto& each : json[3][index]) {
      const auto box = box_from(each, fields[index].shape.size());
      if (!box) {
        return std::nullopt;
      }
      boxes.push_back(*box);
    }
  }
  return part;
}

Json json_of_part(const SeriesPart& part) {
  Json fields = Json::array();
  for (const auto& boxes : part.boxes) {
    Json list = Json::array();
    for (const auto& box : boxes) {
      list.push_back(Json::array({json_of_corner(box, box.start), json_of_corner(box, box.stop)}));
    }
    fields.push_back(std::move(list));
  }
  return Json::array({part.writer, part.node, part.file, std::move(fields)});
}

}  // namespace

double Fields::number(const char* field) {
  const auto* const value = find(field);
  if (value != nullptr && value->is_number() && std::isfinite(value->get<double>())) {
    return value->get<double>();
  }
  complain(field, "a number");
  return 0;
}

bool Fields::boolean(const char* field) {
  const auto* const value = find(field);
  if (value != nullptr && value->is_boolean()) {
    return value->get<bool>();
  }
  complain(field, "true or false");
  return false;
}

std::string Fields::text(const char* field, std::size_t most_bytes) {
  const auto* const value = find(field);
  if (value != nullptr && value->is_string() && value->get_ref<const std::string&>().size() <= most_bytes) {
    return value->get<std::string>();
  }
  complain(field, fmt::format("a text of at most {} bytes", most_bytes));
  return {};
}

const Json& Fields::list(const char* field, std::size_t most) {
  static const Json nothing = Json::array();
  const auto* const value = find(field);
  if (value != nullptr && value->is_array() && value->size() <= most) {
    return *value;
  }
  complain(field, fmt::format("a list of at most {} elements", most));
  return nothing;
}

Json json_of(const SeriesRecord& record) {
  Json fields = Json::array();
  for (const auto& field : record.fields) {
    fields.push_back(Json::array({field.name, field.type, field.shape}));
  }
  Json parts = Json::array();
  for (const auto& part : record.parts) {
    parts.push_back(json_of_part(part));
  }
  return {{"name", record.name},
          {"program", record.program},
          {"fields", std::move(fields)},
          {"slots", record.slots},
          {"incarnation", record.incarnation},
          {"linger_s", record.linger_s},
          {"required_readers", record.required_readers},
          {"closed", record.closed},
          {"parts", std::move(parts)}};
}

Result<SeriesRecord> series_from(const Json& json) {
  if (!json.is_object()) {
    return fail(Code::protocol, "a series is described by a JSON object");
  }
  Fields fields(json, "series");
  SeriesRecord record;
  record.name = fields.text("name", longest_series_name);
  record.program = fields.text("program", longest_name);
  record.slots = fields.integer<std::uint64_t>("slots");
  record.incarnation = fields.integer<std::uint64_t>("incarnation");
  record.linger_s = fields.number("linger_s");
  record.closed = fields.boolean("closed");
  for (const auto& field : fields.list("fields", most_fields)) {
    auto decoded = field_from(field);
    if (!decoded) {
      fields.complain("fields", "a list of [name, type, [extents]]");
      break;
    }
    record.fields.push_back(std::move(*decoded));
  }
  for (const auto& reader : fields.list("required_readers", most_required_readers)) {
    if (!reader.is_string() || reader.get_ref<const std::string&>().size() > longest_name) {
      fields.complain("required_readers", "a list of names");
      break;
    }
    record.required_readers.push_back(reader.get<std::string>());
  }
  for (const auto& part : fields.list("parts", most_parts)) {
    auto decoded = part_from(part, record.fields);
    if (!decoded) {
      fields.complain("parts", "a list of [writer, node, file, [[[start], [stop]] of each field]]");
      break;
    }
    record.parts.push_back(std::move(*decoded));
  }
  if (record.name.empty() || record.fields.empty()) {
    fields.complain(record.name.empty() ? "name" : "fields", "one of a series");
  }
  COUPLET_TRY(fields.status());
  return record;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace couplet::universe
