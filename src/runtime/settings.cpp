#include "runtime/settings.hpp"

#include <charconv>
#include <cstdlib>

namespace couplet::runtime {
namespace {

Result<std::uint64_t> number(const std::string& text, std::string_view key) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(Code::config, "setting '{}' is '{}', which is no number of bytes", key, text);
  }
  return value;
}

Result<bool> yes_or_no(const std::string& text, std::string_view key) {
  if (text == "1" || text == "true" || text == "0" || text == "false") {
    return text == "1" || text == "true";
  }
  return fail(Code::config, "setting '{}' is '{}'; it has to be 1 or 0", key, text);
}

Status take_links(const std::string& list, ReachOptions& options) {
  options.shm = options.tcp = false;
  std::string_view rest = list;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto name = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (name == "shm") {
      options.shm = true;
    } else if (name == "tcp") {
      options.tcp = true;
    } else if (name != "self") {
      return fail(Code::config, "setting 'links' is '{}': no link '{}'; there are self, shm, tcp", list, name);
    }
  }
  return {};
}

}  // namespace

std::string environment_text(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

LogLevel log_level() {
  const std::string text = environment_text("COUPLET_LOG");
  return text == "quiet"   ? LogLevel::quiet
         : text == "info"  ? LogLevel::info
         : text == "debug" ? LogLevel::debug
                           : LogLevel::warning;
}

Result<ReachOptions> reach_options(const universe::Membership& membership) {
  ReachOptions options;
  if (const std::string links = membership.setting("links"); !links.empty()) {
    COUPLET_TRY(take_links(links, options));
  }
  if (const std::string check = membership.setting("check"); check == "full") {
    options.tcp_options.checked_payload_bytes = UINT32_MAX;
  } else if (!check.empty() && check != "header") {
    return fail(Code::config, "setting 'check' is '{}'; it has to be header or full", check);
  }
  return options;
}

Result<message::MessengerOptions> messenger_options(const universe::Membership& membership) {
  message::MessengerOptions options;
  if (const std::string text = membership.setting("eager_bytes"); !text.empty()) {
    COUPLET_TRY_VALUE(options.eager_bytes, number(text, "eager_bytes"));
  }
  if (const std::string text = membership.setting("cma"); !text.empty()) {
    COUPLET_TRY_VALUE(options.read_memory, yes_or_no(text, "cma"));
  }
  return options;
}

double spin_wish_us(const universe::Membership& membership) {
  const std::string text = membership.setting("spin_us");
  return text.empty() ? -1 : std::strtod(text.c_str(), nullptr);
}

}  // namespace couplet::runtime
