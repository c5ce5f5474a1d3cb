// Memory of a method: aligned to a cache line, not initialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace couplet::exchange {

inline constexpr std::size_t cache_line_bytes = 64;

struct FreeBuffer {
  void operator()(std::byte* memory) const noexcept { ::operator delete[](memory, std::align_val_t(cache_line_bytes)); }
};
using Buffer = std::unique_ptr<std::byte[], FreeBuffer>;

// Throws std::bad_alloc. It has at least one byte.
[[nodiscard]] inline Buffer make_buffer(std::uint64_t bytes) {
  auto* const memory =
      static_cast<std::byte*>(::operator new[](bytes == 0 ? 1 : bytes, std::align_val_t(cache_line_bytes)));
  return Buffer(memory);
}

}  // namespace couplet::exchange
