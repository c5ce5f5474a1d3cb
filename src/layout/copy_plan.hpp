// How the common part of two boxes is copied between two arrays that hold them: as few and as long contiguous runs as
// there are. Pure arithmetic; the copies are in copy.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "layout/box.hpp"

namespace couplet::layout {

// No box of one step may be larger; keeps every offset far from overflow.
inline constexpr std::uint64_t largest_box_bytes = std::uint64_t{1} << 60;

// Bytes of a box; limit error where they pass largest_box_bytes.
[[nodiscard]] Result<std::uint64_t> box_bytes(const Box& box, std::size_t element_bytes);

// Bytes from one element to the next in each dimension of an array; they may lead back, and may be 0 in a source.
using Strides = std::array<std::int64_t, max_dimensions>;
// Those of an array that holds `box` and nothing else, in C order.
[[nodiscard]] Strides dense_strides(const Box& box, std::size_t element_bytes) noexcept;
// argument error where the elements of `box` in an array of such strides would be 2^62 bytes and more apart.
[[nodiscard]] Status check_strides(const Box& box, const Strides& strides, std::string_view what);

// Nested loops, slowest first, around a contiguous run. Offsets and strides are bytes, modulo 2^64.
struct CopyPlan {
  struct Loop {
    std::uint64_t count = 0;
    std::uint64_t source_stride = 0;
    std::uint64_t target_stride = 0;
  };
  std::uint64_t run_bytes = 0;  // 0: nothing to copy
  std::uint64_t source_offset = 0;
  std::uint64_t target_offset = 0;
  int loop_count = 0;
  std::array<Loop, max_dimensions> loops{};

  [[nodiscard]] std::uint64_t runs() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return runs() * run_bytes; }
};

// From an array that holds `source` to one that holds `target`: what both have. Both boxes passed box_bytes() and have the
// same dimensions.
[[nodiscard]] CopyPlan plan_copy(const Box& source, const Box& target, std::size_t element_bytes);
// The same where the arrays have gaps or another order: offsets are from the first element of each box.
[[nodiscard]] CopyPlan plan_copy(const Box& source, const Strides& source_strides, const Box& target,
                                 const Strides& target_strides, std::size_t element_bytes);

}  // namespace couplet::layout
