// The mapped ring: the byte layout of what two processes of one node share (docs/formats/shm-ring.md).
// A ring file holds two directions. A direction is cells of one cache line, written in turn, and a bulk area for longer
// payloads; a cell holds a frame header with up to 16 bytes of payload, or says where a chunk of the bulk area lies.
// Numbers are in the host's byte order: the file never leaves the host. Format and inspect here, moved by link/ring.hpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "wire/frame.hpp"

namespace couplet::wire {

inline constexpr std::uint64_t ring_magic = 0x676E69526C706F43;  // "CoplRing" as bytes on a little-endian host
inline constexpr std::uint32_t ring_version = 3;
inline constexpr std::size_t cell_bytes = 64;
inline constexpr std::size_t inline_payload_bytes = 16;
inline constexpr std::size_t ring_header_bytes = 4096;
inline constexpr std::size_t ring_alignment = 128;  // of its memory; divides ring_file_bytes()
inline constexpr std::uint32_t least_cells = 8;
inline constexpr std::uint32_t most_cells = 1U << 20U;
inline constexpr std::uint32_t least_bulk_bytes = 4096;
inline constexpr std::uint32_t most_bulk_bytes = 1U << 30U;

enum class CellKind : std::uint8_t {
  short_frame = 1,  // header and the whole payload (at most 16 bytes)
  long_frame = 2,   // header and the first chunk of the payload
  chunk = 3,        // the next chunk of the payload
  shut = 4,         // no more will come
};

// Where a chunk lies; stands in the last 16 bytes of a cell.
struct ChunkPlace {
  std::uint64_t position =
      0;  // counts the bytes of the bulk area from the beginning, a multiple of 64; the place is position % bulk bytes
  std::uint32_t bytes = 0;  // in one piece: never over the end of the area
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ChunkPlace) == inline_payload_bytes);

// One cache line. The control word is stored last (release) and makes the rest of the cell, and its chunk, valid.
struct alignas(cell_bytes) Cell {
  std::atomic<std::uint64_t> control{0};  // position + 1 (low 32 bits), CellKind << 32, 0 in the high 24 bits
  FrameHeader header;
  std::array<std::byte, inline_payload_bytes> tail{};  // payload, or ChunkPlace
};
static_assert(sizeof(Cell) == cell_bytes && offsetof(Cell, header) == 8 && offsetof(Cell, tail) == 48);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

[[nodiscard]] constexpr std::uint64_t cell_control(std::uint32_t position, CellKind kind) noexcept {
  return static_cast<std::uint64_t>(position + 1U) | (static_cast<std::uint64_t>(kind) << 32U);
}

// Written by the reader of a direction: what it has taken. Everything before may be overwritten.
struct alignas(cell_bytes) ReaderLine {
  std::atomic<std::uint32_t> cells{0};  // position of the next cell it waits for
  std::atomic<std::uint64_t> bulk{0};   // position in the bulk area
};
// Written by the writer of a direction: it found no room and wants to be woken.
struct alignas(cell_bytes) WriterLine {
  std::atomic<std::uint32_t> waiting{0};
};

// Of the layer above: who copies which piece of a large message that goes in this direction (wire/message.hpp).
struct alignas(cell_bytes) SharedLine {
  std::atomic<std::uint64_t> word{0};
};

// What a side has done with a ring. It leaves `away` once, and then stays what it is.
enum class RingSide : std::uint32_t {
  away = 0,     // it has not looked at the ring yet
  joined = 1,   // it has the ring mapped, or had
  refused = 2,  // it takes nothing from the ring, and its RingRefusal says why
  kept = 3,     // it has not looked yet, and may no longer refuse: the other side is about to end and keeps nothing
};

// Why a side has refused the ring: complete before its `attached` word says so.
struct RingRefusal {
  std::int32_t code = 0;  // of couplet.h
  std::uint32_t text_bytes = 0;
  std::array<char, 248> text{};
};
static_assert(sizeof(RingRefusal) == 256);

