// What couplet-hub is told on its command line and in its configuration file.
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
  std::string secret_file;  // "": the default one
  HubServerOptions server;  // without the secret
};

// arguments: without the program's name. argument or config error with a sentence that names the option.
Result<HubCommand> parse_hub_command(std::span<const char* const> arguments);
[[nodiscard]] const char* hub_usage() noexcept;

}  // namespace couplet::universe
