// What the node directory says about processes that the hub does not hear of: pages with their locks, marks of
// processes that left while there was no hub, and the number of the node. Turns a directory and a list of peers into
// their states. Used by member (if the hub asks it) and hub_server. Below: os (locks, files). Tests:
// tests/unit/universe/node_marks_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "universe/control.hpp"

namespace couplet::universe {

// Makes the mark of a process that leaves in good order while there is no hub. The hub that is started again finds it.
// The mark is removed with the directory.
Status mark_left(const std::string& directory, channel::PeerId peer, std::uint16_t incarnation);
// Notes the number of the node, so that a hub that was started again can give it the same number before any of the
// earlier processes of the node has come back. The note is removed with the directory.
Status note_number(const std::string& directory, std::uint16_t node);
// Returns the number that was noted, or unknown_node.
[[nodiscard]] std::uint16_t noted_number(const std::string& directory);
// Returns how many times the hub of this run has been started again, including this time, as far as the directory of
// its node knows, and notes it there.
std::uint16_t begin_epoch(const std::string& directory);
// Returns those of `peers` (with their incarnations) whose processes are or were on this node: present if the lock of
// their page is held, lost if it is free, and left if their mark is there. Other processes are not checked.
[[nodiscard]] std::vector<PeerRun> seen_on_node(const std::string& directory, const std::vector<PeerRun>& peers);

}  // namespace couplet::universe
