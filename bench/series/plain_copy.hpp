// The copies that a programmer would write without this library: row by row, with memcpy or with non-temporal stores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace couplet::bench {

// Copies with non-temporal stores if the processor has them (AVX2), else with memcpy. Ends with a store fence.
void stream_row(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept;
// Copies `rows` rows of row_bytes, which are source_stride apart, into a target without gaps.
void copy_box(std::byte* target, const std::byte* source, std::uint64_t row_bytes, std::uint64_t source_stride,
              std::uint64_t rows, bool streaming) noexcept;
// Orders non-temporal stores before all later stores.
void fence() noexcept;

}  // namespace couplet::bench
