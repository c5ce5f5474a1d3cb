// The mapped ring: the bytes that two processes of one node share (docs/formats/shm-ring.md). A ring file has two
// directions. A direction is a number of cells of one cache line, written in turn, and a bulk area for longer payloads.
// A cell has a frame header with up to 16 bytes of payload, or says where a chunk of the bulk area is. Numbers have the
// host's byte order, since the file never leaves the host. This file lays out and inspects the bytes; link/ring.hpp
// moves them.
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
inline constexpr std::size_t ring_alignment = 128;  // alignment of its memory; divides ring_file_bytes()
inline constexpr std::uint32_t least_cells = 8;
inline constexpr std::uint32_t most_cells = 1U << 20U;
inline constexpr std::uint32_t least_bulk_bytes = 4096;
inline constexpr std::uint32_t most_bulk_bytes = 1U << 30U;

enum class CellKind : std::uint8_t {
  short_frame = 1,  // a header and the whole payload (at most 16 bytes)
  long_frame = 2,   // a header and the first chunk of the payload
  chunk = 3,        // the next chunk of the payload
  shut = 4,         // nothing further comes
};

// Says where a chunk is. It is stored in the last 16 bytes of a cell.
struct ChunkPlace {
  // Counts the bytes of the bulk area from the beginning, a multiple of 64. The place is position % bulk bytes.
  std::uint64_t position = 0;
  std::uint32_t bytes = 0;  // in one piece: never across the end of the area
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ChunkPlace) == inline_payload_bytes);

// One cache line. The control word is stored last (release), and makes the rest of the cell, and its chunk, valid.
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

// The reader of a direction writes here what it has taken. Everything before that may be overwritten.
struct alignas(cell_bytes) ReaderLine {
  std::atomic<std::uint32_t> cells{0};  // position of the next cell for which it waits
  std::atomic<std::uint64_t> bulk{0};   // position in the bulk area
};
// The writer of a direction writes here that it found no room and wants to be woken.
struct alignas(cell_bytes) WriterLine {
  std::atomic<std::uint32_t> waiting{0};
};

// For the layer above: says which side copies which piece of a large message in this direction (wire/message.hpp).
struct alignas(cell_bytes) SharedLine {
  std::atomic<std::uint64_t> word{0};
};

// The state of one side of a ring. It leaves `away` once, and then does not change.
enum class RingSide : std::uint32_t {
  away = 0,     // it has not checked the ring yet
  joined = 1,   // it has mapped the ring, or had mapped it before it ended
  refused = 2,  // it takes nothing from the ring, and its RingRefusal says why
  // It has not checked the ring yet, and may no longer refuse it: the other side is about to end and keeps nothing.
  kept = 3,
};

// Says why a side has refused the ring. It is complete before the side's `attached` word says so.
struct RingRefusal {
  std::int32_t code = 0;  // a code of couplet.h
  std::uint32_t text_bytes = 0;
  std::array<char, 248> text{};
};
static_assert(sizeof(RingRefusal) == 256);

struct RingHeader {
  std::uint64_t magic = ring_magic;
  std::uint32_t version = ring_version;
  std::uint32_t header_bytes = ring_header_bytes;
  std::uint32_t cell_count = 0;  // for each direction; a power of two
  std::uint32_t bulk_bytes = 0;  // for each direction; a power of two
  std::uint32_t first_cell = 0;  // position of the first cell, chosen so that idle rings do not share cache sets
  std::uint32_t reserved = 0;
  std::array<std::uint32_t, 2> peers{};                  // lower id, higher id
  std::array<std::uint32_t, 2> incarnations{};           // the incarnations of the peers
  std::array<std::uint64_t, 2> nonces{};                 // the nonces of their pages
  std::array<std::atomic<std::uint32_t>, 2> attached{};  // the RingSide of each side
};
static_assert(sizeof(RingHeader) == 72 && offsetof(RingHeader, peers) == 32 && offsetof(RingHeader, nonces) == 48 &&
              offsetof(RingHeader, attached) == 64);

// The parts of the first page, which are at fixed places.
struct RingFront {
  RingHeader header;
  alignas(ring_alignment) std::array<ReaderLine, 2> readers{};  // of low -> high, of high -> low
  std::array<WriterLine, 2> writers{};
  std::array<SharedLine, 2> shared{};
  std::array<RingRefusal, 2> refusals{};  // [0]: of the side with the lower id
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
  // Few, so that the lines of both sides stay in their nearest caches (measured: 40 ns more at 256).
  std::uint32_t cell_count = 64;
  std::uint32_t bulk_bytes = 128U << 10U;
};
// Returns limit if a count is not a power of two or is outside the bounds above.
Status check_ring_shape(const RingShape& shape);
[[nodiscard]] std::size_t ring_file_bytes(const RingShape& shape) noexcept;

// A ring in mapped memory.
class RingMap {
 public:
  // Lays out a new ring in zeroed memory of ring_file_bytes(): the header, whose counts come from `shape`, and the
  // cells.
  static Result<RingMap> lay_out(std::span<std::byte> memory, const RingShape& shape, const RingHeader& header);
  // Returns protocol or version, with the reason, if this is not a ring that this program understands.
  static Result<RingMap> inspect(std::span<std::byte> memory);

  // Its counts were checked when the map was made, and may have changed since. Those of shape() do not change.
  [[nodiscard]] RingHeader& header() const noexcept { return front_->header; }
  [[nodiscard]] const RingShape& shape() const noexcept { return shape_; }
  // Returns the state of side `side` (0: the side with the lower id). A word that is no state counts as joined.
  [[nodiscard]] RingSide side(std::size_t side) const noexcept;
  // Joins as `side`. Returns false if this side has joined or refused the ring before.
  [[nodiscard]] bool join(std::size_t side) const noexcept;
  // Refuses as `side`; a long text is cut. Returns false if this side has joined or refused the ring before, or may not
  // refuse.
  [[nodiscard]] bool refuse(std::size_t side, const Status& why) const noexcept;
  // Forbids `side` to refuse from now on. Returns false if it has refused.
  [[nodiscard]] bool keep(std::size_t side) const noexcept;
  // Returns why `side` has refused: the peer's words, made printable. Call it only if side() says that it has refused.
  [[nodiscard]] Status refusal(std::size_t side) const;
  // Returns direction 0 (from the lower to the higher peer) or 1 (the other way).
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
