#include "universe/control_fields.hpp"

#include <algorithm>
#include <cmath>

#include "base/types.hpp"
#include "universe/control.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t most_parts = 1 << 20;
constexpr std::size_t most_required_readers = most_programs;

bool corners(const Json& json, std::size_t dimensions, std::array<std::int64_t, layout::max_dimensions>& numbers) {
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

// [writer, node, [start...], [stop...], file]
std::optional<SeriesPart> part_from(const Json& json, std::size_t dimensions) {
  if (!json.is_array() || json.size() != 5 || !json[4].is_string()) {
    return std::nullopt;
  }
  SeriesPart part;
  const auto writer = Fields::to_integer<channel::PeerId>(json[0]);
  const auto node = Fields::to_integer<std::uint16_t>(json[1]);
  part.file = json[4].get<std::string>();
  part.box.dimensions = static_cast<int>(dimensions);
  const bool plain = !part.file.empty() && part.file.size() <= 255 && part.file.front() != '.' &&
                     part.file.find('/') == std::string::npos && part.file.find('\0') == std::string::npos;
  if (!writer || !node || !plain || !corners(json[2], dimensions, part.box.start) ||
      !corners(json[3], dimensions, part.box.stop)) {
    return std::nullopt;
  }
  part.writer = *writer;
  part.node = *node;
  return part;
}

Json json_of_part(const SeriesPart& part) {
  const auto count = part.box.dimensions;
  return Json::array({part.writer, part.node, Json(std::vector(part.box.start.begin(), part.box.start.begin() + count)),
                      Json(std::vector(part.box.stop.begin(), part.box.stop.begin() + count)), part.file});
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
  Json parts = Json::array();
  for (const auto& part : record.parts) {
    parts.push_back(json_of_part(part));
  }
  return {{"name", record.name},         {"program", record.program},
          {"type", record.type},         {"shape", record.shape},
          {"slots", record.slots},       {"incarnation", record.incarnation},
          {"linger_s", record.linger_s}, {"required_readers", record.required_readers},
          {"closed", record.closed},     {"parts", std::move(parts)}};
}

Result<SeriesRecord> series_from(const Json& json) {
  if (!json.is_object()) {
    return fail(Code::protocol, "a series is described by a JSON object");
  }
  Fields fields(json, "series");
  SeriesRecord record;
  record.name = fields.text("name", longest_series_name);
  record.program = fields.text("program", longest_name);
  record.type = fields.integer<couplet_type>("type");
  record.slots = fields.integer<std::uint64_t>("slots");
  record.incarnation = fields.integer<std::uint64_t>("incarnation");
  record.linger_s = fields.number("linger_s");
  record.closed = fields.boolean("closed");
  for (const auto& extent : fields.list("shape", layout::max_dimensions)) {
    const auto number = Fields::to_integer<std::int64_t>(extent);
    if (!number || *number < 0) {
      fields.complain("shape", "a list of extents");
    }
    record.shape.push_back(number.value_or(0));
  }
  for (const auto& reader : fields.list("required_readers", most_required_readers)) {
    if (!reader.is_string() || reader.get_ref<const std::string&>().size() > longest_name) {
      fields.complain("required_readers", "a list of names");
      break;
    }
    record.required_readers.push_back(reader.get<std::string>());
  }
  for (const auto& part : fields.list("parts", most_parts)) {
    auto decoded = part_from(part, record.shape.size());
    if (!decoded) {
      fields.complain("parts", "a list of [writer, node, [start], [stop], file]");
      break;
    }
    record.parts.push_back(std::move(*decoded));
  }
  if (record.name.empty() || find_type(record.type) == nullptr) {
    fields.complain(record.name.empty() ? "name" : "type", "one of a series");
  }
  COUPLET_TRY(fields.status());
  return record;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace couplet::universe
