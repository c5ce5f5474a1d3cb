// The numbers of incarnations: the processes of one rank count from 0. Used by hub and liveness. Tests:
// tests/unit/universe/liveness_test.cpp, tests/unit/universe/hub_recovery_test.cpp, hub_tickets_test.cpp.
#pragma once

#include <cstdint>

namespace couplet::universe {

// The hub gives at least this number to the first process of a rank that is present, if it has given lower ones to
// processes that never were, or if it was started again and does not know what it has given before. So a member does
// not take lower numbers for processes that have come and gone.
inline constexpr std::uint16_t unheard_incarnation = 64;
// A later one would not differ from `any incarnation` in a handshake.
inline constexpr std::uint16_t max_incarnation = 0xFFFE;

}  // namespace couplet::universe
