// The numbers of incarnations: the processes of one rank count from 0. Used by hub and liveness. Tests:
// tests/unit/universe/liveness_test.cpp, tests/unit/universe/hub_recovery_test.cpp.
#pragma once

#include <cstdint>

namespace couplet::universe {

// A hub that was started again, and does not know whether a rank has been there, gives at least this number.
inline constexpr std::uint16_t unheard_incarnation = 64;

}  // namespace couplet::universe
