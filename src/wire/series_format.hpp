// The file of a series: one for each writer rank, mapped by the writer and by all readers on its node
// (docs/formats/series.md). It turns the bytes of a file into a checked SeriesGeometry, and a geometry and a mapping
// into typed parts. series and relay include it.
// Invariants: integers have the byte order of the host that made the file, and only such a host maps it; the header
// never changes after the file has its name; no part of the geometry is used that decode_series_header has not checked.
// Tests: tests/unit/series/format_test.cpp (golden bytes), tests/fuzz/series_header.cpp.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::uint64_t series_magic = 0x3153454952455343;  // "CSERIES1" in little endian
inline constexpr std::uint32_t series_byte_order = 0x01020304;
inline constexpr std::uint32_t series_version = 3;
inline constexpr std::size_t series_page_bytes = 4096;
inline constexpr std::size_t series_name_bytes = 128;  // with the final 0
inline constexpr std::uint32_t series_largest_reader_table = 65536;
inline constexpr std::size_t series_field_name_bytes = 64;  // with the final 0
inline constexpr std::uint32_t series_most_fields = 64;
inline constexpr std::uint32_t series_most_boxes = 4096;  // for all fields of a writer rank
inline constexpr std::uint64_t series_largest_file = std::uint64_t{1} << 62;

// One array of a step. A reader finds its fields by name.
struct SeriesFieldImage {
  std::array<char, series_field_name_bytes> name;
  std::int32_t type;
  std::uint32_t element_bytes;
  std::uint64_t offset_bytes;  // in the slot
  std::uint64_t bytes;         // size of all boxes
  std::uint32_t dimensions;
  std::uint32_t box_count;  // its boxes follow those of the previous field in the table
  std::array<std::int64_t, 8> shape;
};
static_assert(sizeof(SeriesFieldImage) == 160 && offsetof(SeriesFieldImage, shape) == 96);

// A part of a field's array that is in this file. The boxes of a field follow each other in the slot.
struct SeriesBoxImage {
  std::array<std::int64_t, 8> start;
  std::array<std::int64_t, 8> stop;
};
static_assert(sizeof(SeriesBoxImage) == 128);

// The header is at offset 0. The tables of fields and boxes follow it.
struct SeriesHeaderImage {
  std::uint64_t magic;
  std::uint32_t byte_order;
  std::uint32_t version;
  std::uint32_t header_bytes;  // up to the end of the tables
  std::uint32_t flags;         // 0
  std::uint64_t file_bytes;
  std::uint64_t control_offset;
  std::uint64_t readers_offset;
  std::uint64_t slot_headers_offset;
  std::uint64_t slots_offset;
  std::uint64_t slot_count;
  std::uint64_t slot_stride;  // bytes from one slot to the next, whole pages
  std::uint64_t step_bytes;   // bytes of each slot that are used
  std::uint32_t reader_entries;
  std::uint32_t field_count;
  std::uint32_t fields_offset;
  std::uint32_t box_count;  // for all fields
  std::uint32_t boxes_offset;
  std::uint32_t writer_peer;         // universe rank
  std::uint32_t writer_incarnation;  // incarnation of that process
  std::int32_t writer_rank;          // rank among the writers
  std::int32_t writer_count;
  std::uint32_t reserved;
  std::array<char, series_name_bytes> name;
  std::array<char, series_name_bytes> program;
};
static_assert(sizeof(SeriesHeaderImage) == 384 && offsetof(SeriesHeaderImage, name) == 128);

// No header is longer than this, with its tables.
inline constexpr std::size_t series_largest_header = sizeof(SeriesHeaderImage) +
                                                     series_most_fields * sizeof(SeriesFieldImage) +
                                                     series_most_boxes * sizeof(SeriesBoxImage);

// ---- the parts that change while the series is in use; each line is a cache line with one kind of writer ----

// Written by the writer, and read by all.
struct alignas(64) SeriesPublished {
  std::atomic<std::uint64_t> published;  // the ordinals [0, published) are there, or were
  // Sleepers want to be woken when `published` reaches this. ~0: no process sleeps.
  std::atomic<std::uint64_t> wake_at;
  std::atomic<std::uint32_t> word;     // futex of the readers that sleep
  std::atomic<std::uint32_t> closed;   // 1: nothing further comes
  std::atomic<std::uint32_t> pass_on;  // 1: the writer has woken one sleeper, which wakes the others and stores 0
  std::uint32_t reserved_word;
  std::array<std::uint64_t, 4> reserved;
};
static_assert(sizeof(SeriesPublished) == 64 && offsetof(SeriesPublished, pass_on) == 24);
struct alignas(64) SeriesClaimed {
  std::atomic<std::uint64_t> claimed;      // the ordinals [0, claimed) were given to the writer; >= published
  std::atomic<std::uint64_t> incarnation;  // incarnation of the series; ~0 until it is announced
  // The claim that is being made. It is ordinals << 1 | 1 while the writer checks the holds; a holder may then take the
  // claim back. It is ordinals << 1 once the claim is decided. Claims of slots that were never used do not appear here.
  std::atomic<std::uint64_t> claim;
  std::array<std::uint64_t, 5> reserved;
};
static_assert(sizeof(SeriesClaimed) == 64 && offsetof(SeriesClaimed, claim) == 16);
// Written by the readers, and read by the writer.
struct alignas(64) SeriesReleased {
  // The writer sleeps until holders have consumed this many. 0: it does not sleep.
  std::atomic<std::uint64_t> wanted;
  std::atomic<std::uint32_t> word;          // futex of the writer when it sleeps
  std::atomic<std::uint32_t> entries_used;  // the reader entries [0, entries_used) may be in use
  std::array<std::uint64_t, 6> reserved;
};
// Counters for tools that watch.
struct alignas(64) SeriesWriterCounts {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> held_ns;
  std::atomic<std::uint64_t> library_ns;
  std::atomic<std::uint64_t> waits;            // number of waits for holders
  std::atomic<std::uint64_t> longest_ns;       // time of the longest of these waits
  std::atomic<std::uint64_t> longest_for;      // owner word of the entry for which it waited
  std::atomic<std::uint64_t> longest_program;  // hash of the name of that entry's program
};
struct SeriesControl {
  SeriesPublished published;
  SeriesClaimed claimed;
  SeriesReleased released;
  SeriesWriterCounts counts;
};
static_assert(sizeof(SeriesControl) == 256 && offsetof(SeriesControl, released) == 128);

