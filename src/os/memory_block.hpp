// Private anonymous memory that grows, keeps its contents, and asks for huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace couplet::os {

class MemoryBlock {
 public:
  MemoryBlock() = default;
  ~MemoryBlock();
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  // Returns at least `bytes`, page aligned; new memory is zero. It may move. Fails with memory if there is not so much.
  Result<std::byte*> reserve(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace couplet::os
