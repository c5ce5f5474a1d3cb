#include "universe/hub/hub_options.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_depth.hpp"
#include "os/host.hpp"

namespace couplet::universe {
namespace {

// The strongest demand counts, in whatever order the options come.
void demand(HubServerOptions& options, channel::Protection protection) noexcept {
  options.protection = std::max(options.protection, protection);
}

using Json = nlohmann::json;

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(Code::config, "--config: cannot read {}", path);
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text;
}

Result<ProgramSpec> program_from(const Json& json) {
  if (json.is_string()) {
    COUPLET_TRY_VALUE(auto programs, parse_programs(json.get_ref<const std::string&>()));
    if (programs.size() != 1) {
      return fail(Code::config, "programs: each text in the list must name one program");
    }
    return std::move(programs.front());
  }
  ProgramSpec program;
  const auto name = json.is_object() ? json.find("name") : json.end();
  if (name == json.end() || !name->is_string()) {
    return fail(Code::config, "programs: each must be \"name:size\" or an object with a name");
  }
  program.name = name->get<std::string>();
  if (const auto size = json.find("size"); size != json.end()) {
    if (!size->is_number_integer() || size->get<std::int64_t>() < 1 || size->get<std::int64_t>() > max_ranks) {
      return fail(Code::config, "programs: the size of '{}' must be a whole number from 1 to {}", program.name,
                  max_ranks);
    }
    program.size = size->get<std::int32_t>();
  }
  if (const auto required = json.find("required"); required != json.end()) {
    if (!required->is_boolean()) {
      return fail(Code::config, "programs: 'required' of '{}' must be true or false", program.name);
    }
    program.required = required->get<bool>();
  }
  return program;
}

// Reads {"programs": [...], and settings}. The command line overrides it.
Status read_config(const std::string& path, HubCommand& command) {
  COUPLET_TRY_VALUE(const auto text, read_text(path));
  if (json_depth(text) > max_json_depth) {
    return fail(Code::config, "--config: {} is nested more than {} levels deep", path, max_json_depth);
  }
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(Code::config, "--config: {} does not contain a JSON object", path);
  }
  if (const auto programs = json.find("programs"); programs != json.end()) {
    if (programs->is_string()) {
      COUPLET_TRY_VALUE(command.server.hub.programs, parse_programs(programs->get_ref<const std::string&>()));
    } else if (programs->is_array()) {
      for (const auto& each : *programs) {
        COUPLET_TRY_VALUE(auto program, program_from(each));
        command.server.hub.programs.push_back(std::move(program));
      }
    } else {
      return fail(Code::config, "--config: 'programs' in {} must be a text or a list", path);
    }
    json.erase("programs");
  }
  auto settings = settings_from_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!settings.ok()) {
    return settings.status().within("--config: " + path);
  }
  for (const auto& [key, value] : *settings) {
    if (Status known = check_series_setting(key); !known.ok()) {
      return known.within("--config: " + path);
    }
  }
  command.server.hub.settings = std::move(*settings);
  if (setting_value(command.server.hub.settings, "authenticate") == "true") {
    demand(command.server, channel::Protection::authenticated);
  }
  if (setting_value(command.server.hub.settings, "encrypt") == "true") {
    demand(command.server, channel::Protection::encrypted);
  }
  return {};
}

Result<double> seconds(std::string_view option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) {
    return fail(Code::argument, "{} is '{}', expected a number of seconds", option, text);
  }
  return value;
}

Result<std::uint64_t> run_number(std::string_view option, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) {
    return fail(Code::argument, "{} is '{}', expected the number of a run as the hub printed it (COUPLET_RUN)", option,
                text);
  }
  return value;
}

Status take_option(const std::string& option, const std::string& value, HubCommand& command, std::string& programs,
                   std::string& config) {
  if (option == "--programs") {
    programs = value;
  } else if (option == "--listen") {
    command.server.listen = value;
  } else if (option == "--file-directory") {
    if (!value.starts_with('/')) {
      return fail(Code::argument, "{} is '{}', expected an absolute path", option, value);
    }
    command.directory = value;
    command.server.hub.settings["file_directory"] = value;
  } else if (option == "--secret-file") {
    command.secret_file = value;
  } else if (option == "--key-file") {
    command.server.key_file = value;
  } else if (option == "--config") {
    config = value;
  } else if (option == "--events") {
    command.server.events = value;
  } else if (option == "--resume") {
    COUPLET_TRY_VALUE(command.server.hub.run_id, run_number(option, value));
    command.server.hub.restarted = true;
  } else if (option == "--rejoin-patience") {
    COUPLET_TRY(seconds(option, value).status());
    command.server.hub.settings["hub.rejoin_patience_s"] = value;
  } else if (option == "--name") {
    command.server.hub.settings["name"] = value;
  } else if (option == "--linger") {
    COUPLET_TRY_VALUE(command.server.hub.linger_s, seconds(option, value));
  } else {
    return fail(Code::argument, "couplet-hub has no option {} (--help lists them)", option);
  }
  return {};
}

}  // namespace

