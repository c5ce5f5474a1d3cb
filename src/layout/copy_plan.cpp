#include "layout/copy_plan.hpp"

#include "base/assert.hpp"

namespace couplet::layout {
namespace {

// Elements from the first of `box` to the first of `part`, which lies inside.
std::uint64_t offset_elements(const Box& box, const Box& part) {
  std::uint64_t offset = 0;
  for (int dimension = 0; dimension < box.dimensions; ++dimension) {
    const auto index = static_cast<std::size_t>(dimension);
    offset = offset * static_cast<std::uint64_t>(box.extent(dimension)) +
             static_cast<std::uint64_t>(part.start[index] - box.start[index]);
  }
  return offset;
}

// Adds a loop outside of all loops so far, or lengthens the outermost one where that says the same.
void add_outer_loop(CopyPlan& plan, const CopyPlan::Loop& loop) {
  if (loop.count == 1) {
    return;
  }
  if (plan.loop_count > 0) {
    CopyPlan::Loop& inner = plan.loops[static_cast<std::size_t>(plan.loop_count - 1)];
    if (loop.source_stride == inner.count * inner.source_stride &&
        loop.target_stride == inner.count * inner.target_stride) {
      inner.count *= loop.count;
      return;
    }
  }
  plan.loops[static_cast<std::size_t>(plan.loop_count++)] = loop;
}

}  // namespace

Result<std::uint64_t> box_bytes(const Box& box, std::size_t element_bytes) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(box.elements(), element_bytes, &bytes) || bytes > largest_box_bytes) {
    return fail(Code::limit, "box {} has more than 2^60 bytes", to_string(box));
  }
  return bytes;
}

std::uint64_t CopyPlan::runs() const noexcept {
  std::uint64_t count = run_bytes > 0 ? 1 : 0;
  for (int index = 0; index < loop_count; ++index) {
    count *= loops[static_cast<std::size_t>(index)].count;
  }
  return count;
}

CopyPlan plan_copy(const Box& source, const Box& target, std::size_t element_bytes) {
  CopyPlan plan;
  const auto common = intersect(source, target);
  if (!common) {
    return plan;
  }
  plan.source_offset = offset_elements(source, *common) * element_bytes;
  plan.target_offset = offset_elements(target, *common) * element_bytes;
  plan.run_bytes = element_bytes;
  std::uint64_t source_stride = element_bytes;  // of the dimension at hand
  std::uint64_t target_stride = element_bytes;
  for (int dimension = source.dimensions - 1; dimension >= 0; --dimension) {
    const auto count = static_cast<std::uint64_t>(common->extent(dimension));
    if (plan.loop_count == 0 && source_stride == plan.run_bytes && target_stride == plan.run_bytes) {
      plan.run_bytes *= count;
    } else {
      add_outer_loop(plan, {count, source_stride, target_stride});
    }
    source_stride *= static_cast<std::uint64_t>(source.extent(dimension));
    target_stride *= static_cast<std::uint64_t>(target.extent(dimension));
  }
  for (int low = 0, high = plan.loop_count - 1; low < high; ++low, --high) {  // gathered innermost first
    std::swap(plan.loops[static_cast<std::size_t>(low)], plan.loops[static_cast<std::size_t>(high)]);
  }
  COUPLET_ASSERT(plan.bytes() == common->elements() * element_bytes);
  return plan;
}

}  // namespace couplet::layout
