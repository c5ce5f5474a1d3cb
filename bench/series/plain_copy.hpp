// What a programmer would write without this library: row by row, with memcpy or with non-temporal stores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace couplet::bench {

// Non-temporal where the processor has it (AVX2), memcpy elsewhere. Ends with a store fence.
void stream_row(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept;
// `rows` rows of row_bytes, source_stride apart, into a gapless target.
void copy_box(std::byte* target, const std::byte* source, std::uint64_t row_bytes, std::uint64_t source_stride,
              std::uint64_t rows, bool streaming) noexcept;
// Orders non-temporal stores before what follows.
void fence() noexcept;

}  // namespace couplet::bench
