// The file of an area: a page that its owner and the processes on the same node that open it map. The area's elements
// follow the page if the library was asked for the memory (docs/formats/task.md). task includes it; it includes base.
// Invariants: integers have the byte order of the host, and only processes of that host map the file; only the stamp
// line and the writers' entries change once the file has its name.
// Tests: tests/unit/task/area_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace couplet::wire {

inline constexpr std::uint64_t area_magic = 0x3141455241435443;  // "CTCAREA1"
inline constexpr std::uint32_t area_version = 3;
inline constexpr std::size_t area_page_bytes = 4096;
inline constexpr std::size_t area_writer_entries = 448;  // processes that write the owner's own memory at a time
inline constexpr int area_rank_bits = 21;                // universe rank + 1
inline constexpr int area_incarnation_bits = 7;          // the low bits of the incarnation
inline constexpr int area_writer_bits = area_rank_bits + area_incarnation_bits;
inline constexpr std::uint64_t area_writer_mask = (std::uint64_t{1} << area_writer_bits) - 1;
inline constexpr std::uint64_t area_rank_mask = (std::uint64_t{1} << area_rank_bits) - 1;
inline constexpr std::uint64_t area_incarnation_mask = (std::uint64_t{1} << area_incarnation_bits) - 1;

// Returns the mark of a writer: one incarnation of a universe rank. It is never 0, which means that no process writes.
[[nodiscard]] constexpr std::uint64_t area_mark(std::uint32_t rank, std::uint16_t incarnation) noexcept {
  return (incarnation & area_incarnation_mask) << area_rank_bits | (std::uint64_t{rank} + 1);
}
[[nodiscard]] constexpr std::uint32_t area_mark_rank(std::uint64_t mark) noexcept {
  return static_cast<std::uint32_t>((mark & area_rank_mask) - 1);
}
[[nodiscard]] constexpr std::uint64_t area_mark_incarnation(std::uint64_t mark) noexcept {
  return mark >> area_rank_bits & area_incarnation_mask;
}

// Puts the two halves of a stamp into one word, so that they are never seen separately. `writer` is a mark, or 0.
[[nodiscard]] constexpr std::uint64_t area_stamp(std::uint64_t count, std::uint64_t writer) noexcept {
  return count << area_writer_bits | writer;
}
[[nodiscard]] constexpr std::uint64_t area_count(std::uint64_t stamp) noexcept {
  return stamp >> area_writer_bits;
}
[[nodiscard]] constexpr std::uint64_t area_writer(std::uint64_t stamp) noexcept {
  return stamp & area_writer_mask;
}

struct AreaHeaderImage {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t owner;       // universe rank
  std::uint64_t data_bytes;  // after the page; 0: the elements are in the owner's own memory
  std::uint64_t nonce;       // the area's nonce
  std::array<std::uint64_t, 4> reserved;
  // A cache line of its own: how often the area was written, and in the low bits the mark of the present writer.
  alignas(64) std::atomic<std::uint64_t> stamp;
  std::atomic<std::uint32_t> word;    // the futex of processes that wait until no process writes
  std::atomic<std::uint32_t> closed;  // 1: the owner has closed the area, and may use its memory for something else
  // The marks of the processes that are writing the owner's own memory; 0: the entry is free.
  alignas(64) std::array<std::atomic<std::uint64_t>, area_writer_entries> writers;
};
static_assert(offsetof(AreaHeaderImage, stamp) == 64 && offsetof(AreaHeaderImage, closed) == 76 &&
              offsetof(AreaHeaderImage, writers) == 128 && sizeof(AreaHeaderImage) <= area_page_bytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// Returns the page of a mapping that make_area_header has made, or that find_area_header has accepted.
[[nodiscard]] inline AreaHeaderImage& area_header(std::byte* mapping) noexcept {
  return *reinterpret_cast<AreaHeaderImage*>(mapping);
}
// Writes the header of a new mapping, which is all zero.
inline void make_area_header(std::byte* mapping, std::uint32_t owner, std::uint64_t data_bytes,
                             std::uint64_t nonce) noexcept {
  auto& image = *new (mapping) AreaHeaderImage{};
  image.magic = area_magic;
  image.version = area_version;
  image.owner = owner;
  image.data_bytes = data_bytes;
  image.nonce = nonce;
}
// Says whether this is the file of an area of that owner, with so many bytes in all. It trusts nothing in the file.
[[nodiscard]] inline bool find_area_header(std::byte* mapping, std::size_t bytes, std::uint32_t owner,
                                           std::uint64_t data_bytes, std::uint64_t nonce) noexcept {
  if (bytes < area_page_bytes || bytes - area_page_bytes != data_bytes) {
    return false;
  }
  const auto& image = area_header(mapping);
  return image.magic == area_magic && image.version == area_version && image.owner == owner &&
         image.data_bytes == data_bytes && image.nonce == nonce;
}

}  // namespace couplet::wire
