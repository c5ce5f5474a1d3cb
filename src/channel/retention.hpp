// Keeps the frames that were sent over lanes that may break until the peer has acknowledged them: small ones as copies,
// large ones where the caller has them. Above: sender. Below: wire. Invariants: no allocation throws: without memory
// there is no room; the copies of one channel are bounded by max_retained_bytes, those of all channels that share a
// pool by the pool's bound; a channel with nothing unacknowledged holds no memory. Tests:
// tests/unit/channel/retention_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "channel/outgoing.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

// Larger payloads are not copied.
inline constexpr std::size_t max_copied_bytes = std::size_t{64} << 10;
// Copies of one channel, with what each of them costs beside its payload.
inline constexpr std::size_t max_retained_bytes = std::size_t{1} << 20;

// Memory for copies; shared by the channels of a table.
class RetentionPool {
 public:
  struct Block {
    Block* next = nullptr;
    std::uint32_t capacity = 0;  // bytes that follow this structure
    std::uint32_t begin = 0;     // where the first copy begins that is still needed
    std::uint32_t end = 0;
    [[nodiscard]] std::byte* at(std::uint32_t offset) noexcept {
      return reinterpret_cast<std::byte*>(this) + sizeof(Block) + offset;
    }
  };
  static constexpr std::uint64_t default_max_bytes = std::uint64_t{64} << 20;

  explicit RetentionPool(std::uint64_t max_bytes = default_max_bytes) noexcept : max_bytes_(max_bytes) {}
  ~RetentionPool();
  RetentionPool(const RetentionPool&) = delete;
  RetentionPool& operator=(const RetentionPool&) = delete;

  // An empty block with room for so many bytes; nullptr: the bound is reached, or there is no memory.
  [[nodiscard]] Block* take(std::size_t bytes) noexcept;
  void give(Block* block) noexcept;
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_bytes_; }

 private:
  std::uint64_t max_bytes_;
  std::uint64_t used_bytes_ = 0;
  // Blocks of one size that are not in use, so that a steady flow of frames allocates nothing.
  struct Spares {
    Block* first = nullptr;
    std::size_t count = 0;
  };
  Spares small_;
  Spares large_;
};

// One frame that is kept. header == nullptr: there is none.
struct RetainedFrame {
  std::uint64_t number = 0;
  wire::FrameHeader* header = nullptr;
  std::span<const std::byte> payload;
  std::uint32_t* lane = nullptr;
};

class Retention {
 public:
  static constexpr std::uint32_t no_lane = 0;  // the frame is to be sent again

  explicit Retention(RetentionPool& pool) noexcept : pool_(pool) {}
  ~Retention();
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  [[nodiscard]] bool empty() const noexcept { return copied_bytes_ == 0 && kept_.empty(); }
  // Payloads of all that is kept, and what each frame costs beside.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return copied_bytes_ + kept_bytes_; }
  // Is there no room for a copy of the largest size? An acknowledgement makes room.
  [[nodiscard]] bool is_full() const noexcept {
    return copied_bytes_ + size_of_copy(max_copied_bytes) > max_retained_bytes;
  }
  // May a payload of that size be copied without further memory?
  [[nodiscard]] bool has_room(std::size_t payload_bytes) const noexcept {
    const std::uint32_t size = size_of_copy(payload_bytes);
    return payload_bytes <= max_copied_bytes && copied_bytes_ + size <= max_retained_bytes && last_block_ != nullptr &&
           last_block_->capacity - last_block_->end >= size;
  }
  // Prepares a copy of a payload of that size; false: it has to be kept where it is, or to wait.
  [[nodiscard]] bool make_room(std::size_t payload_bytes) noexcept;
  // REQUIRES: make_room() for this payload; a higher number than ever before; a lane.
  RetainedFrame copy(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t number,
                     std::uint32_t lane) noexcept;
  // Keeps it where it is; number and lane are set. REQUIRES: a higher number than ever before; a lane.
  void keep(Outgoing& outgoing) noexcept;

  // Memory that payloads of kept frames use is moved.
  void relocate(const link::Relocation& memory) noexcept { kept_.relocate(memory); }
  // To be called when the peer has all frames below `number`: forgets their copies.
  void drop_copies_below(std::uint64_t number) noexcept;
  // To be called then, too: returns the kept frames below `number`, one with each call; nullptr if there are none left.
  [[nodiscard]] Outgoing* take_kept_below(std::uint64_t number) noexcept;

  // The lane has broken: its frames are to be sent again.
  void lose_lane(std::uint32_t lane) noexcept;
  [[nodiscard]] bool any_to_send_again() const noexcept { return again_count_ != 0; }
  // The one with the lowest number.
  [[nodiscard]] RetainedFrame first_to_send_again() noexcept;
  // It goes over that lane now. frame: from first_to_send_again().
  void send_again_over(const RetainedFrame& frame, std::uint32_t lane) noexcept;

 private:
  struct Copy {
    std::uint64_t number = 0;
    std::uint32_t lane = 0;
    std::uint32_t payload_bytes = 0;
    wire::FrameHeader header;
  };
  // Where the search for frames to be sent again has come to.
  struct Place {
    RetentionPool::Block* block = nullptr;
    std::uint32_t offset = 0;
  };
  [[nodiscard]] static std::uint32_t size_of_copy(std::size_t payload_bytes) noexcept {
    return static_cast<std::uint32_t>(sizeof(Copy) + ((payload_bytes + 7U) & ~std::size_t{7}));
  }
  [[nodiscard]] static Copy& copy_at(RetentionPool::Block& block, std::uint32_t offset) noexcept {
    return *reinterpret_cast<Copy*>(block.at(offset));
  }
  [[nodiscard]] static RetainedFrame frame_of(Copy& copy) noexcept;
  void start_search() noexcept;

  RetentionPool& pool_;
  RetentionPool::Block* first_block_ = nullptr;
  RetentionPool::Block* last_block_ = nullptr;
  std::uint64_t copied_bytes_ = 0;
  OutgoingQueue kept_;  // in the order of their numbers
  std::uint64_t kept_bytes_ = 0;
  std::size_t again_count_ = 0;
  Place again_copy_;
  Outgoing* again_kept_ = nullptr;
};

}  // namespace couplet::channel
