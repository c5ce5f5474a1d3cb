// What lanes that carry frames in sealed records have in common. Used by file_lane.cpp and ucx_lane.cpp. Tests:
// tests/conformance/link.
#pragma once

#include "wire/seal.hpp"

namespace couplet::link {

// The bytes that sealing adds to a record.
inline constexpr std::size_t seal_added_bytes = wire::record_prefix_bytes + wire::record_tag_bytes;
// Records that one poll takes beside those that complete a frame.
inline constexpr int max_extra_records = 64;

}  // namespace couplet::link
