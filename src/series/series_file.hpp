// SeriesFile: one writer rank's file, mapped. It gives the writer, the readers and the relay the typed parts of the
// file.
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

// Convert the boxes of a file to layout::Box.
[[nodiscard]] layout::Box box_of(const wire::SeriesRange& range, std::size_t dimensions) noexcept;
[[nodiscard]] std::vector<layout::Box> boxes_of(const wire::SeriesField& field);
// Makes a field without its place in the file, as place_series takes it.
[[nodiscard]] wire::SeriesField make_field(const std::string& name, couplet_type type,
                                           const std::vector<std::int64_t>& shape,
                                           const std::vector<layout::Box>& boxes);

class SeriesFile {
 public:
  // Makes the file. `geometry` lacks what place_series fills in. After exists, no_space and limit nothing is left
  // behind.
  static Result<std::unique_ptr<SeriesFile>> create(const std::string& path, wire::SeriesGeometry geometry);
  // Does the same in memory that outlives this object: zero, page aligned, and as large as place_series says. No other
  // process maps it.
  static Result<std::unique_ptr<SeriesFile>> create_in(std::span<std::byte> memory, wire::SeriesGeometry geometry);
  // Opens, to read steps, a file that create_in has made in memory. The last `far_entries` of its reader table belong
  // to readers on other nodes, which the processor's atomics do not reach.
  static Result<std::unique_ptr<SeriesFile>> open_in(std::span<std::byte> memory, std::uint32_t far_entries);
  // Maps an existing file to read steps, and checks the header and everything that it says. The caller writes only to
  // the control lines and the reader table. Returns not_found if there is no file, or if its incarnation was superseded
  // and it is being removed. With `use` unshown, the mapping does not keep other processes from removing the file.
  static Result<std::unique_ptr<SeriesFile>> open(const std::string& path, os::Use use = os::Use::shown);

  [[nodiscard]] const wire::SeriesGeometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return geometry_.slot_count; }
  [[nodiscard]] wire::SeriesControl& control() const noexcept { return *control_; }
  [[nodiscard]] wire::SeriesReaderEntry* readers() const noexcept { return readers_; }
  [[nodiscard]] std::uint32_t reader_entries() const noexcept { return geometry_.reader_entries; }
  // Returns the number of entries that readers on this node take.
  [[nodiscard]] std::uint32_t near_entries() const noexcept { return geometry_.reader_entries - far_entries_; }
  [[nodiscard]] wire::SeriesSlotHeader& slot_header(std::uint64_t ordinal) const noexcept {
    return slot_headers_[ordinal % geometry_.slot_count];
  }
  [[nodiscard]] std::byte* slot(std::uint64_t ordinal) const noexcept {
    return slots_ + ordinal % geometry_.slot_count * geometry_.slot_stride;
  }
  // Returns an object that keeps the slots mapped in this process for as long as it lives; nullptr if the memory
  // belongs to another object.
  [[nodiscard]] std::shared_ptr<const void> keeper() const noexcept { return memory_; }
  Status remove() { return memory_ ? memory_->remove() : Status(); }

 private:
  SeriesFile(std::shared_ptr<os::MappedFile> memory, std::byte* data, wire::SeriesGeometry geometry,
             std::uint32_t far_entries = 0);

  std::shared_ptr<os::MappedFile> memory_;  // nullptr: the memory belongs to another object
  wire::SeriesGeometry geometry_;
  std::uint32_t far_entries_;
  wire::SeriesControl* control_;
  wire::SeriesReaderEntry* readers_;
  wire::SeriesSlotHeader* slot_headers_;
  std::byte* slots_;
};

}  // namespace couplet::series