const char* hub_usage() noexcept {
  return "usage: couplet-hub --programs ocean:2,nowcast:1,follower:1? [options]\n"
         "The rendezvous of a universe. When it listens, it prints COUPLET_HUB=host:port and COUPLET_RUN=id. It ends\n"
         "when the universe has ended.\n\n"
         "  --programs LIST     each program as name:size; a program 'name:size?' may come late or never; the size of\n"
         "                      a program 'name' is the one that its first rank gives\n"
         "  --listen HOST:PORT  the address at which it listens (127.0.0.1:0; port 0: any free one)\n"
         "  --file-directory DIR\n"
         "                      a directory that all hosts share: members reach the hub through it without a network\n"
         "                      (COUPLET_HUB=file:DIR), and the link 'file' of the members uses it, too\n"
         "  --secret-file FILE  the universe's secret (COUPLET_SECRET_FILE, else the user's own, made on first use)\n"
         "  --key-file FILE     where the key of this hub is kept, which its members know it by; give it if the hub "
         "may\n"
         "                      be started again on another host (the directory of the run below COUPLET_RUN_DIR).\n"
         "                      FILE must not exist, except with --resume; it is removed when the universe has ended\n"
         "  --encrypt           encrypt what is sent over networks\n"
         "  --authenticate      protect what is sent over networks against change, but not against reading\n"
         "  --config FILE       settings of the universe as a JSON object, which may also have 'programs'\n"
         "  --events FILE       append a line of JSON for each event\n"
         "  --linger SECONDS    how long to wait for readers once all other processes have left (no limit)\n"
         "  --resume RUN        replace a hub of this run (its COUPLET_RUN) that has died, and take its members back;\n"
         "                      give the same --listen, --programs and --key-file as before\n"
         "  --rejoin-patience SECONDS\n"
         "                      how long a resumed hub waits for earlier members that do not come back (600)\n"
         "  --name NAME         a name for this universe\n"
         "  --until-input-ends  once standard input, a pipe, is closed, end with the last member, even if the\n"
         "                      universe has not ended\n"
         "  --help, --version\n\n"
         "Exit status: 0 the universe has ended, or the hub was told to end; 1 it could not start; 2 wrong options.\n";
}

Result<HubCommand> parse_hub_command(std::span<const char* const> arguments) {
  HubCommand command;
  std::string programs;
  std::string config;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    std::string option = arguments[index];
    if (option == "--help" || option == "-h") {
      command.help = true;
      return command;
    }
    if (option == "--version") {
      command.version = true;
      return command;
    }
    if (option == "--until-input-ends") {
      command.until_input_ends = true;
      continue;
    }
    if (option == "--encrypt" || option == "--authenticate") {
      demand(command.server,
             option == "--encrypt" ? channel::Protection::encrypted : channel::Protection::authenticated);
      continue;
    }
    const auto equals = option.find('=');
    std::string value;
    if (option.starts_with("--") && equals != std::string::npos) {
      value = option.substr(equals + 1);
      option.resize(equals);
    } else if (++index < arguments.size()) {
      value = arguments[index];
    } else {
      return fail(Code::argument, "option {} needs a value, or does not exist (--help lists the options)", option);
    }
    COUPLET_TRY(take_option(option, value, command, programs, config));
  }
  const auto name = command.server.hub.settings;
  if (!config.empty()) {
    COUPLET_TRY(read_config(config, command));
  }
  for (const auto& [key, value] : name) {
    command.server.hub.settings[key] = value;
  }
  if (!programs.empty()) {
    COUPLET_TRY_VALUE(command.server.hub.programs, parse_programs(programs));
  }
  if (command.server.hub.programs.empty()) {
    return fail(Code::argument, "the universe has no programs: name them, as in --programs ocean:2,nowcast:1");
  }
  COUPLET_TRY(check_programs(command.server.hub.programs));
  command.server.run_directory = os::run_directory();
  command.server.node_name = environment("COUPLET_NODE");
  return command;
}

}  // namespace couplet::universe
