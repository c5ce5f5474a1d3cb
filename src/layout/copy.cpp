#include "layout/copy.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define COUPLET_X86 1
#else
#define COUPLET_X86 0
#endif

// The race is by design (see copy_racing). This is the only place that tells ThreadSanitizer so.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUPLET_RACY __attribute__((no_sanitize("thread"), disable_sanitizer_instrumentation))
#endif
#endif
#ifndef COUPLET_RACY
#define COUPLET_RACY __attribute__((no_sanitize("thread")))
#endif

namespace couplet::layout {
namespace {

constexpr std::uint64_t cache_line = 64;

template <typename Word>
COUPLET_RACY inline void move_word(std::byte* target, const std::byte* source) noexcept {
  Word word;
  __builtin_memcpy(&word, source, sizeof word);
  __builtin_memcpy(target, &word, sizeof word);
}

// Copies up to 64 bytes: words from the front, and one that ends with the last byte. They may overlap.
COUPLET_RACY inline void copy_short(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
  std::uint64_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    move_word<std::uint64_t>(target + at, source + at);
  }
  if (at == bytes) {
    return;
  }
  if (bytes >= 8) {
    move_word<std::uint64_t>(target + bytes - 8, source + bytes - 8);
  } else if (bytes >= 4) {
    move_word<std::uint32_t>(target, source);
    move_word<std::uint32_t>(target + bytes - 4, source + bytes - 4);
  } else {
    for (at = 0; at < bytes; ++at) {
      move_word<std::byte>(target + at, source + at);
    }
  }
}

// Strides are numbers modulo 2^64, because those of a user's array may be negative.
constexpr std::ptrdiff_t signed_bytes(std::uint64_t bytes) noexcept {
  return static_cast<std::ptrdiff_t>(bytes);
}

struct TwoWords {
  std::uint64_t low;
  std::uint64_t high;
};

// Copies rows of one element: columns, transposed and interleaved arrays.
template <typename Word>
COUPLET_RACY void copy_elements(std::byte* target, std::uint64_t target_stride, const std::byte* source,
                                std::uint64_t source_stride, std::uint64_t /*row_bytes*/, std::uint64_t rows) noexcept {
  for (std::uint64_t row = 0; row < rows; ++row) {
    move_word<Word>(target + signed_bytes(row * target_stride), source + signed_bytes(row * source_stride));
  }
}

// Prefetches the first lines of the next row, which the hardware's prefetcher cannot guess. It saves about 15 % of a
// strided copy.
inline void prefetch_lines(const std::byte* source) noexcept {
  constexpr std::uint64_t lines = 4;
  for (std::uint64_t line = 0; line < lines; ++line) {
    __builtin_prefetch(source + line * cache_line);
  }
}

#if COUPLET_X86
#define COUPLET_SUFFIX(name) name##_avx512
#define COUPLET_TARGET COUPLET_RACY __attribute__((target("avx512f"))) static
#define COUPLET_VECTOR __m512i
#define COUPLET_LOAD(address) _mm512_loadu_si512(address)
#define COUPLET_STORE(address, value) _mm512_storeu_si512(address, value)
#define COUPLET_STREAM(address, value) _mm512_stream_si512(reinterpret_cast<__m512i*>(address), value)
#include "layout/copy_rows.inc"
#undef COUPLET_SUFFIX
#undef COUPLET_TARGET
#undef COUPLET_VECTOR
#undef COUPLET_LOAD
#undef COUPLET_STORE
#undef COUPLET_STREAM

#define COUPLET_SUFFIX(name) name##_avx2
#define COUPLET_TARGET COUPLET_RACY __attribute__((target("avx2"))) static
#define COUPLET_VECTOR __m256i
#define COUPLET_LOAD(address) _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(address))
#define COUPLET_STORE(address, value) _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(address), value)
#define COUPLET_STREAM(address, value) _mm256_stream_si256(reinterpret_cast<__m256i*>(address), value)
#include "layout/copy_rows.inc"
#undef COUPLET_SUFFIX
#undef COUPLET_TARGET
#undef COUPLET_VECTOR
#undef COUPLET_LOAD
#undef COUPLET_STORE
#undef COUPLET_STREAM

#define COUPLET_SUFFIX(name) name##_plain
#define COUPLET_TARGET COUPLET_RACY static
#define COUPLET_VECTOR __m128i
#define COUPLET_LOAD(address) _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(address))
#define COUPLET_STORE(address, value) _mm_storeu_si128(reinterpret_cast<__m128i_u*>(address), value)
#define COUPLET_STREAM(address, value) _mm_stream_si128(reinterpret_cast<__m128i*>(address), value)
#include "layout/copy_rows.inc"

bool has_avx512() noexcept {
  return __builtin_cpu_supports("avx512f") != 0;
}
bool has_avx2() noexcept {
  return __builtin_cpu_supports("avx2") != 0;
}
#endif

// Copies rows on processors without a kernel of their own. It is compiled everywhere, so that it is tested everywhere.
COUPLET_RACY void copy_rows_memcpy(std::byte* target, std::uint64_t target_stride, const std::byte* source,
                                   std::uint64_t source_stride, std::uint64_t row_bytes, std::uint64_t rows) noexcept {
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::memcpy(target + signed_bytes(row * target_stride), source + signed_bytes(row * source_stride), row_bytes);
  }
}
bool always() noexcept {
  return true;
}

