#include "bench/series/plain_copy.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace couplet::bench {
namespace {

#if defined(__x86_64__)
__attribute__((target("avx2"))) void stream_avx2(std::byte* target, const std::byte* source,
                                                 std::uint64_t bytes) noexcept {
  const std::uint64_t head = (32 - (reinterpret_cast<std::uintptr_t>(target) & 31)) & 31;
  std::memcpy(target, source, head < bytes ? head : bytes);
  std::uint64_t at = head;
  for (; at + 32 <= bytes; at += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(target + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(source + at)));
  }
  if (at < bytes) {
    std::memcpy(target + at, source + at, bytes - at);
  }
}
#endif

void stream(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    stream_avx2(target, source, bytes);
    return;
  }
#endif
  std::memcpy(target, source, bytes);
}

}  // namespace

void fence() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void stream_row(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
  stream(target, source, bytes);
  fence();
}

void copy_box(std::byte* target, const std::byte* source, std::uint64_t row_bytes, std::uint64_t source_stride,
              std::uint64_t rows, bool streaming) noexcept {
  for (std::uint64_t row = 0; row < rows; ++row) {
    if (streaming) {
      stream(target + row * row_bytes, source + row * source_stride, row_bytes);
    } else {
      std::memcpy(target + row * row_bytes, source + row * source_stride, row_bytes);
    }
  }
}

}  // namespace couplet::bench
