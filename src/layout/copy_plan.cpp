#include "layout/copy_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace couplet::layout {
namespace {

// Returns the bytes from the first element of `box` to the first one of `part`, which is inside it.
std::uint64_t offset_bytes(const Box& box, const Box& part, const Strides& strides) {
  std::uint64_t offset = 0;
  for (std::size_t index = 0; index < static_cast<std::size_t>(box.dimensions); ++index) {
    offset +=
        static_cast<std::uint64_t>(part.start[index] - box.start[index]) * static_cast<std::uint64_t>(strides[index]);
  }
  return offset;
}

// Adds a loop around all loops so far, or lengthens the outermost loop if the result is the same.
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

Strides dense_strides(const Box& box, std::size_t element_bytes) noexcept {
  Strides strides{};
  std::uint64_t stride = element_bytes;
  for (int dimension = box.dimensions - 1; dimension >= 0; --dimension) {
    strides[static_cast<std::size_t>(dimension)] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(box.extent(dimension));
  }
  return strides;
}

Status check_strides(const Box& box, const Strides& strides, std::string_view what) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  std::uint64_t span = 0;
  for (int dimension = 0; dimension < box.dimensions; ++dimension) {
    const std::int64_t stride = strides[static_cast<std::size_t>(dimension)];
    const std::uint64_t length =
        stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
    const auto gaps = static_cast<std::uint64_t>(std::max<std::int64_t>(box.extent(dimension) - 1, 0));
    std::uint64_t reach = 0;
    const bool overflow = __builtin_mul_overflow(gaps, length, &reach) || reach > most - span;
    if (overflow) {
      return fail(Code::argument, "{}: a stride of {} bytes in dimension {} is too large for its {} elements", what,
                  stride, dimension, box.extent(dimension));
    }
    span += reach;
  }
  return {};
}

CopyPlan plan_copy(const Box& source, const Box& target, std::size_t element_bytes) {
  return plan_copy(source, dense_strides(source, element_bytes), target, dense_strides(target, element_bytes),
                   element_bytes);
}

CopyPlan plan_copy(const Box& source, const Strides& source_strides, const Box& target, const Strides& target_strides,
                   std::size_t element_bytes) {
  CopyPlan plan;
  const auto common = intersect(source, target);
  if (!common) {
    return plan;
  }
  plan.source_offset = offset_bytes(source, *common, source_strides);
  plan.target_offset = offset_bytes(target, *common, target_strides);
  plan.run_bytes = element_bytes;
  for (int dimension = source.dimensions - 1; dimension >= 0; --dimension) {
    const auto count = static_cast<std::uint64_t>(common->extent(dimension));
    const auto source_stride = static_cast<std::uint64_t>(source_strides[static_cast<std::size_t>(dimension)]);
    const auto target_stride = static_cast<std::uint64_t>(target_strides[static_cast<std::size_t>(dimension)]);
    if (plan.loop_count == 0 && source_stride == plan.run_bytes && target_stride == plan.run_bytes) {
      plan.run_bytes *= count;
    } else {
      add_outer_loop(plan, {count, source_stride, target_stride});
    }
  }
  // The loops were gathered with the innermost first.
  for (int low = 0, high = plan.loop_count - 1; low < high; ++low, --high) {
    std::swap(plan.loops[static_cast<std::size_t>(low)], plan.loops[static_cast<std::size_t>(high)]);
  }
  COUPLET_ASSERT(plan.bytes() == common->elements() * element_bytes);
  return plan;
}

}  // namespace couplet::layout
