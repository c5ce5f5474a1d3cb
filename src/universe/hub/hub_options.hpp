// The options of couplet-hub, from its command line and its configuration file.
#pragma once

#include <span>
#include <string>

#include "base/status.hpp"
#include "universe/hub/hub_server.hpp"

namespace couplet::universe {

struct HubCommand {
  bool help = false;
  bool version = false;
  bool until_input_ends = false;
  std::string secret_file;  // "": the default secret of the user
  std::string directory;    // the shared directory in which members reach the hub; "": none
  HubServerOptions server;  // complete except for the secret
};

// Reads the arguments, without the program's name. Returns argument or config, with a text that names the option.
Result<HubCommand> parse_hub_command(std::span<const char* const> arguments);
[[nodiscard]] const char* hub_usage() noexcept;

}  // namespace couplet::universe
