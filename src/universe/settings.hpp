// Settings of the universe: what the hub's configuration says, overridden by this process's environment.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace couplet::universe {

using SettingMap = std::map<std::string, std::string, std::less<>>;
inline constexpr std::size_t most_settings_bytes = 256 * 1024;

// {"encrypt": true, "series": {"eta": {"slots": 64}}} -> encrypt = "true", series.eta.slots = "64"; lists become
// "a,b". config error that says where the text is no JSON or what cannot be a setting.
Result<SettingMap> settings_from_json(std::string_view text);

// "series.eta.slots" -> "COUPLET_SERIES_ETA_SLOTS": letters and digits in capitals, all else '_'.
[[nodiscard]] std::string environment_name(std::string_view key);

// The environment variable of the key, else the map's value, else "".
[[nodiscard]] std::string setting_value(const SettingMap& settings, std::string_view key);

// Value of an environment variable, "" where it is not set.
[[nodiscard]] std::string environment(const char* name);
// As a number; config error that names the variable and its value.
Result<double> environment_number(const char* name, double otherwise);

}  // namespace couplet::universe
