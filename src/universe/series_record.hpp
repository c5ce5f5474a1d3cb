// The description of a series as bytes: its first writer rank announces them, the hub stores them, and readers fetch
// them in parts. Pure. Format: docs/formats/hub.md, "A series". Invariants: the incarnation and the flag `closed` are
// sent separately, so that the bytes of a description never change; decoding never allocates much more than the bytes
// can describe. Tests: tests/unit/universe/control_test.cpp, tests/fuzz/control.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_record_bytes = 256U << 20U;  // for one description
inline constexpr std::size_t max_record_parts = 1U << 20U;
inline constexpr std::size_t max_record_fields = 64;
inline constexpr std::size_t max_record_boxes = 4096;  // boxes of one field of one rank

// Returns argument if no series can have this name.
Status check_series_name(std::string_view name);
// Has this name of a series or a field 1 to `longest` bytes, and no control characters?
[[nodiscard]] bool is_name(std::string_view name, std::size_t longest);
[[nodiscard]] std::string encode_record(const SeriesRecord& record);
// Returns the record, with incarnation 0 and closed false; or protocol, with a text that names what is wrong.
Result<SeriesRecord> decode_record(std::string_view bytes);

}  // namespace couplet::universe
