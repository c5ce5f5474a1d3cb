#include "runtime/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "os/clock.hpp"
#include "os/host.hpp"

namespace couplet::runtime {

Result<std::uint64_t> number_of_bytes(const std::string& text, std::string_view key) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(Code::config, "setting '{}' is '{}', which is not a number of bytes", key, text);
  }
  return value;
}

namespace {

Result<bool> yes_or_no(const std::string& text, std::string_view key) {
  if (text == "1" || text == "true" || text == "0" || text == "false") {
    return text == "1" || text == "true";
  }
  return fail(Code::config, "setting '{}' is '{}'; it has to be 1 or 0", key, text);
}

// A channel has at most so many lanes.
constexpr std::uint64_t max_tcp_streams = channel::max_lanes;

constexpr std::array<std::string_view, 5> link_names = {"self", "shm", "tcp", "file", "ucx"};

// Puts the named links first, in their order. self is always in use.
Status take_links(const std::string& list, TransportOptions& options) {
  options.links = {{"self"}};
  const auto has = [&options](std::string_view name) {
    return std::any_of(options.links.begin(), options.links.end(),
                       [&](const LinkChoice& link) { return link.name == name; });
  };
  std::string_view rest = list;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto name = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto known = std::find(link_names.begin(), link_names.end(), name);
    if (known == link_names.end()) {
      return fail(Code::config, "setting 'links' is '{}': no link '{}'; there are self, shm, tcp, file, ucx", list,
                  name);
    }
    if (!has(name)) {
      options.links.push_back({*known});
    }
  }
  for (const std::string_view name : link_names) {
    if (!has(name)) {
      options.links.push_back({name, false});
    }
  }
  return {};
}

// Takes the directory of the link `file`.
Status take_directory(const std::string& directory, const std::string& links, TransportOptions& options) {
  const auto is_file = [](const LinkChoice& link) { return link.name == "file" && link.in_use; };
  const bool named = !links.empty() && std::any_of(options.links.begin(), options.links.end(), is_file);
  if (!directory.empty() && !directory.starts_with('/')) {
    return fail(Code::config, "setting 'file_directory' is '{}'; it has to be an absolute path", directory);
  }
  if (directory.empty() && named) {
    return fail(Code::config,
                "setting 'links' names the link 'file', which needs the setting 'file_directory' "
                "(COUPLET_FILE_DIRECTORY): a directory that all processes share");
  }
  options.file_directory = directory;
  return {};
}

// Returns the name of a link whose lanes may break, so that it may be one of several in a connection.
Result<std::string_view> part_of_hybrid(std::string_view name, const std::string& pair,
                                        const TransportOptions& options) {
  const auto link = std::find_if(options.links.begin(), options.links.end(),
                                 [&](const LinkChoice& candidate) { return candidate.name == name; });
  if (link == options.links.end() || name == "self" || name == "shm") {
    return fail(Code::config,
                "setting 'hybrid' is '{}'; it has to be two links that reach other nodes, the one for short messages "
                "first, such as tcp+file",
                pair);
  }
  if (!link->in_use) {
    return fail(Code::config, "setting 'hybrid' is '{}', but the setting 'links' does not name '{}'", pair, name);
  }
  return link->name;
}

// Takes hybrid, hybrid_threshold and tcp_streams.
Status take_lanes(const universe::Membership& membership, TransportOptions& options) {
  const std::string pair = membership.setting("hybrid");
  const std::string threshold = membership.setting("hybrid_threshold");
  const std::string streams = membership.setting("tcp_streams");
  if (!pair.empty()) {
    const auto plus = std::min(pair.find('+'), pair.size());
    const std::string_view whole(pair);
    COUPLET_TRY_VALUE(options.lanes.short_link, part_of_hybrid(whole.substr(0, plus), pair, options));
    COUPLET_TRY_VALUE(options.lanes.long_link,
                      part_of_hybrid(whole.substr(std::min(plus + 1, pair.size())), pair, options));
    if (options.lanes.short_link == options.lanes.long_link) {
      return fail(Code::config, "setting 'hybrid' is '{}'; it has to be two links, such as tcp+file", pair);
    }
    if ((options.lanes.short_link == "file" || options.lanes.long_link == "file") && options.file_directory.empty()) {
      return fail(Code::config,
                  "setting 'hybrid' is '{}', and the link 'file' needs the setting 'file_directory' "
                  "(COUPLET_FILE_DIRECTORY): a directory that all processes share",
                  pair);
    }
  }
  if (!threshold.empty() && pair.empty()) {
    return fail(Code::config, "setting 'hybrid_threshold' is '{}', but the setting 'hybrid' is not set", threshold);
  }
  if (!streams.empty()) {
    const auto count = number_of_bytes(streams, "tcp_streams");
    if (!count.ok() || *count < 1 || *count > max_tcp_streams) {
      return fail(Code::config, "setting 'tcp_streams' is '{}'; it has to be a number from 1 to {}", streams,
                  max_tcp_streams);
    }
    options.lanes.tcp_streams = static_cast<unsigned>(*count);
  }
  if (pair.empty() && options.lanes.tcp_streams == 1) {
    return {};
  }
  options.policy = {.rule = channel::LaneRule::by_size,
                    .max_short_bytes = channel::default_threshold(options.lanes.short_link, options.lanes.long_link),
                    .short_link = options.lanes.short_link,
                    .long_link = options.lanes.long_link};
  if (!threshold.empty()) {
    COUPLET_TRY_VALUE(options.policy.max_short_bytes, number_of_bytes(threshold, "hybrid_threshold"));
  }
  return {};
}

