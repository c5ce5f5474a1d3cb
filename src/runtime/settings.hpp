// The settings of the universe and of the environment, as options of the layers. A setting that is out of range is a
// config error that names it. docs/guide/universe.md lists them.
#pragma once

#include <string>

#include "base/status.hpp"
#include "message/message.hpp"
#include "runtime/cost_file.hpp"
#include "runtime/hub_absence.hpp"
#include "runtime/transports.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

// Says whether COUPLET_LOG is "quiet", which keeps warnings from standard error.
[[nodiscard]] bool quiet();
// Returns "" if the variable is not set.
[[nodiscard]] std::string environment_text(const char* name);

// Returns the number of bytes that a setting says. Returns config, with its name, if it is none.
[[nodiscard]] Result<std::uint64_t> number_of_bytes(const std::string& text, std::string_view key);

// Returns the directory of the link `file`, or "". hub_directory: through which this process reaches the hub, or "". It
// is then also that directory, since other hosts may see it under another path, unless this process has a setting of
// its own.
[[nodiscard]] std::string file_directory(const universe::Membership& membership, const std::string& hub_directory);

// Reads links, file_directory, hybrid, hybrid_threshold, tcp_streams, ucx_tls, check, connection_patience_s and
// ring_bytes (COUPLET_LINKS, ...).
// hub_directory: see file_directory().
Result<TransportOptions> transport_options(const universe::Membership& membership, const std::string& hub_directory);
// Reads eager_bytes, piece_bytes and cma (COUPLET_EAGER_BYTES, ...). What is not set follows the costs.
Result<message::MessengerOptions> messenger_options(const universe::Membership& membership,
                                                    const cost::MachineCosts& costs);
// Reads cost_file and machine (COUPLET_COST_FILE, COUPLET_MACHINE), and the file.
Result<KnownCosts> known_costs(const universe::Membership& membership);
// Reads connection_patience_s and hub.return_patience_s (COUPLET_CONNECTION_PATIENCE_S, ...).
Result<HubAbsence::Patience> hub_patience(const universe::Membership& membership);
// Reads spin_us (COUPLET_SPIN_US). Negative if it is not set.
Result<double> wanted_spin_us(const universe::Membership& membership);

}  // namespace couplet::runtime
