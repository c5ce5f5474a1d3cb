// Copies between arrays that another process may be writing at the same time, and the choice of how to store.
// The instruction set is chosen at run time: AVX-512, AVX2 or plain x86-64; memcpy elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/copy_plan.hpp"

namespace couplet::layout {

enum class CopyMethod : std::uint8_t {
  cached,     // ordinary stores: for what is used again soon
  streaming,  // non-temporal stores: for what will not fit the cache; complete for others only after store_fence()
};

// Targets (rings, batches) of more bytes than this are stored around the cache. A third of the last-level cache of a common
// processor: what is asked of the C library or of the hypervisor is no guide (one reports 480 MB for 32).
inline constexpr std::uint64_t default_streaming_bytes = std::uint64_t{12} << 20;

[[nodiscard]] constexpr CopyMethod choose_method(std::uint64_t target_bytes, std::uint64_t streaming_bytes) noexcept {
  return target_bytes > streaming_bytes ? CopyMethod::streaming : CopyMethod::cached;
}

// Executes the plan. THE racy copy of this project: `source` may be overwritten meanwhile, in which case the target's
// content is a mixture, and the caller throws it away after looking at the slot's stamp again (series/slot_protocol.hpp).
// It reads each byte, tears at will and never faults. Source and target do not overlap.
void copy_racing(const CopyPlan& plan, std::byte* target, const std::byte* source, CopyMethod method) noexcept;

// `bytes` contiguous bytes, otherwise as copy_racing.
void copy_run(std::byte* target, const std::byte* source, std::uint64_t bytes, CopyMethod method) noexcept;

// Orders non-temporal stores before all later stores (and earlier ordinary ones before later non-temporal ones).
void store_fence() noexcept;

// "avx512", "avx2", "x86-64" or "memcpy".
[[nodiscard]] const char* copy_kernel_name() noexcept;

// For tests and benchmarks: one kernel by its name; nullptr where this processor has not got it.
using RowsKernel = void (*)(std::byte* target, std::uint64_t target_stride, const std::byte* source,
                            std::uint64_t source_stride, std::uint64_t row_bytes, std::uint64_t rows) noexcept;
[[nodiscard]] RowsKernel find_copy_kernel(const char* name, CopyMethod method) noexcept;

}  // namespace couplet::layout
