// The page `page-<peer id>` that each process keeps in the node directory: its identity, the proof that it can be
// reached, its sleeping flag, the knocks of its peers, and its counters. docs/formats/page.md describes it;
// os/process_page maps it.
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

// The links that peers need not try.
enum PageRefuses : std::uint32_t {
  page_refuses_rings = 1,  // shared memory is switched off
};

// Integers have the byte order of the host, since a page never leaves its node.
struct PageHeader {
  std::array<char, 8> magic = page_magic;
  std::uint32_t version = page_version;
  std::uint32_t byte_order = page_byte_order;
  std::uint32_t header_bytes = 256;
  std::uint32_t page_bytes = 0;
  std::uint64_t run_id = 0;
  std::uint32_t peer = 0;  // universe rank, or id of a relay
  std::uint32_t incarnation = 0;
  std::uint32_t process = 0;  // the process number as the owner sees it
  std::int32_t rank = 0;      // rank in the program
  std::uint64_t memory_nonce = 0;
  // Address at which the owner has mapped this page: reading memory_nonce there by process_vm_readv proves reach.
  std::uint64_t mapped_address = 0;
  std::uint64_t started_ns = 0;  // CLOCK_MONOTONIC
  std::uint32_t rank_count = 0;  // ranks of the universe: a knock bit is the rank, or rank_count + node for a relay
  std::uint32_t knock_words = 0;
  std::uint32_t knocks_offset = 0;
  std::uint32_t counters_offset = 0;
  std::uint32_t counter_count = 0;
  std::uint32_t refused_links = 0;  // bits of PageRefuses, which the owner sets once it knows its settings
  std::array<char, 64> program{};   // zero-terminated
  std::array<char, 64> host{};      // zero-terminated
  std::array<char, 32> unused{};
};
static_assert(sizeof(PageHeader) == 256 && offsetof(PageHeader, memory_nonce) == 48);
static_assert(offsetof(PageHeader, program) == 96 && offsetof(PageHeader, host) == 160);

inline constexpr std::size_t page_sleep_offset = 256;        // os::SleepFlag, in a cache line of its own
inline constexpr std::size_t page_knock_count_offset = 320;  // a uint32 that is incremented for each knock
inline constexpr std::size_t page_counters_offset = 384;     // uint64 each
inline constexpr std::size_t page_knocks_offset = page_counters_offset + 8 * page_counter_capacity;  // uint64 words
inline constexpr std::uint32_t page_most_ranks = 1U << 20U;

// Returns the words for one bit for each rank and one for the relay of each node. There are never more nodes than
// ranks.
[[nodiscard]] constexpr std::uint32_t page_knock_words(std::uint32_t rank_count) noexcept {
  return (2 * rank_count + 64 + 63) / 64;
}
// Returns the size of the page file, a multiple of 4096.
[[nodiscard]] constexpr std::uint32_t page_bytes_for(std::uint32_t rank_count) noexcept {
  return (static_cast<std::uint32_t>(page_knocks_offset) + 8 * page_knock_words(rank_count) + 4095U) & ~4095U;
}

// Decodes the header at the beginning of a mapped page file. Returns a protocol or version error that says what is
// wrong. Every offset in an accepted header is inside the file.
[[nodiscard]] Result<PageHeader> decode_page_header(std::span<const std::byte> page);

}  // namespace couplet::wire
