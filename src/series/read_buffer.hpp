// The reader's own memory for a batch: grows, is reused, asks for huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace couplet::series {

class ReadBuffer {
 public:
  ReadBuffer() = default;
  ~ReadBuffer();
  ReadBuffer(const ReadBuffer&) = delete;
  ReadBuffer& operator=(const ReadBuffer&) = delete;

  // At least `bytes`, cache line aligned; what was there is kept. memory error.
  Result<std::byte*> reserve(std::uint64_t bytes);

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace couplet::series
