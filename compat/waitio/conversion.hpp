// The types and operations of waitio_mpi.h as those of Couplet.
// Tests: tests/compat/waitio.
#pragma once

#include <couplet/couplet.h>

#include <cstdint>

namespace waitio {

// Throws Error if there is no such type. Both: the size of an element is that of the C type.
[[nodiscard]] couplet_type type_of(int type);
// Returns the size of `count` elements. Throws Error if the count is negative.
[[nodiscard]] std::uint64_t bytes_of(int count, int type);
[[nodiscard]] couplet_operation operation_of(int op);

}  // namespace waitio
