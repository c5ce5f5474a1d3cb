// Plans how the common part of two boxes is copied between two arrays that hold them, in as few and as long contiguous
// runs as possible. Pure arithmetic; copy.hpp executes the plans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "layout/box.hpp"

namespace couplet::layout {

// No box of one step may be larger. This keeps every offset far from overflow.
inline constexpr std::uint64_t largest_box_bytes = std::uint64_t{1} << 60;

// Returns the bytes of a box, or a limit error if they exceed largest_box_bytes.
[[nodiscard]] Result<std::uint64_t> box_bytes(const Box& box, std::size_t element_bytes);

// The bytes from one element to the next in each dimension of an array. They may be negative, and may be 0 in a source.
using Strides = std::array<std::int64_t, max_dimensions>;
// Returns the strides of an array that holds `box` and nothing else, in C order.
[[nodiscard]] Strides dense_strides(const Box& box, std::size_t element_bytes) noexcept;
// Returns an argument error if elements of `box` in an array with these strides would be 2^62 or more bytes apart.
[[nodiscard]] Status check_strides(const Box& box, const Strides& strides, std::string_view what);

// Nested loops, slowest first, around a contiguous run. Offsets and strides are in bytes, modulo 2^64.
struct CopyPlan {
  struct Loop {
    std::uint64_t count = 0;
    std::uint64_t source_stride = 0;
    std::uint64_t target_stride = 0;
  };
  std::uint64_t run_bytes = 0;  // 0: there is nothing to copy
  std::uint64_t source_offset = 0;
  std::uint64_t target_offset = 0;
  int loop_count = 0;
  std::array<Loop, max_dimensions> loops{};

  [[nodiscard]] std::uint64_t runs() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return runs() * run_bytes; }
};

// Plans a copy of the common part from an array that holds `source` to one that holds `target`. Both boxes have passed
// box_bytes() and have the same number of dimensions.
[[nodiscard]] CopyPlan plan_copy(const Box& source, const Box& target, std::size_t element_bytes);
// Plans the same for arrays with gaps or in another order. Offsets are counted from the first element of each box.
[[nodiscard]] CopyPlan plan_copy(const Box& source, const Strides& source_strides, const Box& target,
                                 const Strides& target_strides, std::size_t element_bytes);

}  // namespace couplet::layout
