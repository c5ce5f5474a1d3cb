#include "layout/source_ranges.hpp"

namespace couplet::layout {

// Goes from the innermost loop outwards: a loop repeats either one solid block or a list of ranges.
std::vector<ByteRange> source_ranges(const CopyPlan& plan, std::uint64_t max_gap_bytes, std::size_t max_ranges) {
  if (plan.run_bytes == 0) {
    return {};
  }
  std::vector<ByteRange> ranges = {{0, plan.run_bytes}};
  std::uint64_t span = plan.run_bytes;
  bool whole = false;
  for (int loop = plan.loop_count - 1; loop >= 0; --loop) {
    const auto& [count, stride, target_stride] = plan.loops[static_cast<std::size_t>(loop)];
    const std::uint64_t last = (count - 1) * stride;
    const bool solid = ranges.size() == 1 && (stride < span || stride - span <= max_gap_bytes);
    whole = whole || (!solid && ranges.size() * count > max_ranges);
    if (solid || whole) {
      ranges = {{0, last + span}};
    } else {
      const std::vector<ByteRange> inner = ranges;
      for (std::uint64_t index = 1; index < count; ++index) {
        for (const ByteRange& range : inner) {
          ranges.push_back({index * stride + range.begin, index * stride + range.end});
        }
      }
    }
    span += last;
  }
  for (ByteRange& range : ranges) {
    range.begin += plan.source_offset;
    range.end += plan.source_offset;
  }
  return ranges;
}

}  // namespace couplet::layout
