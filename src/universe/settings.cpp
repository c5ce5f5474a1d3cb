#include "universe/settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json_depth.hpp"

extern char** environ;  // NOLINT: POSIX does not declare it

namespace couplet::universe {
namespace {

using Json = nlohmann::json;
constexpr int deepest = 8;
// What a program can leave to the settings of a series, and what is a setting only.
constexpr std::string_view series_settings[] = {"slots",
                                                "memory_bytes",
                                                "required_readers",
                                                "required_timeout_s",
                                                "wait_timeout_s",
                                                "evict_after_held_s",
                                                "holders",
                                                "streaming_bytes",
                                                "linger_s",
                                                "window"};

// The name of a series may have any length, so that only the end of the key says which setting it is.
Status check_series_setting(std::string_view key, std::string_view shown,
                            const std::function<std::string(std::string_view)>& spell) {
  const bool is_known = std::any_of(std::begin(series_settings), std::end(series_settings),
                                    [&](std::string_view name) { return key.ends_with(spell(name)); });
  if (is_known) {
    return {};
  }
  return fail(Code::config, "{} is no setting of a series; there are {}", shown, fmt::join(series_settings, ", "));
}

Result<std::string> scalar(const Json& value, const std::string& key) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_boolean() || value.is_number()) {
    return value.dump();
  }
  return fail(Code::config, "setting '{}' is neither text, number, true, false nor a list of these", key);
}

Status flatten(const Json& object, const std::string& prefix, int depth, SettingMap& settings) {
  if (depth > deepest) {
    return fail(Code::config, "setting '{}' is nested too deeply", prefix);
  }
  for (const auto& item : object.items()) {
    const auto key = prefix.empty() ? item.key() : prefix + "." + item.key();
    if (item.value().is_object()) {
      COUPLET_TRY(flatten(item.value(), key, depth + 1, settings));
    } else if (item.value().is_array()) {
      std::string list;
      for (const auto& element : item.value()) {
        COUPLET_TRY_VALUE(const auto text, scalar(element, key));
        list += (list.empty() ? "" : ",") + text;
      }
      settings[key] = list;
    } else {
      COUPLET_TRY_VALUE(settings[key], scalar(item.value(), key));
    }
  }
  return {};
}

}  // namespace

Result<SettingMap> settings_from_json(std::string_view text) {
  if (text.size() > most_settings_bytes) {
    return fail(Code::config, "the settings are {} bytes long, at most {} are possible", text.size(),
                most_settings_bytes);
  }
  if (json_depth(text) > max_json_depth) {
    return fail(Code::config, "the settings are nested more than {} levels deep", max_json_depth);
  }
  const auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(Code::config, "the settings are not a JSON object");
  }
  SettingMap settings;
  COUPLET_TRY(flatten(json, "", 0, settings));
  return settings;
}

std::string environment_name(std::string_view key) {
  std::string name = "COUPLET_";
  for (const char character : key) {
    if (character >= 'a' && character <= 'z') {
      name.push_back(static_cast<char>(character - 'a' + 'A'));
    } else {
      const bool kept = (character >= 'A' && character <= 'Z') || (character >= '0' && character <= '9');
      name.push_back(kept ? character : '_');
    }
  }
  return name;
}

std::string setting_value(const SettingMap& settings, std::string_view key) {
  if (const char* const value = std::getenv(environment_name(key).c_str()); value != nullptr) {
    return value;
  }
  const auto found = settings.find(key);
  return found == settings.end() ? std::string() : found->second;
}

Status check_series_setting(std::string_view key) {
  if (!key.starts_with("series.")) {
    return {};
  }
  return check_series_setting(key, fmt::format("setting {}", key),
                              [](std::string_view name) { return fmt::format(".{}", name); });
}

Status check_series_variables() {
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("COUPLET_SERIES_")) {
      COUPLET_TRY(
          check_series_setting(name, fmt::format("environment variable {}", name), [](std::string_view setting) {
            return environment_name(setting).substr(std::string_view("COUPLET").size());
          }));
    }
  }
  return {};
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<double> environment_number(const char* name, double otherwise) {
  const auto text = environment(name);
  if (text.empty()) {
    return otherwise;
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != 0 || std::isnan(value)) {
    return fail(Code::config, "environment variable {} is '{}', which is not a number", name, text);
  }
  return value;
}

}  // namespace couplet::universe
