// Packs a box of an array densely, in C order, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/copy.hpp"
#include "layout/copy_plan.hpp"

namespace couplet::layout {

// Executes the part of the plan that fills the bytes [begin, begin + bytes) of a dense target. The first byte of
// `target` is byte `begin`. The plan is one of plan_copy(source box, common box) and has all these bytes. It is racy as
// copy_racing is.
void pack_racing(const CopyPlan& plan, std::byte* target, const std::byte* source, std::uint64_t begin,
                 std::uint64_t bytes, CopyMethod method) noexcept;

}  // namespace couplet::layout