struct Kernel {
  const char* name;
  bool (*available)() noexcept;
  RowsKernel cached;
  RowsKernel streaming;
};

constexpr std::array kernels = {
#if COUPLET_X86
    Kernel{"avx512", has_avx512, copy_rows_cached_avx512, copy_rows_streaming_avx512},
    Kernel{"avx2", has_avx2, copy_rows_cached_avx2, copy_rows_streaming_avx2},
    Kernel{"x86-64", always, copy_rows_cached_plain, copy_rows_streaming_plain},
#endif
    Kernel{"memcpy", always, copy_rows_memcpy, copy_rows_memcpy},
};

// Returns nullptr if the length of a row is not that of one element.
RowsKernel elements_kernel(std::uint64_t row_bytes) noexcept {
  switch (row_bytes) {
    case 1:
      return copy_elements<std::uint8_t>;
    case 2:
      return copy_elements<std::uint16_t>;
    case 4:
      return copy_elements<std::uint32_t>;
    case 8:
      return copy_elements<std::uint64_t>;
    case 16:
      return copy_elements<TwoWords>;
    default:
      return nullptr;
  }
}

const Kernel& best_kernel() noexcept {
  static const Kernel* const best = [] {
    const Kernel* kernel = kernels.data();
    while (!kernel->available()) {
      ++kernel;
    }
    return kernel;
  }();
  return *best;
}

}  // namespace

void copy_racing(const CopyPlan& plan, std::byte* target, const std::byte* source, CopyMethod method) noexcept {
  if (plan.run_bytes == 0) {
    return;
  }
  const Kernel& kernel = best_kernel();
  RowsKernel rows = method == CopyMethod::streaming ? kernel.streaming : kernel.cached;
  if (plan.run_bytes <= sizeof(TwoWords)) {
    const RowsKernel elements = elements_kernel(plan.run_bytes);
    rows = elements != nullptr ? elements : rows;
  }
  const int outer = plan.loop_count > 0 ? plan.loop_count - 1 : 0;
  const CopyPlan::Loop inner = plan.loop_count > 0 ? plan.loops[static_cast<std::size_t>(outer)]
                                                   : CopyPlan::Loop{1, plan.run_bytes, plan.run_bytes};
  target += signed_bytes(plan.target_offset);
  source += signed_bytes(plan.source_offset);
  std::array<std::uint64_t, max_dimensions> index{};
  for (;;) {
    rows(target, inner.target_stride, source, inner.source_stride, plan.run_bytes, inner.count);
    // Go to the next combination of the outer loops; the last of them varies fastest.
    int loop = outer - 1;
    for (; loop >= 0; --loop) {
      const CopyPlan::Loop& at = plan.loops[static_cast<std::size_t>(loop)];
      target += signed_bytes(at.target_stride);
      source += signed_bytes(at.source_stride);
      if (++index[static_cast<std::size_t>(loop)] < at.count) {
        break;
      }
      index[static_cast<std::size_t>(loop)] = 0;
      target -= signed_bytes(at.count * at.target_stride);
      source -= signed_bytes(at.count * at.source_stride);
    }
    if (loop < 0) {
      return;
    }
  }
}

void copy_run(std::byte* target, const std::byte* source, std::uint64_t bytes, CopyMethod method) noexcept {
  CopyPlan plan;
  plan.run_bytes = bytes;
  copy_racing(plan, target, source, method);
}

void store_fence() noexcept {
#if COUPLET_X86
  _mm_sfence();
#else
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

const char* copy_kernel_name() noexcept {
  return best_kernel().name;
}

RowsKernel find_copy_kernel(const char* name, CopyMethod method) noexcept {
  for (const Kernel& kernel : kernels) {
    if (std::strcmp(kernel.name, name) == 0 && kernel.available()) {
      return method == CopyMethod::streaming ? kernel.streaming : kernel.cached;
    }
  }
  return nullptr;
}

}  // namespace couplet::layout
