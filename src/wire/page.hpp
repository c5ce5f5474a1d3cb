// The page that each process keeps in the node directory, `page-<peer id>`: who it is, the proof of reach, the flag that it
// sleeps, the knocks of its peers, and its counters. docs/formats/page.md; mapped by os/process_page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::array<char, 8> page_magic = {'C', 'P', 'L', 'T', 'P', 'A', 'G', 'E'};
inline constexpr std::uint32_t page_version = 1;
inline constexpr std::uint32_t page_byte_order = 0x01020304;
inline constexpr std::size_t page_counter_capacity = 128;

// What peers need not try.
enum PageRefuses : std::uint32_t {
  page_refuses_rings = 1,  // shared memory is switched off
};

// Byte order of the host: a page never leaves its node.
struct PageHeader {
  std::array<char, 8> magic = page_magic;
  std::uint32_t version = page_version;
  std::uint32_t byte_order = page_byte_order;
  std::uint32_t header_bytes = 256;
  std::uint32_t page_bytes = 0;
  std::uint64_t run_id = 0;
  std::uint32_t peer = 0;  // universe rank, or a relay's id
  std::uint32_t incarnation = 0;
  std::uint32_t process = 0;  // pid as the owner sees it
  std::int32_t rank = 0;      // in the program
  std::uint64_t memory_nonce = 0;
  std::uint64_t mapped_address =
      0;                         // where the owner has mapped this page: process_vm_readv of memory_nonce proves reach
  std::uint64_t started_ns = 0;  // CLOCK_MONOTONIC
  std::uint32_t rank_count = 0;  // of the universe: knock bit = rank, or rank_count + node of a relay
  std::uint32_t knock_words = 0;
  std::uint32_t knocks_offset = 0;
  std::uint32_t counters_offset = 0;
  std::uint32_t counter_count = 0;
  std::uint32_t refused_links = 0;  // bits of PageRefuses, set by the owner once it knows its settings
  std::array<char, 64> program{};   // zero-terminated
  std::array<char, 64> host{};      // zero-terminated
  std::array<char, 32> unused{};
};
static_assert(sizeof(PageHeader) == 256 && offsetof(PageHeader, memory_nonce) == 48);
static_assert(offsetof(PageHeader, program) == 96 && offsetof(PageHeader, host) == 160);

inline constexpr std::size_t page_sleep_offset = 256;        // os::SleepFlag, a cache line of its own
inline constexpr std::size_t page_knock_count_offset = 320;  // uint32, one more for each knock
inline constexpr std::size_t page_counters_offset = 384;     // uint64 each
inline constexpr std::size_t page_knocks_offset = page_counters_offset + 8 * page_counter_capacity;  // uint64 words
inline constexpr std::uint32_t page_most_ranks = 1U << 20U;

// Bits for all ranks, and for a relay on each node (never more nodes than ranks, and some to spare).
[[nodiscard]] constexpr std::uint32_t page_knock_words(std::uint32_t rank_count) noexcept {
  return (2 * rank_count + 64 + 63) / 64;
}
// Size of the page file, a multiple of 4096.
[[nodiscard]] constexpr std::uint32_t page_bytes_for(std::uint32_t rank_count) noexcept {
  return (static_cast<std::uint32_t>(page_knocks_offset) + 8 * page_knock_words(rank_count) + 4095U) & ~4095U;
}

// The header at the beginning of a mapped page file. protocol or version error that says what is wrong; every offset in an
// accepted header lies within the file.
[[nodiscard]] Result<PageHeader> decode_page_header(std::span<const std::byte> page);

}  // namespace couplet::wire
