#include "wire/series_format.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/types.hpp"

namespace couplet::wire {
namespace {

[[nodiscard]] std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
  return (bytes + series_page_bytes - 1) / series_page_bytes * series_page_bytes;
}

// Returns false on overflow, or beyond the largest file.
[[nodiscard]] bool add_product(std::uint64_t& sum, std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum) &&
         sum <= series_largest_file;
}

[[nodiscard]] bool range_elements(const SeriesRange& range, std::size_t dimensions, std::uint64_t& elements) noexcept {
  std::uint64_t count = 1;
  bool fits = true;
  for (std::size_t index = 0; index < dimensions; ++index) {
    const auto extent = static_cast<std::uint64_t>(range.stop[index] - range.start[index]);
    if (extent == 0) {
      elements = 0;
      return true;
    }
    fits = fits && !__builtin_mul_overflow(count, extent, &count);
  }
  elements = count;
  return fits;
}

Status too_large(const SeriesGeometry& geometry) {
  return fail(Code::limit, "series '{}' with {} slots would need a file of more than 2^62 bytes per writer rank",
              geometry.name, geometry.slot_count);
}

Status broken(std::string_view what) {
  return fail(Code::protocol, "not a sound series file: {}", what);
}

template <std::size_t Count>
void put_text(std::array<char, Count>& target, const std::string& text) {
  COUPLET_ASSERT(text.size() < Count);
  std::copy(text.begin(), text.end(), target.begin());
}

template <std::size_t Count>
[[nodiscard]] bool get_text(const std::array<char, Count>& source, std::string& text) {
  const auto end = std::find(source.begin(), source.end(), '\0');
  text.assign(source.begin(), end);
  return end != source.end();
}

template <typename Image>
[[nodiscard]] Image image_at(std::span<const std::byte> page, std::size_t offset) {
  Image image;
  std::memcpy(&image, page.data() + offset, sizeof image);
  return image;
}

Status decode_identity(const SeriesHeaderImage& image, std::uint64_t there, std::uint64_t file_bytes) {
  const bool fits = image.magic == series_magic;
  if (image.magic == __builtin_bswap64(series_magic) || (fits && image.byte_order != series_byte_order)) {
    return fail(Code::version, "the series file was made by a process with the other byte order");
  }
  if (!fits) {
    return broken("wrong magic number");
  }
  if (image.version != series_version) {
    return fail(Code::version, "the series file has format version {}, this library reads {}", image.version,
                series_version);
  }
  if (image.file_bytes != file_bytes) {
    return broken(fmt::format("the header says {} bytes, the file has {}", image.file_bytes, file_bytes));
  }
  if (image.field_count < 1 || image.field_count > series_most_fields || image.box_count > series_most_boxes) {
    return broken(fmt::format("{} fields and {} boxes", image.field_count, image.box_count));
  }
  const std::uint64_t fields_end = std::uint64_t{image.fields_offset} + image.field_count * sizeof(SeriesFieldImage);
  const std::uint64_t boxes_end = std::uint64_t{image.boxes_offset} + image.box_count * sizeof(SeriesBoxImage);
  if (image.header_bytes > there || fields_end > image.header_bytes || boxes_end > image.header_bytes) {
    return broken("its tables leave the header");
  }
  if (image.writer_count < 1 || image.writer_rank < 0 || image.writer_rank >= image.writer_count ||
      image.writer_incarnation > UINT16_MAX) {
    return broken(fmt::format("writer rank {} of {}", image.writer_rank, image.writer_count));
  }
  return {};
}

// Decodes the boxes of one field, beginning with box number `first`.
Status decode_boxes(const SeriesHeaderImage& image, std::span<const std::byte> bytes, std::uint32_t first,
                    std::uint32_t count, SeriesField& field) {
  for (std::uint32_t index = first; index < first + count; ++index) {
    const auto box = image_at<SeriesBoxImage>(bytes, image.boxes_offset + index * sizeof(SeriesBoxImage));
    for (std::size_t dimension = 0; dimension < field.shape.size(); ++dimension) {
      if (box.start[dimension] < 0 || box.start[dimension] > box.stop[dimension] ||
          box.stop[dimension] > field.shape[dimension]) {
        return broken("a box outside the array");
      }
    }
    field.boxes.push_back({box.start, box.stop});
  }
  return {};
}

