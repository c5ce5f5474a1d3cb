// The number of descriptors that this process may have open (see descriptor_limit() in os/host.hpp): raises it, and
// checks what is left of it. Tests: tests/unit/os/descriptor_limit_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace couplet::os {

// The limit is not raised above this, because some programs check each number up to it.
inline constexpr std::uint64_t max_raised_descriptors = 1U << 20U;

// Raises the limit of this process as far as it may without privileges, at most to max_raised_descriptors. Never lowers
// it.
void raise_descriptor_limit() noexcept;
// Could this process open so many descriptors more now? For libraries that end the process if one is missing.
[[nodiscard]] bool are_descriptors_left(std::size_t count);

}  // namespace couplet::os
