#include "series/series_file.hpp"

#include <utility>

namespace couplet::series {

SeriesFile::SeriesFile(std::unique_ptr<os::MappedFile> memory, wire::SeriesGeometry geometry)
    : memory_(std::move(memory)),
      geometry_(std::move(geometry)),
      control_(&wire::series_control(memory_->data(), geometry_)),
      readers_(wire::series_readers(memory_->data(), geometry_)),
      slot_headers_(wire::series_slot_headers(memory_->data(), geometry_)),
      slots_(memory_->data() + geometry_.slots_offset) {
  box_.dimensions = static_cast<int>(geometry_.shape.size());
  box_.start = geometry_.boxes.front().start;
  box_.stop = geometry_.boxes.front().stop;
}

Result<std::unique_ptr<SeriesFile>> SeriesFile::create(const std::string& path, wire::SeriesGeometry geometry) {
  COUPLET_TRY(wire::place_series(geometry));
  COUPLET_TRY_VALUE(auto memory, os::MappedFile::create(path, geometry.file_bytes));
  wire::encode_series_header(geometry, memory->bytes());
  return std::unique_ptr<SeriesFile>(new SeriesFile(std::move(memory), std::move(geometry)));
}

Result<std::unique_ptr<SeriesFile>> SeriesFile::open(const std::string& path) {
  COUPLET_TRY_VALUE(auto memory, os::MappedFile::open(path, os::Access::read_write));
  const auto bytes = memory->bytes();
  auto geometry =
      wire::decode_series_header(bytes.first(std::min(bytes.size(), wire::series_page_bytes)), bytes.size());
  if (!geometry) {
    return geometry.status().within(path);
  }
  if (geometry->boxes.size() != 1 || geometry->fields.size() != 1) {
    return fail(Code::version, "{}: series of several fields or boxes per rank need a newer library", path);
  }
  return std::unique_ptr<SeriesFile>(new SeriesFile(std::move(memory), std::move(geometry).value()));
}

}  // namespace couplet::series
