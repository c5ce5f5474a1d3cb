// Fills page tables before memory is used, so that its first use does not wait for the kernel.
#pragma once

#include <cstddef>

namespace couplet::os {

// Touches the mapped pages of [data, data + bytes). Both ends are rounded to whole pages, and the mapping must include
// them.
void populate_pages(std::byte* data, std::size_t bytes, bool write);

}  // namespace couplet::os
