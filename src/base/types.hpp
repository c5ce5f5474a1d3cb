// The element types of couplet.h inside the library: the size of an element, and of the numbers that a byte order
// concerns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "couplet/couplet.h"

namespace couplet {

struct TypeInfo {
  std::string_view name;      // "float"
  std::size_t element_bytes;  // 8 for COUPLET_COMPLEX_FLOAT
  std::size_t swap_bytes;     // size of the numbers whose bytes are reversed: 4 for COUPLET_COMPLEX_FLOAT, 1 for bytes
};

inline constexpr std::array<TypeInfo, 13> type_table = {{
    {"byte", 1, 1},
    {"int8", 1, 1},
    {"int16", 2, 2},
    {"int32", 4, 4},
    {"int64", 8, 8},
    {"uint8", 1, 1},
    {"uint16", 2, 2},
    {"uint32", 4, 4},
    {"uint64", 8, 8},
    {"float", 4, 4},
    {"double", 8, 8},
    {"complex float", 8, 4},
    {"complex double", 16, 8},
}};

// Returns nullptr for a type that does not exist.
[[nodiscard]] constexpr const TypeInfo* find_type(couplet_type type) noexcept {
  return type >= 0 && static_cast<std::size_t>(type) < type_table.size() ? &type_table[static_cast<std::size_t>(type)]
                                                                         : nullptr;
}

}  // namespace couplet
