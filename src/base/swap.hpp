// Turns numbers of the other byte order into numbers of the own one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace couplet {

// Reverses each group of `swap_bytes` (1, 2, 4 or 8) of `bytes` bytes, in place.
void swap_numbers(std::byte* data, std::uint64_t bytes, std::size_t swap_bytes) noexcept;

}  // namespace couplet
