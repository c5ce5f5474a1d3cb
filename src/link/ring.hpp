// A lane over two directions of a mapped ring (wire/ring.hpp): what self and shm have in common.
// The fast path is one cache line: the writer fills a cell and stores its control word last; the reader polls that word.
// Progress travels back in a line of its own, which the writer reads only when its last known room is used up.
// Invariants: what the peer wrote is checked and never asserted on; no allocation and no system call on a short frame,
// except one ring of the bell while the peer sleeps. Tests: tests/unit/link, tests/conformance.
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
  // bell: rung when the peer may sleep; nullptr: there is nobody to wake. where: for sentences, "shm ring to peer 3".
  RingLane(const LaneTraits& traits, const wire::RingDirection& out, const wire::RingDirection& in, os::Bell* bell,
           std::string where);

  [[nodiscard]] const LaneTraits& traits() const noexcept final { return traits_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) final;
  [[nodiscard]] int poll(FrameReceiver& receiver, int budget) final;
  [[nodiscard]] bool readable() const noexcept final;
  [[nodiscard]] bool want_write() const noexcept final { return blocked_; }
  [[nodiscard]] bool writable() const noexcept final;
  void shut() noexcept final;
  [[nodiscard]] const Status& failure() const noexcept final;

 protected:
  // Whether anything was pushed; shut() does not count.
  [[nodiscard]] bool pushed() const noexcept { return out_.position - out_.ring.first_cell > (shut_ ? 1U : 0U); }

 private:
  // The sending side.
  struct Writer {
    wire::RingDirection ring;
    std::uint32_t position;     // of the next cell
    std::uint32_t limit;        // cells up to here (not included) are known to be free; the one after is kept for shut
    std::uint64_t bulk = 0;     // next free byte
    std::uint64_t bulk_limit;   // bytes up to here are known to be free
    std::uint32_t most_chunk;   // bytes of one chunk: small enough that both sides copy at the same time
    std::uint32_t least_chunk;  // not worth a cell below that
  };
  // The receiving side.
  struct Reader {
    wire::RingDirection ring;
    std::uint32_t position;
    std::uint64_t bulk = 0;
    std::uint32_t told_cells;  // progress at the last look at the writer's waiting word
    std::uint64_t told_bulk = 0;
    wire::FrameHeader header;  // of a frame whose payload comes in several chunks
    std::byte* place = nullptr;
    std::uint32_t received = 0;
    bool in_frame = false;
    std::unique_ptr<std::byte[]> scratch;  // for those that the receiver does not place
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
  void wake_waiting_writer() noexcept;
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
