// file: lanes over a shared directory. It turns a connection of files that has passed the handshake into a lane. Each
// record holds bytes of one frame. runtime and universe use it.
// Invariants: a frame is delivered whole or not at all; with keys, the body of each record is one sealed record of
// wire/seal.
// docs/formats/file.md; tests/unit/link/file_link_test.cpp, tests/conformance.
#pragma once

#include <memory>
#include <optional>

#include "base/status.hpp"
#include "link/file/file_connection.hpp"
#include "link/link.hpp"
#include "link/session_keys.hpp"

namespace couplet::link {

// Makes a lane of the connection. Returns unsupported if this build does not have the cipher of `keys`, and protocol if
// bytes were sent that belong neither to the handshake nor to the lane.
Result<std::unique_ptr<Lane>> make_file_lane(std::unique_ptr<FileConnection> connection,
                                             const std::optional<SessionKeys>& keys = std::nullopt);

}  // namespace couplet::link
