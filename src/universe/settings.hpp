// Settings of the universe: the values of the hub's configuration, unless this process's environment overrides them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace couplet::universe {

using SettingMap = std::map<std::string, std::string, std::less<>>;
inline constexpr std::size_t most_settings_bytes = 256 * 1024;

// Reads settings from JSON: {"encrypt": true, "series": {"eta": {"slots": 64}}} gives encrypt = "true" and
// series.eta.slots = "64"; a list gives "a,b". Returns config, with the place at which the text is not JSON, or the
// value that cannot be a setting.
Result<SettingMap> settings_from_json(std::string_view text);

// Returns the variable of a key, for example COUPLET_SERIES_ETA_SLOTS for "series.eta.slots": letters and digits in
// capitals, and '_' for all other characters.
[[nodiscard]] std::string environment_name(std::string_view key);

// Returns the environment variable of the key if it is set, else the map's value, else "".
[[nodiscard]] std::string setting_value(const SettingMap& settings, std::string_view key);

// Return config if a setting is one of a series, and series have none of that name: the key, such as "series.eta.slot",
// or a variable of this process's environment, such as COUPLET_SERIES_ETA_SLOT. Which series there are is not known.
Status check_series_setting(std::string_view key);
Status check_series_variables();

// Returns the value of an environment variable, or "" if it is not set.
[[nodiscard]] std::string environment(const char* name);
// Returns a variable as a number, or `otherwise` if it is not set. Returns config if it is not a number, and names the
// variable and its value.
Result<double> environment_number(const char* name, double otherwise);

}  // namespace couplet::universe
