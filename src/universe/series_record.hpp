// The description of a series as bytes: what its first writer rank announces, the hub stores, and readers fetch in
// parts. Pure. docs/formats/hub.md, "A series". Invariants: the incarnation and whether it is closed are no part of it:
// the hub tells them beside it, so that the bytes never change; nothing is allocated that is much larger than what the
// bytes can describe. Tests: tests/unit/universe/test_series_record.cpp, tests/fuzz/control.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_record_bytes = 256U << 20U;  // of one description
inline constexpr std::size_t max_record_parts = 1U << 20U;
inline constexpr std::size_t max_record_fields = 64;
inline constexpr std::size_t max_record_boxes = 4096;  // of a field of one rank

[[nodiscard]] std::string encode_record(const SeriesRecord& record);
// protocol error that names what is wrong. incarnation is 0 and closed is false.
Result<SeriesRecord> decode_record(std::string_view bytes);

}  // namespace couplet::universe