Status decode_tables(const SeriesHeaderImage& image, std::span<const std::byte> bytes, SeriesGeometry& geometry) {
  std::uint32_t boxes = 0;
  for (std::uint32_t index = 0; index < image.field_count; ++index) {
    const auto field = image_at<SeriesFieldImage>(bytes, image.fields_offset + index * sizeof(SeriesFieldImage));
    SeriesField value;
    value.type = field.type;
    value.element_bytes = field.element_bytes;
    value.offset_bytes = field.offset_bytes;
    value.bytes = field.bytes;
    const TypeInfo* type = find_type(field.type);
    if (!get_text(field.name, value.name) || type == nullptr || type->element_bytes != field.element_bytes) {
      return broken("a field of no known type");
    }
    if (field.dimensions < 1 || field.dimensions > field.shape.size()) {
      return broken(fmt::format("{} dimensions", field.dimensions));
    }
    value.shape.assign(field.shape.begin(), field.shape.begin() + field.dimensions);
    if (std::any_of(value.shape.begin(), value.shape.end(), [](std::int64_t extent) { return extent < 0; })) {
      return broken("a negative extent");
    }
    if (field.box_count > image.box_count - boxes) {
      return broken("a field with more boxes than there are");
    }
    COUPLET_TRY(decode_boxes(image, bytes, boxes, field.box_count, value));
    boxes += field.box_count;
    geometry.fields.push_back(std::move(value));
  }
  return boxes == image.box_count ? Status() : broken("boxes of no field");
}

// Computes the bytes of all boxes of a field. Returns false on overflow.
[[nodiscard]] bool field_bytes(const SeriesField& field, std::uint64_t& bytes) noexcept {
  bytes = 0;
  std::uint64_t elements = 0;
  for (const SeriesRange& range : field.boxes) {
    std::uint64_t count = 0;
    if (!range_elements(range, field.shape.size(), count) || !add_product(elements, count, 1)) {
      return false;
    }
  }
  return add_product(bytes, elements, field.element_bytes);
}

std::size_t box_count(const SeriesGeometry& geometry) noexcept {
  std::size_t count = 0;
  for (const SeriesField& field : geometry.fields) {
    count += field.boxes.size();
  }
  return count;
}

std::uint64_t header_bytes(const SeriesGeometry& geometry) noexcept {
  return sizeof(SeriesHeaderImage) + geometry.fields.size() * sizeof(SeriesFieldImage) +
         box_count(geometry) * sizeof(SeriesBoxImage);
}

}  // namespace

Status place_series(SeriesGeometry& geometry) {
  if (geometry.name.size() >= series_name_bytes || geometry.program.size() >= series_name_bytes) {
    return fail(Code::limit, "the names of series '{}' and program '{}' may have at most {} bytes", geometry.name,
                geometry.program, series_name_bytes - 1);
  }
  if (geometry.reader_entries < 1 || geometry.reader_entries > series_largest_reader_table) {
    return fail(Code::limit, "series '{}': {} entries for holders, 1 to {} are possible", geometry.name,
                geometry.reader_entries, series_largest_reader_table);
  }
  if (geometry.fields.empty() || geometry.fields.size() > series_most_fields) {
    return fail(Code::limit, "series '{}': {} fields, 1 to {} are possible", geometry.name, geometry.fields.size(),
                series_most_fields);
  }
  if (box_count(geometry) > series_most_boxes) {
    return fail(Code::limit, "series '{}': {} boxes of one writer rank, at most {} are possible", geometry.name,
                box_count(geometry), series_most_boxes);
  }
  COUPLET_ASSERT(geometry.slot_count > 0);
  std::uint64_t step_bytes = 0;
  for (SeriesField& field : geometry.fields) {
    if (field.name.size() >= series_field_name_bytes) {
      return fail(Code::limit, "series '{}': the name of field '{}' may have at most {} bytes", geometry.name,
                  field.name, series_field_name_bytes - 1);
    }
    step_bytes = (step_bytes + 63) / 64 * 64;
    field.offset_bytes = step_bytes;
    if (!field_bytes(field, field.bytes) || !add_product(step_bytes, field.bytes, 1)) {
      return too_large(geometry);
    }
  }
  geometry.step_bytes = step_bytes;
  geometry.slot_stride = whole_pages(step_bytes);
  geometry.control_offset = whole_pages(header_bytes(geometry));
  geometry.readers_offset = geometry.control_offset + series_page_bytes;
  geometry.slot_headers_offset =
      geometry.readers_offset + whole_pages(geometry.reader_entries * sizeof(SeriesReaderEntry));
  std::uint64_t end = geometry.slot_headers_offset;
  if (!add_product(end, geometry.slot_count, sizeof(SeriesSlotHeader))) {
    return too_large(geometry);
  }
  geometry.slots_offset = end = whole_pages(end);
  if (!add_product(end, geometry.slot_count, geometry.slot_stride)) {
    return too_large(geometry);
  }
  geometry.file_bytes = end;
  return {};
}

namespace {

void encode_tables(const SeriesGeometry& geometry, const SeriesHeaderImage& image, std::span<std::byte> bytes) {
  std::size_t at = image.fields_offset;
  std::size_t box_at = image.boxes_offset;
  for (const SeriesField& field : geometry.fields) {
    SeriesFieldImage out{};
    put_text(out.name, field.name);
    out.type = field.type;
    out.element_bytes = static_cast<std::uint32_t>(field.element_bytes);
    out.offset_bytes = field.offset_bytes;
    out.bytes = field.bytes;
    out.dimensions = static_cast<std::uint32_t>(field.shape.size());
    out.box_count = static_cast<std::uint32_t>(field.boxes.size());
    std::copy(field.shape.begin(), field.shape.end(), out.shape.begin());
    std::memcpy(bytes.data() + at, &out, sizeof out);
    at += sizeof out;
    for (const SeriesRange& range : field.boxes) {
      const SeriesBoxImage box{range.start, range.stop};
      std::memcpy(bytes.data() + box_at, &box, sizeof box);
      box_at += sizeof box;
    }
  }
}

}  // namespace

