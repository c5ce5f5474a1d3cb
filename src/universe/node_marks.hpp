// What the node directory says about processes that nobody hears of: pages whose lock is free, and marks of those that
// left while there was no hub to tell. Turns a directory and a list of peers into who is gone. Used by member (asked by
// the hub) and hub_server. Below: os (locks, files). Tests: tests/unit/universe/test_node_marks.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "universe/control.hpp"

namespace couplet::universe {

// This process leaves in good order, and no hub hears it: whoever looks later finds the mark. It goes with the
// directory.
Status mark_left(const std::string& directory, channel::PeerId peer, std::uint16_t incarnation);
// Those of `peers` (with their incarnations) whose process was on this node and has ended: lost (its page is there, its
// lock is free) or left (its mark is there). What belongs to no process of `peers` is not looked at.
[[nodiscard]] std::vector<PeerRun> gone_from_node(const std::string& directory, const std::vector<PeerRun>& peers);

}  // namespace couplet::universe
