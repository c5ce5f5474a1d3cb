#include "link/ring.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/assert.hpp"

namespace couplet::link {
namespace {

constexpr std::uint64_t round_up_to_line(std::uint64_t bytes) noexcept {
  return (bytes + wire::cell_bytes - 1) & ~static_cast<std::uint64_t>(wire::cell_bytes - 1);
}

// Copies a header whose members were set one by one a moment ago. A load that is wider than these stores would wait
// until they have left the processor's store buffer, so nothing may merge the loads.
[[gnu::always_inline]] inline void copy_fresh(const wire::FrameHeader& from, wire::FrameHeader& to) noexcept {
  const auto copy = [](const auto& source, auto& target) {
    target = source;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  };
  copy(from.magic, to.magic);
  copy(from.version, to.version);
  copy(from.kind, to.kind);
  copy(from.flags, to.flags);
  copy(from.sequence, to.sequence);
  copy(from.payload_bytes, to.payload_bytes);
  copy(from.check, to.check);
  copy(from.tag, to.tag);
  copy(from.context, to.context);
  copy(from.first, to.first);
  copy(from.second, to.second);
}

// Out of line, since it is rare, and what it needs would slow down the caller.
[[gnu::noinline]] void wake_waiting_writer(os::Bell* bell, const std::atomic<std::uint32_t>& waiting) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with blocked()
  // The writer clears the word itself, since the room may still be too little for it.
  if (bell != nullptr && waiting.load(std::memory_order_relaxed) != 0) {
    bell->ring_if_asleep();
  }
}

}  // namespace

RingLane::RingLane(const LaneTraits& traits, const wire::RingDirection& out, const wire::RingDirection& in,
                   os::Bell* bell, std::string where)
    : traits_(traits),
      out_{.ring = out,
           .position = out.first_cell,
           .limit = out.first_cell + out.cell_count - 1,
           .bulk_limit = out.bulk_bytes,
           .most_chunk = std::max(out.bulk_bytes / 8, wire::least_bulk_bytes / 4),
           .least_chunk = std::min(out.bulk_bytes / 8, wire::least_bulk_bytes)},
      in_{.ring = in, .position = in.first_cell, .told_cells = in.first_cell},
      bell_(bell),
      where_(std::move(where)),
      shut_here_(fail(Code::state, "{}: this side has shut the lane", where_)) {}

// ---- sending -------------------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void RingLane::publish(wire::Cell& cell, wire::CellKind kind) noexcept {
  cell.control.store(wire::cell_control(out_.position, kind), std::memory_order_release);
  ++out_.position;
  if (bell_ != nullptr) {
    bell_->ring_if_asleep();
  }
}

std::int64_t RingLane::push(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset) {
  COUPLET_ASSERT(header.payload_bytes == payload.size());
  if (offset != 0 || payload.size() > wire::inline_payload_bytes) {
    return push_long(header, payload, offset);
  }
  if (out_.position == out_.limit && !renew_cells()) {
    const std::int64_t answer = blocked(0);
    if (answer < 0 || blocked_) {
      return answer;
    }
  }
  wire::Cell& cell = out_.ring.cells[out_.position & (out_.ring.cell_count - 1)];
  copy_fresh(header, cell.header);
  if (payload.size() == sizeof(std::uint64_t)) {
    std::memcpy(cell.tail.data(), payload.data(), sizeof(std::uint64_t));
  } else if (!payload.empty()) {
    std::memcpy(cell.tail.data(), payload.data(), payload.size());
  }
  publish(cell, wire::CellKind::short_frame);
  unblock();
  return static_cast<std::int64_t>(wire::frame_header_bytes + payload.size());
}