Result<std::uint64_t> duration_ns(const std::string& text, std::string_view key) {
  if (text == "inf") {
    return os::never;
  }
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !(seconds >= 0)) {
    return fail(Code::config, "setting '{}' is '{}'; it has to be a number of seconds, or inf", key, text);
  }
  return seconds < 1e9 ? static_cast<std::uint64_t>(seconds * 1e9) : os::never;
}

}  // namespace

std::string environment_text(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

bool quiet() {
  return environment_text("COUPLET_LOG") == "quiet";
}

std::string file_directory(const universe::Membership& membership, const std::string& hub_directory) {
  const bool own = hub_directory.empty() || !environment_text("COUPLET_FILE_DIRECTORY").empty();
  return own ? membership.setting("file_directory") : hub_directory;
}

Result<TransportOptions> transport_options(const universe::Membership& membership, const std::string& hub_directory) {
  TransportOptions options;
  if (const std::string links = membership.setting("links"); !links.empty()) {
    COUPLET_TRY(take_links(links, options));
  }
  COUPLET_TRY(take_directory(file_directory(membership, hub_directory), membership.setting("links"), options));
  COUPLET_TRY(take_lanes(membership, options));
  if (const std::string check = membership.setting("check"); check == "full") {
    options.tcp.lane.checked_payload_bytes = UINT32_MAX;
    options.ucx.checked_payload_bytes = UINT32_MAX;
  } else if (!check.empty() && check != "header") {
    return fail(Code::config, "setting 'check' is '{}'; it has to be header or full", check);
  }
  options.ucx.transports = membership.setting("ucx_tls");
  if (const std::string text = membership.setting("connection_patience_s"); !text.empty()) {
    COUPLET_TRY_VALUE(options.walk.patience_ns, duration_ns(text, "connection_patience_s"));
  }
  if (const std::string text = membership.setting("ring_bytes"); !text.empty()) {
    COUPLET_TRY_VALUE(options.shm.max_ring_bytes, number_of_bytes(text, "ring_bytes"));
  }
  return options;
}

Result<HubAbsence::Patience> hub_patience(const universe::Membership& membership) {
  HubAbsence::Patience patience;
  if (const std::string text = membership.setting("connection_patience_s"); !text.empty()) {
    COUPLET_TRY_VALUE(patience.silent_ns, duration_ns(text, "connection_patience_s"));
  }
  if (const std::string text = membership.setting("hub.return_patience_s"); !text.empty()) {
    COUPLET_TRY_VALUE(patience.refusing_ns, duration_ns(text, "hub.return_patience_s"));
  }
  return patience;
}

namespace {

// The limits that the costs of each link give.
std::vector<message::LinkLimits> limits_of_links(const cost::MachineCosts& costs) {
  std::vector<message::LinkLimits> limits;
  for (const cost::LinkCurve& curve : costs.links) {
    const bool is_there = std::any_of(limits.begin(), limits.end(),
                                      [&](const message::LinkLimits& one) { return one.link == curve.link; });
    if (is_there) continue;
    limits.push_back({.link = curve.link,
                      .eager_bytes = cost::eager_limit(costs, curve.link),
                      .piece_bytes = cost::piece_size(costs, curve.link)});
  }
  return limits;
}

}  // namespace

Result<message::MessengerOptions> messenger_options(const universe::Membership& membership,
                                                    const cost::MachineCosts& costs) {
  message::MessengerOptions options;
  options.link_limits = limits_of_links(costs);
  if (const std::string text = membership.setting("piece_bytes"); !text.empty()) {
    COUPLET_TRY_VALUE(options.piece_bytes, number_of_bytes(text, "piece_bytes"));
    if (*options.piece_bytes < min_piece_bytes) {
      return fail(Code::config, "setting 'piece_bytes' is {}; it has to be at least {}", text, min_piece_bytes);
    }
  }
  if (const std::string text = membership.setting("eager_bytes"); !text.empty()) {
    COUPLET_TRY_VALUE(options.eager_bytes, number_of_bytes(text, "eager_bytes"));
  }
  if (const std::string text = membership.setting("cma"); !text.empty()) {
    COUPLET_TRY_VALUE(options.read_memory, yes_or_no(text, "cma"));
  }
  return options;
}

Result<KnownCosts> known_costs(const universe::Membership& membership) {
  return load_costs(
      {.file = membership.setting("cost_file"), .machine = membership.setting("machine"), .host = os::host_name()});
}

Result<double> wanted_spin_us(const universe::Membership& membership) {
  const std::string text = membership.setting("spin_us");
  if (text.empty()) return -1;
  char* end = nullptr;
  const double wanted_us = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !(wanted_us >= 0)) {
    return fail(Code::config, "setting 'spin_us' is '{}'; it has to be a number of microseconds, 0 or more", text);
  }
  return wanted_us;
}

}  // namespace couplet::runtime
