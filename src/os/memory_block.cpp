#include "os/memory_block.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "os/error.hpp"

namespace couplet::os {
namespace {
constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) {
    ::munmap(data_, bytes_);
  }
}

Result<std::byte*> MemoryBlock::reserve(std::uint64_t bytes) {
  if (bytes <= bytes_ && data_ != nullptr) {
    return data_;
  }
  if (bytes > std::uint64_t{1} << 62) {
    return fail(Code::memory, "no memory for {} bytes", bytes);
  }
  const std::uint64_t wanted = (std::max(bytes, bytes_ + bytes_ / 2) / huge_page_bytes + 1) * huge_page_bytes;
  void* memory = data_ == nullptr ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                  : ::mremap(data_, bytes_, wanted, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) {
    return system_failure(errno, fmt::format("no memory for {} bytes", bytes));
  }
  ::madvise(memory, wanted, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(memory);
  bytes_ = wanted;
  return data_;
}

}  // namespace couplet::os