void encode_series_header(const SeriesGeometry& geometry, std::span<std::byte> bytes) {
  COUPLET_ASSERT(bytes.size() == geometry.file_bytes);
  SeriesHeaderImage image{};
  image.magic = series_magic;
  image.byte_order = series_byte_order;
  image.version = series_version;
  image.file_bytes = geometry.file_bytes;
  image.control_offset = geometry.control_offset;
  image.readers_offset = geometry.readers_offset;
  image.slot_headers_offset = geometry.slot_headers_offset;
  image.slots_offset = geometry.slots_offset;
  image.slot_count = geometry.slot_count;
  image.slot_stride = geometry.slot_stride;
  image.step_bytes = geometry.step_bytes;
  image.reader_entries = geometry.reader_entries;
  image.field_count = static_cast<std::uint32_t>(geometry.fields.size());
  image.fields_offset = sizeof(SeriesHeaderImage);
  image.box_count = static_cast<std::uint32_t>(box_count(geometry));
  image.boxes_offset = image.fields_offset + image.field_count * static_cast<std::uint32_t>(sizeof(SeriesFieldImage));
  image.header_bytes = static_cast<std::uint32_t>(header_bytes(geometry));
  image.writer_peer = geometry.writer_peer;
  image.writer_incarnation = geometry.writer_incarnation;
  image.writer_rank = geometry.writer_rank;
  image.writer_count = geometry.writer_count;
  put_text(image.name, geometry.name);
  put_text(image.program, geometry.program);
  std::memcpy(bytes.data(), &image, sizeof image);
  encode_tables(geometry, image, bytes);
  SeriesControl& control = series_control(bytes.data(), geometry);
  control.published.wake_at.store(UINT64_MAX, std::memory_order_relaxed);
  control.claimed.incarnation.store(UINT64_MAX, std::memory_order_release);
}

Result<SeriesGeometry> decode_series_header(std::span<const std::byte> bytes, std::uint64_t file_bytes) {
  if (bytes.size() < series_page_bytes || file_bytes < series_page_bytes) {
    return broken("shorter than its header");
  }
  const auto image = image_at<SeriesHeaderImage>(bytes, 0);
  COUPLET_TRY(decode_identity(image, bytes.size(), file_bytes));
  SeriesGeometry geometry;
  if (!get_text(image.name, geometry.name) || !get_text(image.program, geometry.program)) {
    return broken("a name without an end");
  }
  COUPLET_TRY(decode_tables(image, bytes, geometry));
  geometry.slot_count = image.slot_count;
  geometry.reader_entries = image.reader_entries;
  geometry.writer_peer = image.writer_peer;
  geometry.writer_incarnation = image.writer_incarnation;
  geometry.writer_rank = image.writer_rank;
  geometry.writer_count = image.writer_count;
  if (geometry.slot_count == 0) {
    return broken("no slots");
  }
  // There is exactly one place for everything, and the header must agree with it.
  SeriesGeometry placed = geometry;
  if (!place_series(placed).ok()) {
    return broken("sizes beyond all limits");
  }
  const bool fields_agree = std::equal(placed.fields.begin(), placed.fields.end(), geometry.fields.begin(),
                                       [](const SeriesField& a, const SeriesField& b) {
                                         return a.offset_bytes == b.offset_bytes && a.bytes == b.bytes;
                                       });
  if (!fields_agree || placed.step_bytes != image.step_bytes || placed.slot_stride != image.slot_stride ||
      placed.control_offset != image.control_offset || placed.readers_offset != image.readers_offset ||
      placed.slot_headers_offset != image.slot_headers_offset || placed.slots_offset != image.slots_offset ||
      placed.file_bytes != image.file_bytes) {
    return broken("its offsets and sizes do not fit each other");
  }
  return placed;
}

SeriesControl& series_control(std::byte* mapping, const SeriesGeometry& geometry) noexcept {
  return *reinterpret_cast<SeriesControl*>(mapping + geometry.control_offset);
}
SeriesReaderEntry* series_readers(std::byte* mapping, const SeriesGeometry& geometry) noexcept {
  return reinterpret_cast<SeriesReaderEntry*>(mapping + geometry.readers_offset);
}
SeriesSlotHeader* series_slot_headers(std::byte* mapping, const SeriesGeometry& geometry) noexcept {
  return reinterpret_cast<SeriesSlotHeader*>(mapping + geometry.slot_headers_offset);
}

}  // namespace couplet::wire
