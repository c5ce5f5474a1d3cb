#include "layout/pack.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace couplet::layout {
namespace {

// The place in the source at which run number `run` begins, and the number of runs that follow it in the innermost
// loop.
struct Place {
  std::uint64_t source_offset;
  std::uint64_t runs_in_loop;
};

Place place_of(const CopyPlan& plan, std::uint64_t run) noexcept {
  Place place{plan.source_offset, 1};
  for (int index = plan.loop_count - 1; index >= 0; --index) {
    const CopyPlan::Loop& loop = plan.loops[static_cast<std::size_t>(index)];
    const std::uint64_t at = run % loop.count;
    run /= loop.count;
    place.source_offset += at * loop.source_stride;
    if (index == plan.loop_count - 1) {
      place.runs_in_loop = loop.count - at;
    }
  }
  return place;
}

}  // namespace

void pack_racing(const CopyPlan& plan, std::byte* target, const std::byte* source, std::uint64_t begin,
                 std::uint64_t bytes, CopyMethod method) noexcept {
  COUPLET_ASSERT(begin + bytes <= plan.bytes());
  while (bytes > 0) {
    const std::uint64_t inside = begin % plan.run_bytes;
    const Place place = place_of(plan, begin / plan.run_bytes);
    std::uint64_t taken = 0;
    // Whole runs of the innermost loop are copied together.
    if (inside == 0 && bytes >= plan.run_bytes && plan.loop_count > 0) {
      CopyPlan rows;
      rows.run_bytes = plan.run_bytes;
      rows.source_offset = place.source_offset;
      rows.loop_count = 1;
      rows.loops[0] = {std::min(place.runs_in_loop, bytes / plan.run_bytes),
                       plan.loops[static_cast<std::size_t>(plan.loop_count - 1)].source_stride, plan.run_bytes};
      copy_racing(rows, target, source, method);
      taken = rows.bytes();
    } else {
      taken = std::min(bytes, plan.run_bytes - inside);
      copy_run(target, source + place.source_offset + inside, taken, method);
    }
    target += taken;
    begin += taken;
    bytes -= taken;
  }
}

}  // namespace couplet::layout
