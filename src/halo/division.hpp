// How many blocks a grid gets in each dimension, if the user leaves it open. Tests: tests/unit/halo/division_test.cpp.
#pragma once

#include "halo/grid.hpp"

namespace couplet::halo {

// Returns the numbers of blocks: those of terms.blocks that are not 0, and for the others the factors of rank_count for
// which the largest block has the fewest cells at faces that it shares with others. Ties go to more blocks in earlier
// dimensions, whose faces are contiguous in C order. Returns argument if no product is rank_count, or blocks would
// have no cell.
[[nodiscard]] Result<Places> choose_blocks(const GridTerms& terms, std::int32_t rank_count);

}  // namespace couplet::halo
