// A lane over two directions of a mapped ring (wire/ring.hpp), which self and shm share. The fast path is one cache
// line: the writer fills a cell and stores its control word last; the reader polls that word. The reader's progress is
// in a line of its own, which the writer reads only if its last known room is used up.
// Invariants: what the peer has written is checked, and never asserted; a short frame needs no allocation and no system
// call, except one ring of the bell while the peer sleeps.
// Tests: tests/unit/link, tests/conformance.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "link/link.hpp"
#include "os/doorbell.hpp"
#include "wire/ring.hpp"

namespace couplet::link {

class RingLane : public Lane {
 public:
  // `bell` is rung if the peer may sleep; nullptr if there is no process to wake. `where` is for sentences: "shm ring
  // to peer 3".
  RingLane(const LaneTraits& traits, const wire::RingDirection& out, const wire::RingDirection& in, os::Bell* bell,
           std::string where);

  [[nodiscard]] const LaneTraits& traits() const noexcept final { return traits_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) final;
  [[nodiscard]] int poll(FrameReceiver& receiver, int budget) final;
  [[nodiscard]] bool readable() const noexcept final;
  [[nodiscard]] bool want_write() const noexcept final { return blocked_; }
  [[nodiscard]] bool writable() const noexcept final;
  [[nodiscard]] std::uint64_t taken() const noexcept final {
    return out_.ring.reader->cells.load(std::memory_order_relaxed) +
           out_.ring.reader->bulk.load(std::memory_order_relaxed);
  }
  void shut() noexcept final;
  [[nodiscard]] const Status& failure() const noexcept final;

 protected:
  // Says whether anything was pushed. shut() does not count.
  [[nodiscard]] bool pushed() const noexcept { return out_.position - out_.ring.first_cell > (shut_ ? 1U : 0U); }

 private:
  // The sending side.
  struct Writer {
    wire::RingDirection ring;
    std::uint32_t position;  // position of the next cell
    // Cells before this position are known to be free. The one at it is kept for shut().
    std::uint32_t limit;
    std::uint64_t bulk = 0;    // the next free byte
    std::uint64_t bulk_limit;  // bytes before this are known to be free
    // The largest chunk. It is small enough that both sides copy at the same time.
    std::uint32_t most_chunk;
    std::uint32_t least_chunk;  // a smaller chunk is not worth a cell
  };
  // The receiving side.
  struct Reader {
    wire::RingDirection ring;
    std::uint32_t position;
    std::uint64_t bulk = 0;
    std::uint32_t told_cells;  // progress at the last check of the writer's waiting word
    std::uint64_t told_bulk = 0;
    wire::FrameHeader header;  // the header of a frame whose payload comes in several chunks
    std::uint32_t received = 0;
    bool in_frame = false;
    std::unique_ptr<std::byte[]> scratch;  // for payloads that the receiver does not place
    std::uint32_t scratch_bytes = 0;
  };
  enum class Step : std::uint8_t { idle, moved, frame, stop, failed };

  std::int64_t push_long(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset);
  bool renew_cells();
  bool renew_bulk();
  std::uint32_t next_chunk(std::uint64_t wanted);
  std::uint32_t chunk_that_fits(std::uint64_t wanted, std::uint64_t bulk_limit) const noexcept;
  std::int64_t blocked(std::uint64_t wanted);
  void unblock() noexcept;
  void publish(wire::Cell& cell, wire::CellKind kind) noexcept;

  Step take_cell(FrameReceiver& receiver);
  Step take_short(FrameReceiver& receiver, wire::Cell& cell);
  Step take_chunk(FrameReceiver& receiver, const wire::ChunkPlace& chunk);
  Step begin_long(FrameReceiver& receiver, wire::Cell& cell);
  Step ended();
  void give_back() noexcept;
  Step garbage(std::string_view what);
  void set_failure(Status why);

  LaneTraits traits_;
  Writer out_;
  Reader in_;
  os::Bell* bell_;
  bool blocked_ = false;
  bool shut_ = false;
  std::uint64_t blocked_wanted_ = 0;
  std::string where_;
  Status shut_here_;
  Status failure_;
};

}  // namespace couplet::link