struct RingHeader {
  std::uint64_t magic = ring_magic;
  std::uint32_t version = ring_version;
  std::uint32_t header_bytes = ring_header_bytes;
  std::uint32_t cell_count = 0;  // of each direction, a power of two
  std::uint32_t bulk_bytes = 0;  // of each direction, a power of two
  std::uint32_t first_cell = 0;  // position of the first cell: so that idle rings do not share cache sets
  std::uint32_t reserved = 0;
  std::array<std::uint32_t, 2> peers{};                  // lower id, higher id
  std::array<std::uint32_t, 2> incarnations{};           // theirs
  std::array<std::uint64_t, 2> nonces{};                 // of their pages
  std::array<std::atomic<std::uint32_t>, 2> attached{};  // of each side: a RingSide
};
static_assert(sizeof(RingHeader) == 72 && offsetof(RingHeader, peers) == 32 && offsetof(RingHeader, nonces) == 48 &&
              offsetof(RingHeader, attached) == 64);

// What stands at fixed places of the first page.
struct RingFront {
  RingHeader header;
  alignas(ring_alignment) std::array<ReaderLine, 2> readers{};  // of the direction low -> high, of high -> low
  std::array<WriterLine, 2> writers{};
  std::array<SharedLine, 2> shared{};
  std::array<RingRefusal, 2> refusals{};  // of the side with the lower id, of the one with the higher
};
static_assert(offsetof(RingFront, refusals) == 512 && offsetof(RingFront, readers) == 128 &&
              offsetof(RingFront, writers) == 256 && offsetof(RingFront, shared) == 384 &&
              sizeof(RingFront) <= ring_header_bytes);

static_assert(alignof(RingFront) == ring_alignment);

// One direction, as pointers into the mapping.
struct RingDirection {
  Cell* cells = nullptr;
  std::byte* bulk = nullptr;
  ReaderLine* reader = nullptr;
  WriterLine* writer = nullptr;
  std::atomic<std::uint64_t>* shared = nullptr;
  std::uint32_t cell_count = 0;
  std::uint32_t bulk_bytes = 0;
  std::uint32_t first_cell = 0;
};

struct RingShape {
  std::uint32_t cell_count = 64;  // few: the lines of both sides stay in their nearest caches (measured: 40 ns at 256)
  std::uint32_t bulk_bytes = 128U << 10U;
};
// limit where a count is no power of two or outside the bounds above.
Status check_ring_shape(const RingShape& shape);
[[nodiscard]] std::size_t ring_file_bytes(const RingShape& shape) noexcept;

// A ring in mapped memory.
class RingMap {
 public:
  // Lays a new ring into zeroed memory of ring_file_bytes(): header (its counts come from shape) and cells.
  static Result<RingMap> lay_out(std::span<std::byte> memory, const RingShape& shape, const RingHeader& header);
  // protocol or version: this is no ring that this program understands, says why.
  static Result<RingMap> inspect(std::span<std::byte> memory);

  // Its counts were checked when the map was made, and may have changed since: shape() does not.
  [[nodiscard]] RingHeader& header() const noexcept { return front_->header; }
  [[nodiscard]] const RingShape& shape() const noexcept { return shape_; }
  // What the side `side` (0: of the lower id) has done with the ring; a word that is none of these counts as joined.
  [[nodiscard]] RingSide side(std::size_t side) const noexcept;
  // Joins as `side`. False: this side has joined or refused the ring before.
  [[nodiscard]] bool join(std::size_t side) const noexcept;
  // Refuses as `side`; a long text is cut. False: this side has joined or refused the ring before, or it may not refuse.
  [[nodiscard]] bool refuse(std::size_t side, const Status& why) const noexcept;
  // From here on `side` may no longer refuse. False: it has.
  [[nodiscard]] bool keep(std::size_t side) const noexcept;
  // Why `side` has refused; the peer's words, made printable. Only if side() says that it has.
  [[nodiscard]] Status refusal(std::size_t side) const;
  // 0: from the lower to the higher peer; 1: the other one.
  [[nodiscard]] RingDirection direction(std::size_t index) const noexcept;

 private:
  [[nodiscard]] bool change(std::size_t side, RingSide from, RingSide to) const noexcept;
  explicit RingMap(std::byte* memory) noexcept;
  RingFront* front_;
  std::byte* memory_;
  RingShape shape_;
  std::uint32_t first_cell_ = 0;
};

}  // namespace couplet::wire
