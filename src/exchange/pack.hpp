// Copies the bytes of regions to and from packed messages. Short runs are what matters here: a face of a block may be
// one number wide. Pure; tests: tests/unit/exchange/pack_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "exchange/plan.hpp"

namespace couplet::exchange {

// Copies the first `bytes` bytes of the regions, one after the other, to `target`. REQUIRES: they have as many.
void pack(std::span<const Region> regions, std::byte* target, std::uint64_t bytes) noexcept;
// Copies `bytes` bytes into the regions.
void unpack(std::span<const Region> regions, const std::byte* source, std::uint64_t bytes) noexcept;

}  // namespace couplet::exchange