enum class ReaderState : std::uint8_t { free = 0, opening = 1, holding = 2, reserved = 3, evicted = 4 };
// The entry of a holder, or of a required program that has not opened yet.
struct alignas(64) SeriesReaderEntry {
  // peer << 32 | incarnation of the process << 16 | generation << 4 | ReaderState; 0: the entry is free.
  std::atomic<std::uint64_t> owner;
  // generation << 52 | ordinals. Ordinals below may be overwritten. The generation grows by 1 each time the entry is
  // taken.
  std::atomic<std::uint64_t> consumed;
  std::atomic<std::uint64_t> program;  // hash of the program's name
  std::uint32_t reserved_word;
  std::atomic<std::uint32_t> subscription;  // number of a reader on another node; 0: the owner has mapped the file
  std::array<std::uint64_t, 4> reserved;
};
static_assert(sizeof(SeriesReaderEntry) == 64 && offsetof(SeriesReaderEntry, program) == 16 &&
              offsetof(SeriesReaderEntry, subscription) == 28);
inline constexpr unsigned series_generation_bits = 12;
inline constexpr unsigned series_consumed_bits = 64 - series_generation_bits;
// No series has more steps, because the consumed ordinals would not fit beside the generation.
inline constexpr std::uint64_t series_max_ordinal = (std::uint64_t{1} << series_consumed_bits) - 1;

struct alignas(64) SeriesSlotHeader {
  std::atomic<std::uint64_t> stamp;  // 0: never used; 2 o + 1: ordinal o is being written; 2 o + 2: ordinal o is there
  std::atomic<std::int64_t> step;
  std::atomic<std::uint64_t> time_bits;  // physical time, a double; no_time if the writer gave none
  std::array<std::uint64_t, 5> reserved;
};
static_assert(sizeof(SeriesSlotHeader) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// Returns the bits of a step's physical time. They are the same for all values of NaN.
inline constexpr std::uint64_t no_time = 0x7FF8000000000000;
[[nodiscard]] constexpr std::uint64_t time_bits_of(double time) noexcept {
  return time == time ? std::bit_cast<std::uint64_t>(time) : no_time;
}

// ---- the same parts as values ----

struct SeriesRange {  // a box
  std::array<std::int64_t, 8> start{};
  std::array<std::int64_t, 8> stop{};
  bool operator==(const SeriesRange&) const = default;
};
struct SeriesField {
  std::string name;
  std::int32_t type = 0;
  std::uint64_t element_bytes = 0;
  std::vector<std::int64_t> shape;
  std::vector<SeriesRange> boxes;
  // Filled in by place_series.
  std::uint64_t offset_bytes = 0;
  std::uint64_t bytes = 0;
};

struct SeriesGeometry {
  std::string name;
  std::string program;
  std::vector<SeriesField> fields;
  std::uint64_t slot_count = 0;
  std::uint32_t reader_entries = 64;
  std::uint32_t writer_peer = 0;
  std::uint32_t writer_incarnation = 0;
  std::int32_t writer_rank = 0;
  std::int32_t writer_count = 1;
  // Filled in by place_series.
  std::uint64_t step_bytes = 0;
  std::uint64_t slot_stride = 0;
  std::uint64_t control_offset = 0;
  std::uint64_t readers_offset = 0;
  std::uint64_t slot_headers_offset = 0;
  std::uint64_t slots_offset = 0;
  std::uint64_t file_bytes = 0;
};

// Computes the place of each part. Returns limit if a limit is exceeded (largest file, name, reader table).
[[nodiscard]] Status place_series(SeriesGeometry& geometry);
// Writes the header page, and sets everything after it to its first state. `bytes` is the whole new file, all zero.
void encode_series_header(const SeriesGeometry& geometry, std::span<std::byte> bytes);
// Decodes the header of a file of file_bytes bytes. `bytes` are its first ones, at least up to the end of the tables.
// It trusts nothing in them. Returns version if another version or byte order made the file, and protocol if a value is
// out of range.
[[nodiscard]] Result<SeriesGeometry> decode_series_header(std::span<const std::byte> bytes, std::uint64_t file_bytes);

// Returns the changing parts of a mapping whose geometry was decoded or placed.
[[nodiscard]] SeriesControl& series_control(std::byte* mapping, const SeriesGeometry& geometry) noexcept;
[[nodiscard]] SeriesReaderEntry* series_readers(std::byte* mapping, const SeriesGeometry& geometry) noexcept;
[[nodiscard]] SeriesSlotHeader* series_slot_headers(std::byte* mapping, const SeriesGeometry& geometry) noexcept;

}  // namespace couplet::wire
