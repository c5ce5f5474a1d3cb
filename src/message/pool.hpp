// Memory that is kept for reuse: objects of one type, and blocks for payloads that no receive has asked for yet.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/assert.hpp"

namespace couplet::message {

// Objects in chunks. take() allocates only if more objects are in use than ever before. T is reset by assignment.
template <typename T>
class Pool {
 public:
  T* take() {
    if (free_.empty()) grow();
    T* object = free_.back();
    free_.pop_back();
    return object;
  }
  // The list has room for every object since its chunk was made.
  void give(T* object) noexcept { free_.push_back(object); }
  // Calls use(object) for each object, also for those that are not in use.
  template <typename Use>
  void for_each(const Use& use) {
    for (const auto& chunk : chunks_) {
      for (std::size_t index = 0; index < chunk_objects; ++index) use(chunk[index]);
    }
  }
  [[nodiscard]] std::size_t in_use() const noexcept { return chunks_.size() * chunk_objects - free_.size(); }

 private:
  static constexpr std::size_t chunk_objects = 64;
  void grow() {
    free_.reserve((chunks_.size() + 1) * chunk_objects);
    chunks_.push_back(std::make_unique<T[]>(chunk_objects));  // an exception here changes nothing
    for (std::size_t index = chunk_objects; index-- > 0;) free_.push_back(&chunks_.back()[index]);
  }
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<T*> free_;
};

// Blocks whose sizes are powers of two. At most `retained_bytes` of the blocks that are given back are kept. All blocks
// are given back before the pool is destroyed.
class BlockPool {
 public:
  explicit BlockPool(std::uint64_t retained_bytes) : most_retained_bytes_(retained_bytes) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    COUPLET_ASSERT(used_bytes_ == 0);
    for (auto& blocks : free_) {
      for (std::byte* block : blocks) delete[] block;
    }
  }

  std::byte* take(std::uint64_t bytes) {
    auto& blocks = free_[size_class(bytes)];
    std::byte* block = nullptr;
    if (blocks.empty()) {
      block = new std::byte[class_bytes(bytes)];
    } else {
      block = blocks.back();
      blocks.pop_back();
      retained_bytes_ -= class_bytes(bytes);
    }
    used_bytes_ += class_bytes(bytes);
    return block;
  }
  void give(std::byte* block, std::uint64_t bytes) noexcept {
    const std::uint64_t size = class_bytes(bytes);
    COUPLET_ASSERT(used_bytes_ >= size);
    used_bytes_ -= size;
    if (retained_bytes_ + size > most_retained_bytes_) {
      delete[] block;
      return;
    }
    try {
      free_[size_class(bytes)].push_back(block);
      retained_bytes_ += size;
    } catch (const std::bad_alloc&) {
      delete[] block;
    }
  }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_bytes_; }
  [[nodiscard]] std::uint64_t retained_bytes() const noexcept { return retained_bytes_; }

 private:
  static constexpr std::uint64_t smallest_bytes = 128;
  static std::uint64_t class_bytes(std::uint64_t bytes) noexcept {
    return std::bit_ceil(bytes < smallest_bytes ? smallest_bytes : bytes);
  }
  static std::size_t size_class(std::uint64_t bytes) noexcept {
    return static_cast<std::size_t>(std::countr_zero(class_bytes(bytes)));
  }
  std::array<std::vector<std::byte*>, 64> free_;
  std::uint64_t most_retained_bytes_;
  std::uint64_t retained_bytes_ = 0;
  std::uint64_t used_bytes_ = 0;
};

}  // namespace couplet::message
