// Which bytes of its source a copy touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/copy_plan.hpp"

namespace couplet::layout {

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

// In order; runs that are at most max_gap_bytes apart make one range. If that would give more than max_ranges, the range from the first
// to the last byte. Only for plans whose source strides do not lead back.
[[nodiscard]] std::vector<ByteRange> source_ranges(const CopyPlan& plan, std::uint64_t max_gap_bytes,
                                                   std::size_t max_ranges);

}  // namespace couplet::layout
