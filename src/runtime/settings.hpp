// The settings of the universe and the environment as options of the layers; a setting that makes no sense is a config error
// that names it. docs/guide/universe.md lists them.
#pragma once

#include <string>

#include "base/status.hpp"
#include "message/message.hpp"
#include "runtime/transports.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

enum class LogLevel : std::uint8_t { quiet, warning, info, debug };
// COUPLET_LOG; warning where it is not set.
[[nodiscard]] LogLevel log_level();
// Empty where the variable is not set.
[[nodiscard]] std::string environment_text(const char* name);

// links, check, connection_patience_s, ring_bytes: COUPLET_LINKS, ...
Result<TransportOptions> transport_options(const universe::Membership& membership);
// eager_bytes, cma: COUPLET_EAGER_BYTES, COUPLET_CMA.
Result<message::MessengerOptions> messenger_options(const universe::Membership& membership);
// spin_us: COUPLET_SPIN_US; < 0 where it is not set.
[[nodiscard]] double spin_wish_us(const universe::Membership& membership);

}  // namespace couplet::runtime
