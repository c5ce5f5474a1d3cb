#include "wire/ring.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace couplet::wire {
namespace {

std::size_t direction_bytes(const RingShape& shape) noexcept {
  return shape.cell_count * cell_bytes + shape.bulk_bytes;
}

}  // namespace

Status check_ring_shape(const RingShape& shape) {
  if (!std::has_single_bit(shape.cell_count) || shape.cell_count < least_cells || shape.cell_count > most_cells) {
    return fail(Code::limit, "a ring of {} cells: it must be a power of two from {} to {}", shape.cell_count,
                least_cells, most_cells);
  }
  if (!std::has_single_bit(shape.bulk_bytes) || shape.bulk_bytes < least_bulk_bytes ||
      shape.bulk_bytes > most_bulk_bytes) {
    return fail(Code::limit, "a ring with a bulk area of {} bytes: it must be a power of two from {} to {}",
                shape.bulk_bytes, least_bulk_bytes, most_bulk_bytes);
  }
  return {};
}

std::size_t ring_file_bytes(const RingShape& shape) noexcept {
  return ring_header_bytes + 2 * direction_bytes(shape);
}

RingMap::RingMap(std::byte* memory) noexcept
    : front_(std::launder(reinterpret_cast<RingFront*>(memory))), memory_(memory) {
  const RingHeader& header = front_->header;
  shape_ = {header.cell_count, header.bulk_bytes};
  first_cell_ = header.first_cell;
}

Result<RingMap> RingMap::lay_out(std::span<std::byte> memory, const RingShape& shape, const RingHeader& header) {
  COUPLET_TRY(check_ring_shape(shape));
  if (memory.size() < ring_file_bytes(shape)) {
    return fail(Code::argument, "a ring needs {} bytes, but has {}", ring_file_bytes(shape), memory.size());
  }
  auto* const front = new (memory.data()) RingFront;
  RingHeader& laid = front->header;
  laid.cell_count = shape.cell_count;
  laid.bulk_bytes = shape.bulk_bytes;
  laid.first_cell = header.first_cell % shape.cell_count;
  laid.peers = header.peers;
  laid.incarnations = header.incarnations;
  laid.nonces = header.nonces;
  const RingMap map(memory.data());
  for (const std::size_t index : {0U, 1U}) {
    const RingDirection direction = map.direction(index);
    direction.reader->cells.store(laid.first_cell, std::memory_order_relaxed);
    // Sets each cell as if it had been read in the lap before.
    for (std::uint32_t count = 0; count < shape.cell_count; ++count) {
      const std::uint32_t position = laid.first_cell + count;
      auto* const cell = new (direction.cells + (position % shape.cell_count)) Cell;
      cell->control.store(cell_control(position - shape.cell_count, CellKind::short_frame), std::memory_order_relaxed);
    }
  }
  std::atomic_thread_fence(std::memory_order_release);
  return map;
}

Result<RingMap> RingMap::inspect(std::span<std::byte> memory) {
  if (memory.size() < ring_header_bytes) {
    return fail(Code::protocol, "{} bytes are too few for a ring", memory.size());
  }
  const RingMap map(memory.data());
  const RingHeader& header = map.header();
  if (header.magic == __builtin_bswap64(ring_magic)) {
    return fail(Code::version, "the ring was made by a process with the other byte order");
  }
  if (header.magic != ring_magic) {
    return fail(Code::protocol, "not a ring: it begins with {:#018x}", header.magic);
  }
  if (header.version != ring_version || header.header_bytes != ring_header_bytes) {
    return fail(Code::version, "a ring of version {}, this program knows {}", header.version, ring_version);
  }
  const RingShape shape = map.shape_;
  const Status sound = check_ring_shape(shape);
  if (!sound.ok()) {
    return fail(Code::protocol, "damaged header of a ring: {}", sound.text());
  }
  if (memory.size() != ring_file_bytes(shape) || map.first_cell_ >= shape.cell_count) {
    return fail(Code::protocol, "damaged ring: {} bytes where its header asks for {}, first cell {} of {}",
                memory.size(), ring_file_bytes(shape), map.first_cell_, shape.cell_count);
  }
  return map;
}

RingSide RingMap::side(std::size_t side) const noexcept {
  const std::uint32_t word = front_->header.attached[side].load(std::memory_order_acquire);
  return word <= static_cast<std::uint32_t>(RingSide::kept) ? static_cast<RingSide>(word) : RingSide::joined;
}

bool RingMap::change(std::size_t side, RingSide from, RingSide to) const noexcept {
  auto word = static_cast<std::uint32_t>(from);
  return front_->header.attached[side].compare_exchange_strong(word, static_cast<std::uint32_t>(to),
                                                               std::memory_order_acq_rel);
}

bool RingMap::join(std::size_t side) const noexcept {
  return change(side, RingSide::away, RingSide::joined) || change(side, RingSide::kept, RingSide::joined);
}

bool RingMap::refuse(std::size_t side, const Status& why) const noexcept {
  if (this->side(side) != RingSide::away) {
    return false;
  }
  RingRefusal& refusal = front_->refusals[side];
  const std::string text = why.text();
  refusal.code = static_cast<std::int32_t>(why.code());
  refusal.text_bytes = static_cast<std::uint32_t>(std::min(text.size(), refusal.text.size()));
  std::copy_n(text.begin(), refusal.text_bytes, refusal.text.begin());
  return change(side, RingSide::away, RingSide::refused);
}

bool RingMap::keep(std::size_t side) const noexcept {
  static_cast<void>(change(side, RingSide::away, RingSide::kept));
  return this->side(side) != RingSide::refused;
}

Status RingMap::refusal(std::size_t side) const {
  const RingRefusal refusal = front_->refusals[side];
  std::string text(refusal.text.data(), std::min<std::size_t>(refusal.text_bytes, refusal.text.size()));
  for (char& each : text) {
    each = each < 0x20 || each == 0x7F ? '?' : each;
  }
  const auto code = static_cast<Code>(refusal.code);
  const bool known = code == Code::exists || code == Code::limit || code == Code::peer_lost || code == Code::no_space;
  return {known ? code : Code::unsupported, std::move(text)};
}

RingDirection RingMap::direction(std::size_t index) const noexcept {
  std::byte* const begin = memory_ + ring_header_bytes + index * direction_bytes(shape_);
  RingDirection direction;
  direction.cells = std::launder(reinterpret_cast<Cell*>(begin));
  direction.bulk = begin + shape_.cell_count * cell_bytes;
  direction.reader = &front_->readers[index];
  direction.writer = &front_->writers[index];
  direction.shared = &front_->shared[index].word;
  direction.cell_count = shape_.cell_count;
  direction.bulk_bytes = shape_.bulk_bytes;
  direction.first_cell = first_cell_;
  return direction;
}

}  // namespace couplet::wire
