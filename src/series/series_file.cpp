#include "series/series_file.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/types.hpp"
#include "os/populate.hpp"

namespace couplet::series {

layout::Box box_of(const wire::SeriesRange& range, std::size_t dimensions) noexcept {
  layout::Box box;
  box.dimensions = static_cast<int>(dimensions);
  box.start = range.start;
  box.stop = range.stop;
  return box;
}

std::vector<layout::Box> boxes_of(const wire::SeriesField& field) {
  std::vector<layout::Box> boxes;
  boxes.reserve(field.boxes.size());
  for (const auto& range : field.boxes) {
    boxes.push_back(box_of(range, field.shape.size()));
  }
  return boxes;
}

wire::SeriesField make_field(const std::string& name, couplet_type type, const std::vector<std::int64_t>& shape,
                             const std::vector<layout::Box>& boxes) {
  wire::SeriesField field;
  field.name = name;
  field.type = type;
  field.element_bytes = find_type(type)->element_bytes;
  field.shape = shape;
  field.boxes.reserve(boxes.size());
  for (const auto& box : boxes) {
    field.boxes.push_back({box.start, box.stop});
  }
  return field;
}

SeriesFile::SeriesFile(std::shared_ptr<os::MappedFile> memory, std::byte* data, wire::SeriesGeometry geometry,
                       std::uint32_t far_entries)
    : memory_(std::move(memory)),
      geometry_(std::move(geometry)),
      far_entries_(far_entries),
      control_(&wire::series_control(data, geometry_)),
      readers_(wire::series_readers(data, geometry_)),
      slot_headers_(wire::series_slot_headers(data, geometry_)),
      slots_(data + geometry_.slots_offset) {}

Result<std::unique_ptr<SeriesFile>> SeriesFile::create_in(std::span<std::byte> memory, wire::SeriesGeometry geometry) {
  COUPLET_TRY(wire::place_series(geometry));
  COUPLET_ASSERT(memory.size() >= geometry.file_bytes);
  wire::encode_series_header(geometry, memory.first(geometry.file_bytes));
  return std::unique_ptr<SeriesFile>(new SeriesFile(nullptr, memory.data(), std::move(geometry)));
}

Result<std::unique_ptr<SeriesFile>> SeriesFile::open_in(std::span<std::byte> memory, std::uint32_t far_entries) {
  auto geometry =
      wire::decode_series_header(memory.first(std::min(memory.size(), wire::series_largest_header)), memory.size());
  if (!geometry) {
    return geometry.status();
  }
  if (geometry->reader_entries < far_entries) {
    return fail(Code::protocol, "its reader table has fewer entries than the MPI job has ranks");
  }
  return std::unique_ptr<SeriesFile>(new SeriesFile(nullptr, memory.data(), std::move(geometry).value(), far_entries));
}

Result<std::unique_ptr<SeriesFile>> SeriesFile::create(const std::string& path, wire::SeriesGeometry geometry) {
  COUPLET_TRY(wire::place_series(geometry));
  COUPLET_TRY_VALUE(auto memory, os::MappedFile::create(path, geometry.file_bytes, os::Use::shown));
  wire::encode_series_header(geometry, memory->bytes());
  std::byte* const data = memory->data();
  return std::unique_ptr<SeriesFile>(new SeriesFile(std::move(memory), data, std::move(geometry)));
}

Result<std::unique_ptr<SeriesFile>> SeriesFile::open(const std::string& path, os::Use use) {
  COUPLET_TRY_VALUE(auto memory, os::MappedFile::open(path, os::Access::read_write, false, use));
  const auto bytes = memory->bytes();
  auto geometry =
      wire::decode_series_header(bytes.first(std::min(bytes.size(), wire::series_largest_header)), bytes.size());
  if (!geometry) {
    return geometry.status().within(path);
  }
  std::byte* const data = memory->data();
  os::populate_pages(data, geometry->slots_offset, true);  // those of the slots are populated by the reader
  return std::unique_ptr<SeriesFile>(new SeriesFile(std::move(memory), data, std::move(geometry).value()));
}

}  // namespace couplet::series