std::int64_t RingLane::push_long(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                 std::uint64_t offset) {
  const std::uint64_t total = wire::frame_header_bytes + payload.size();
  std::uint64_t at = offset;
  while (at < total) {
    const std::uint64_t sent = at == 0 ? 0 : at - wire::frame_header_bytes;
    const bool cell_free = out_.position != out_.limit || renew_cells();
    const std::uint32_t chunk_bytes = cell_free ? next_chunk(payload.size() - sent) : 0;
    if (chunk_bytes == 0) {
      if (blocked(payload.size() - sent) < 0) {
        return -1;
      }
      if (blocked_) {
        break;
      }
      continue;  // room came free in the meantime
    }
    wire::Cell& cell = out_.ring.cells[out_.position & (out_.ring.cell_count - 1)];
    std::memcpy(out_.ring.bulk + (out_.bulk & (out_.ring.bulk_bytes - 1)), payload.data() + sent, chunk_bytes);
    const wire::ChunkPlace place{.position = out_.bulk, .bytes = chunk_bytes};
    std::memcpy(cell.tail.data(), &place, sizeof place);
    out_.bulk += round_up_to_line(chunk_bytes);
    if (at == 0) {
      copy_fresh(header, cell.header);
      at = wire::frame_header_bytes;
      publish(cell, wire::CellKind::long_frame);
    } else {
      publish(cell, wire::CellKind::chunk);
    }
    at += chunk_bytes;
    unblock();
  }
  return static_cast<std::int64_t>(at - offset);
}

// Reads how far the reader is. One cell is always kept free, so that shut() needs no room.
bool RingLane::renew_cells() {
  if (shut_ || !failure_.ok()) {
    return false;
  }
  const std::uint32_t read = out_.ring.reader->cells.load(std::memory_order_acquire);
  if (out_.position - read > out_.ring.cell_count) {
    static_cast<void>(garbage("the reader's progress is impossible"));
    return false;
  }
  out_.limit = read + out_.ring.cell_count - 1;
  return out_.position != out_.limit;
}

bool RingLane::renew_bulk() {
  const std::uint64_t read = out_.ring.reader->bulk.load(std::memory_order_acquire);
  if (out_.bulk - read > out_.ring.bulk_bytes) {
    static_cast<void>(garbage("the reader's progress in the bulk area is impossible"));
    return false;
  }
  out_.bulk_limit = read + out_.ring.bulk_bytes;
  return true;
}

// Returns how much of `wanted` goes into one chunk if the bulk area is free up to bulk_limit; 0 if it is not worth it
// yet.
std::uint32_t RingLane::chunk_that_fits(std::uint64_t wanted, std::uint64_t bulk_limit) const noexcept {
  const std::uint64_t to_end = out_.ring.bulk_bytes - (out_.bulk & (out_.ring.bulk_bytes - 1));
  const std::uint64_t best = std::min({wanted, to_end, static_cast<std::uint64_t>(out_.most_chunk)});
  const std::uint64_t room = bulk_limit - out_.bulk;
  if (room >= best) {
    return static_cast<std::uint32_t>(best);
  }
  return room >= out_.least_chunk ? static_cast<std::uint32_t>(room) : 0;
}

std::uint32_t RingLane::next_chunk(std::uint64_t wanted) {
  const std::uint32_t known = chunk_that_fits(wanted, out_.bulk_limit);
  return known != 0 || !renew_bulk() ? known : chunk_that_fits(wanted, out_.bulk_limit);
}

// There is no room: asks the reader to wake this process, then checks once more. Returns 0 with blocked_ set if it has
// to wait, and -1 if it has failed.
std::int64_t RingLane::blocked(std::uint64_t wanted) {
  if (shut_ || !failure_.ok()) {
    return -1;
  }
  blocked_ = true;
  blocked_wanted_ = wanted;
  out_.ring.writer->waiting.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with wake_waiting_writer
  if (renew_cells() && (wanted == 0 || next_chunk(wanted) != 0)) {
    unblock();
  }
  return failure_.ok() ? 0 : -1;
}

void RingLane::unblock() noexcept {
  if (blocked_) {
    blocked_ = false;
    out_.ring.writer->waiting.store(0, std::memory_order_relaxed);
  }
}

