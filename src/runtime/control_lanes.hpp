// What connections between the hub and members run over: tcp.
#pragma once

#include "universe/lane_maker.hpp"

namespace couplet::runtime {

[[nodiscard]] universe::LaneMaker tcp_control_lanes();

}  // namespace couplet::runtime
