// The lanes of connections between the hub and members: tcp.
#pragma once

#include "universe/lane_maker.hpp"

namespace couplet::runtime {

[[nodiscard]] universe::LaneMaker tcp_control_lanes();

}  // namespace couplet::runtime