void RingLane::shut() noexcept {
  if (shut_) {
    return;
  }
  shut_ = true;
  unblock();
  // After a protocol error the content of the cells is unknown.
  if (failure_.code() != Code::protocol) {
    publish(out_.ring.cells[out_.position & (out_.ring.cell_count - 1)], wire::CellKind::shut);
  }
  out_.limit = out_.position;  // every push then calls renew_cells(), which refuses
}

const Status& RingLane::failure() const noexcept {
  return failure_.ok() && shut_ ? shut_here_ : failure_;
}

void RingLane::set_failure(Status why) {
  if (failure_.ok()) {
    failure_ = std::move(why);
    blocked_ = false;
    out_.limit = out_.position;
  }
}

RingLane::Step RingLane::garbage(std::string_view what) {
  set_failure(fail(Code::protocol, "{}: {}", where_, what));
  return Step::failed;
}

// ---- receiving -----------------------------------------------------------------------------------------------------

bool RingLane::readable() const noexcept {
  if (!failure_.ok()) {
    return true;
  }
  const wire::Cell& cell = in_.ring.cells[in_.position & (in_.ring.cell_count - 1)];
  return static_cast<std::uint32_t>(cell.control.load(std::memory_order_acquire)) !=
         in_.position + 1 - in_.ring.cell_count;
}

bool RingLane::writable() const noexcept {
  const std::uint32_t cells_used = out_.position - out_.ring.reader->cells.load(std::memory_order_acquire);
  const std::uint64_t bulk_limit = out_.ring.reader->bulk.load(std::memory_order_acquire) + out_.ring.bulk_bytes;
  return !failure_.ok() || (cells_used < out_.ring.cell_count - 1 &&
                            (blocked_wanted_ == 0 || chunk_that_fits(blocked_wanted_, bulk_limit) != 0));
}

// Publishes the progress. The line stays in this process's cache until the writer runs out of room and reads it.
[[gnu::always_inline]] inline void RingLane::give_back() noexcept {
  in_.ring.reader->bulk.store(in_.bulk, std::memory_order_release);
  in_.ring.reader->cells.store(in_.position, std::memory_order_release);
  // A writer that found no room has at least three quarters of the ring outstanding, so that one of these checks comes
  // after its own.
  if (in_.position - in_.told_cells >= in_.ring.cell_count / 4 || in_.bulk - in_.told_bulk >= in_.ring.bulk_bytes / 4) {
    in_.told_cells = in_.position;
    in_.told_bulk = in_.bulk;
    wake_waiting_writer(bell_, in_.ring.writer->waiting);
  }
}

int RingLane::poll(FrameReceiver& receiver, int budget) {
  if (!failure_.ok()) {
    return -1;
  }
  int frames = 0;
  bool moved = false;
  // A frame of many chunks does not keep the caller longer than one lap of the ring.
  for (std::uint32_t cells = 0; frames < budget && cells < in_.ring.cell_count; ++cells) {
    const Step step = take_cell(receiver);
    if (step == Step::idle) {
      break;
    }
    moved = true;
    if (step == Step::failed) {
      return frames > 0 ? frames : -1;
    }
    if (step != Step::moved) {
      ++frames;
    }
    if (step == Step::stop) {
      break;
    }
  }
  if (moved) {
    give_back();
  }
  return frames;
}

RingLane::Step RingLane::take_cell(FrameReceiver& receiver) {
  wire::Cell& cell = in_.ring.cells[in_.position & (in_.ring.cell_count - 1)];
  const std::uint64_t control = cell.control.load(std::memory_order_acquire);
  if (control == wire::cell_control(in_.position, wire::CellKind::short_frame)) [[likely]] {
    return take_short(receiver, cell);
  }
  if (static_cast<std::uint32_t>(control) == in_.position + 1 - in_.ring.cell_count) {
    return Step::idle;
  }
  if (static_cast<std::uint32_t>(control) != in_.position + 1 || (control >> 40U) != 0) {
    return garbage(fmt::format("cell {} holds control word {:#x}", in_.position, control));
  }
  switch (static_cast<wire::CellKind>(control >> 32U)) {
    case wire::CellKind::long_frame:
      return begin_long(receiver, cell);
    case wire::CellKind::chunk: {
      if (!in_.in_frame) {
        return garbage("a chunk that belongs to no frame");
      }
      wire::ChunkPlace chunk;
      std::memcpy(&chunk, cell.tail.data(), sizeof chunk);
      return take_chunk(receiver, chunk);
    }
    case wire::CellKind::shut:
      return ended();
    case wire::CellKind::short_frame:
      break;
  }
  return garbage(fmt::format("cell {} of unknown kind {}", in_.position, control >> 32U));
}

