// Copies between arrays that another process may be writing at the same time, and chooses how to store. The instruction
// set is chosen at run time: AVX-512, AVX2 or plain x86-64, and memcpy on other processors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/copy_plan.hpp"

namespace couplet::layout {

enum class CopyMethod : std::uint8_t {
  cached,  // ordinary stores, for data that is used again soon
  // Non-temporal stores, for data that does not fit into the cache. Others see all of it only after store_fence().
  streaming,
};

// Targets (rings, batches) of more bytes than this are stored around the cache. It is a third of the last-level
// cache of a common processor. The sizes that the C library or the hypervisor report are not reliable: one reports 480
// MB for 32.
inline constexpr std::uint64_t default_streaming_bytes = std::uint64_t{12} << 20;

[[nodiscard]] constexpr CopyMethod choose_method(std::uint64_t target_bytes, std::uint64_t streaming_bytes) noexcept {
  return target_bytes > streaming_bytes ? CopyMethod::streaming : CopyMethod::cached;
}

// Executes the plan. This is the only racy copy of the project: `source` may be overwritten meanwhile. The target is
// then a mixture, which the caller discards after it has checked the slot's stamp again (series/slot_protocol.hpp). It
// reads each byte, may tear, and never faults. Source and target do not overlap.
void copy_racing(const CopyPlan& plan, std::byte* target, const std::byte* source, CopyMethod method) noexcept;

// Copies `bytes` contiguous bytes. Otherwise it is as copy_racing.
void copy_run(std::byte* target, const std::byte* source, std::uint64_t bytes, CopyMethod method) noexcept;

// Orders non-temporal stores before all later stores, and earlier ordinary stores before later non-temporal ones.
void store_fence() noexcept;

// Returns "avx512", "avx2", "x86-64" or "memcpy".
[[nodiscard]] const char* copy_kernel_name() noexcept;

// Returns one kernel by its name, or nullptr if this processor does not have it. For tests and benchmarks.
using RowsKernel = void (*)(std::byte* target, std::uint64_t target_stride, const std::byte* source,
                            std::uint64_t source_stride, std::uint64_t row_bytes, std::uint64_t rows) noexcept;
[[nodiscard]] RowsKernel find_copy_kernel(const char* name, CopyMethod method) noexcept;

}  // namespace couplet::layout
