// One writer rank's file, mapped: the typed parts of it that writer, readers and relay work on.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "layout/box.hpp"
#include "os/mapped_file.hpp"
#include "wire/series_format.hpp"

namespace couplet::series {

// Boxes as the file has them.
[[nodiscard]] layout::Box box_of(const wire::SeriesRange& range, std::size_t dimensions) noexcept;
[[nodiscard]] std::vector<layout::Box> boxes_of(const wire::SeriesField& field);
// A field without its place, as place_series takes it.
[[nodiscard]] wire::SeriesField make_field(const std::string& name, couplet_type type,
                                           const std::vector<std::int64_t>& shape,
                                           const std::vector<layout::Box>& boxes);

class SeriesFile {
 public:
  // Makes the file (exists, no_space, limit: nothing is left behind). geometry: without what place_series fills in.
  static Result<std::unique_ptr<SeriesFile>> create(const std::string& path, wire::SeriesGeometry geometry);
  // The same in memory that outlives it: zero, page aligned, as many bytes as place_series says. Nobody else maps it.
  static Result<std::unique_ptr<SeriesFile>> create_in(std::span<std::byte> memory, wire::SeriesGeometry geometry);
  // One that is there in such memory, as create_in has made it, for reading steps like open. The last `far_entries` of
  // its reader table belong to readers that the processor's atomics do not reach.
  static Result<std::unique_ptr<SeriesFile>> open_in(std::span<std::byte> memory, std::uint32_t far_entries);
  // Maps an existing one for reading steps; checks the header and everything it says. Writes go only to its control
  // lines and the reader table.
  static Result<std::unique_ptr<SeriesFile>> open(const std::string& path);

  [[nodiscard]] const wire::SeriesGeometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return geometry_.slot_count; }
  [[nodiscard]] wire::SeriesControl& control() const noexcept { return *control_; }
  [[nodiscard]] wire::SeriesReaderEntry* readers() const noexcept { return readers_; }
  [[nodiscard]] std::uint32_t reader_entries() const noexcept { return geometry_.reader_entries; }
  // How many of them readers of this node take.
  [[nodiscard]] std::uint32_t near_entries() const noexcept { return geometry_.reader_entries - far_entries_; }
  [[nodiscard]] wire::SeriesSlotHeader& slot_header(std::uint64_t ordinal) const noexcept {
    return slot_headers_[ordinal % geometry_.slot_count];
  }
  [[nodiscard]] std::byte* slot(std::uint64_t ordinal) const noexcept {
    return slots_ + ordinal % geometry_.slot_count * geometry_.slot_stride;
  }
  Status remove() { return memory_ ? memory_->remove() : Status(); }

 private:
  SeriesFile(std::unique_ptr<os::MappedFile> memory, std::byte* data, wire::SeriesGeometry geometry,
             std::uint32_t far_entries = 0);

  std::unique_ptr<os::MappedFile> memory_;  // nullptr: somebody else's
  wire::SeriesGeometry geometry_;
  std::uint32_t far_entries_;
  wire::SeriesControl* control_;
  wire::SeriesReaderEntry* readers_;
  wire::SeriesSlotHeader* slot_headers_;
  std::byte* slots_;
};

}  // namespace couplet::series