RingLane::Step RingLane::take_short(FrameReceiver& receiver, wire::Cell& cell) {
  const wire::FrameHeader header = cell.header;
  if (header.payload_bytes > wire::inline_payload_bytes || in_.in_frame) [[unlikely]] {
    return garbage(in_.in_frame ? "a frame inside another one"
                                : fmt::format("a short frame with {} bytes of payload", header.payload_bytes));
  }
  ++in_.position;
  return receiver.arrived(header, {cell.tail.data(), header.payload_bytes}) ? Step::frame : Step::stop;
}

RingLane::Step RingLane::begin_long(FrameReceiver& receiver, wire::Cell& cell) {
  const wire::FrameHeader header = cell.header;
  if (in_.in_frame) {
    return garbage("a frame inside another one");
  }
  if (header.payload_bytes <= wire::inline_payload_bytes || header.payload_bytes > traits_.largest_payload) {
    return garbage(fmt::format("a long frame with {} bytes of payload", header.payload_bytes));
  }
  wire::ChunkPlace chunk;
  std::memcpy(&chunk, cell.tail.data(), sizeof chunk);
  in_.header = header;
  in_.received = 0;
  in_.in_frame = true;
  const bool in_one_piece = chunk.bytes == header.payload_bytes && header.payload_bytes <= most_unplaced_bytes;
  place_ = in_one_piece ? nullptr : receiver.place(header);
  if (place_ == nullptr && chunk.bytes != header.payload_bytes) {
    if (in_.scratch_bytes < header.payload_bytes) {
      in_.scratch = std::make_unique_for_overwrite<std::byte[]>(header.payload_bytes);
      in_.scratch_bytes = header.payload_bytes;
    }
    place_ = in_.scratch.get();
  }
  return take_chunk(receiver, chunk);
}

RingLane::Step RingLane::take_chunk(FrameReceiver& receiver, const wire::ChunkPlace& chunk) {
  const std::uint64_t offset = in_.bulk & (in_.ring.bulk_bytes - 1);
  if (chunk.position != in_.bulk || chunk.bytes == 0 || chunk.bytes > in_.ring.bulk_bytes - offset ||
      chunk.bytes > in_.header.payload_bytes - in_.received) {
    return garbage(fmt::format("a chunk of {} bytes at {} where {} of {} bytes have come, up to {}", chunk.bytes,
                               chunk.position, in_.received, in_.header.payload_bytes, in_.bulk));
  }
  const std::byte* const source = in_.ring.bulk + offset;
  std::span<const std::byte> payload{source, chunk.bytes};
  if (place_ != nullptr) {
    std::memcpy(place_ + in_.received, source, chunk.bytes);
    payload = {place_, in_.header.payload_bytes};
  }
  in_.received += chunk.bytes;
  ++in_.position;
  Step step = Step::moved;
  if (in_.received == in_.header.payload_bytes) {
    in_.in_frame = false;
    step = receiver.arrived(in_.header, payload) ? Step::frame : Step::stop;
  }
  // The payload may have been in the ring until now.
  in_.bulk += round_up_to_line(chunk.bytes);
  give_back();
  return step;
}

RingLane::Step RingLane::ended() {
  ++in_.position;
  if (in_.in_frame) {
    set_failure(fail(Code::peer_lost, "{}: the peer stopped inside a frame, after {} of {} bytes", where_, in_.received,
                     in_.header.payload_bytes));
  } else {
    set_failure(fail(Code::end, "{}: shut by the peer", where_));
  }
  return Step::failed;
}

}  // namespace couplet::link
