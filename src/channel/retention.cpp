#include "channel/retention.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.hpp"

namespace couplet::channel {
namespace {

using Block = RetentionPool::Block;

constexpr std::uint32_t small_block_bytes = 16U << 10U;
constexpr std::uint32_t large_block_bytes = 160U << 10U;  // two of the largest copies
constexpr std::size_t max_spare_blocks = 8;               // for each of the two sizes

}  // namespace

RetentionPool::~RetentionPool() {
  COUPLET_ASSERT(used_bytes_ == 0);
  for (Spares* const spares : {&small_, &large_}) {
    while (spares->first != nullptr) {
      Block* const block = spares->first;
      spares->first = block->next;
      ::operator delete(block);
    }
  }
}

RetentionPool::Block* RetentionPool::take(std::size_t bytes) noexcept {
  const bool small = bytes <= small_block_bytes / 4;
  const std::uint32_t capacity = small ? small_block_bytes : large_block_bytes;
  Spares& spares = small ? small_ : large_;
  COUPLET_ASSERT(bytes <= capacity);
  if (used_bytes_ + capacity > max_bytes_) {
    return nullptr;
  }
  Block* block = spares.first;
  if (block != nullptr) {
    spares.first = block->next;
    --spares.count;
    *block = {.capacity = capacity};
  } else if (void* const memory = ::operator new(sizeof(Block) + capacity, std::nothrow)) {
    block = new (memory) Block{.capacity = capacity};
  }
  used_bytes_ += block == nullptr ? 0 : capacity;
  return block;
}

void RetentionPool::give(Block* block) noexcept {
  used_bytes_ -= block->capacity;
  Spares& spares = block->capacity == small_block_bytes ? small_ : large_;
  if (spares.count < max_spare_blocks) {
    block->next = spares.first;
    spares.first = block;
    ++spares.count;
  } else {
    ::operator delete(block);
  }
}

Retention::~Retention() {
  drop_copies_below(UINT64_MAX);
}

bool Retention::make_room(std::size_t payload_bytes) noexcept {
  const std::uint32_t size = size_of_copy(payload_bytes);
  if (payload_bytes > max_copied_bytes || copied_bytes_ + size > max_retained_bytes) {
    return false;
  }
  if (last_block_ != nullptr && last_block_->capacity - last_block_->end >= size) {
    return true;
  }
  Block* const block = pool_.take(size);
  if (block == nullptr) {
    return false;
  }
  (first_block_ == nullptr ? first_block_ : last_block_->next) = block;
  last_block_ = block;
  return true;
}

RetainedFrame Retention::frame_of(Copy& copy) noexcept {
  return {.number = copy.number,
          .header = &copy.header,
          .payload = {reinterpret_cast<const std::byte*>(&copy) + sizeof(Copy), copy.payload_bytes},
          .lane = &copy.lane};
}

RetainedFrame Retention::copy(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t number,
                              std::uint32_t lane) noexcept {
  const std::uint32_t size = size_of_copy(payload.size());
  COUPLET_ASSERT(lane != no_lane && last_block_ != nullptr && last_block_->capacity - last_block_->end >= size);
  Copy* const copy = new (last_block_->at(last_block_->end)) Copy{
      .number = number, .lane = lane, .payload_bytes = static_cast<std::uint32_t>(payload.size()), .header = header};
  if (!payload.empty()) {
    std::memcpy(reinterpret_cast<std::byte*>(copy) + sizeof(Copy), payload.data(), payload.size());
  }
  last_block_->end += size;
  copied_bytes_ += size;
  return frame_of(*copy);
}

void Retention::keep(Outgoing& outgoing) noexcept {
  COUPLET_ASSERT(outgoing.lane != no_lane);
  kept_.append(outgoing);
  kept_bytes_ += wire::frame_header_bytes + outgoing.payload.size();
}

void Retention::drop_copies_below(std::uint64_t number) noexcept {
  while (first_block_ != nullptr) {
    Block& block = *first_block_;
    while (block.begin < block.end && copy_at(block, block.begin).number < number) {
      const Copy& copy = copy_at(block, block.begin);
      const std::uint32_t size = size_of_copy(copy.payload_bytes);
      again_count_ -= copy.lane == no_lane ? 1 : 0;
      copied_bytes_ -= size;
      block.begin += size;
    }
    if (block.begin < block.end) {
      break;
    }
    first_block_ = block.next;
    last_block_ = first_block_ == nullptr ? nullptr : last_block_;
    pool_.give(&block);
    start_search();
  }
  if (again_copy_.block == first_block_ && first_block_ != nullptr) {
    again_copy_.offset = std::max(again_copy_.offset, first_block_->begin);
  }
}

Outgoing* Retention::take_kept_below(std::uint64_t number) noexcept {
  Outgoing* const outgoing = kept_.first();
  if (outgoing == nullptr || outgoing->number >= number) {
    return nullptr;
  }
  if (again_kept_ == outgoing) {
    again_kept_ = outgoing->next;
  }
  again_count_ -= outgoing->lane == no_lane ? 1 : 0;
  kept_bytes_ -= wire::frame_header_bytes + outgoing->payload.size();
  return kept_.take_first();
}

void Retention::start_search() noexcept {
  again_copy_ = {.block = first_block_, .offset = first_block_ == nullptr ? 0 : first_block_->begin};
  again_kept_ = kept_.first();
}

void Retention::lose_lane(std::uint32_t lane) noexcept {
  for (Block* block = first_block_; block != nullptr; block = block->next) {
    for (std::uint32_t offset = block->begin; offset < block->end;) {
      Copy& copy = copy_at(*block, offset);
      if (copy.lane == lane) {
        copy.lane = no_lane;
        ++again_count_;
      }
      offset += size_of_copy(copy.payload_bytes);
    }
  }
  for (Outgoing* outgoing = kept_.first(); outgoing != nullptr; outgoing = outgoing->next) {
    if (outgoing->lane == lane) {
      outgoing->lane = no_lane;
      ++again_count_;
    }
  }
  start_search();
}

RetainedFrame Retention::first_to_send_again() noexcept {
  if (again_count_ == 0) {
    return {};
  }
  Copy* copy = nullptr;
  while (again_copy_.block != nullptr && copy == nullptr) {
    if (again_copy_.offset >= again_copy_.block->end) {
      Block* const next = again_copy_.block->next;
      if (next == nullptr) {
        break;  // more copies may follow in this block
      }
      again_copy_ = {.block = next, .offset = next->begin};
      continue;
    }
    Copy& candidate = copy_at(*again_copy_.block, again_copy_.offset);
    if (candidate.lane == no_lane) {
      copy = &candidate;
    } else {
      again_copy_.offset += size_of_copy(candidate.payload_bytes);
    }
  }
  while (again_kept_ != nullptr && again_kept_->lane != no_lane) {
    again_kept_ = again_kept_->next;
  }
  if (again_kept_ != nullptr && (copy == nullptr || again_kept_->number < copy->number)) {
    return {.number = again_kept_->number,
            .header = &again_kept_->header,
            .payload = again_kept_->payload,
            .lane = &again_kept_->lane};
  }
  return copy == nullptr ? RetainedFrame{} : frame_of(*copy);
}

void Retention::send_again_over(const RetainedFrame& frame, std::uint32_t lane) noexcept {
  COUPLET_ASSERT(*frame.lane == no_lane && lane != no_lane);
  *frame.lane = lane;
  --again_count_;
}

}  // namespace couplet::channel
