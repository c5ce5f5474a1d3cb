// How the common part of two boxes is copied between two arrays that hold them: as few and as long contiguous runs as
// there are. Pure arithmetic; the copies are in copy.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "layout/box.hpp"

namespace couplet::layout {

// No box of one step may be larger; keeps every offset far from overflow.
inline constexpr std::uint64_t largest_box_bytes = std::uint64_t{1} << 60;

// Bytes of a box; limit error where they pass largest_box_bytes.
[[nodiscard]] Result<std::uint64_t> box_bytes(const Box& box, std::size_t element_bytes);

// Nested loops, slowest first, around a contiguous run. Offsets and strides are bytes.
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

}  // namespace couplet::layout
