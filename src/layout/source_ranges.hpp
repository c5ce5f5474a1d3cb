// Says which bytes of its source a copy reads.
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

// Returns the ranges in order. Runs that are at most max_gap_bytes apart make one range. If this would give more than
// max_ranges, it returns the range from the first to the last byte. Only for plans whose source strides are not
// negative.
[[nodiscard]] std::vector<ByteRange> source_ranges(const CopyPlan& plan, std::uint64_t max_gap_bytes,
                                                   std::size_t max_ranges);

}  // namespace couplet::layout
