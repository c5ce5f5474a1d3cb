#include "runtime/listening.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "os/socket.hpp"
#include "runtime/settings.hpp"

namespace couplet::runtime {
namespace {

// Returns 0 if the text is no port.
std::uint16_t port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() ? port : std::uint16_t{0};
}

}  // namespace

Result<PortRange> parse_ports(const std::string& text) {
  if (text.empty()) {
    return PortRange{};
  }
  const std::string_view whole(text);
  const auto dash = std::min(whole.find('-'), whole.size());
  PortRange ports;
  ports.first = port_of(whole.substr(0, dash));
  ports.last = dash == whole.size() ? ports.first : port_of(whole.substr(dash + 1));
  if (ports.first == 0 || ports.last < ports.first) {
    return fail(Code::config,
                "COUPLET_PORTS is '{}'; it has to be a port or the first and the last one of a range, such as "
                "40000-40099",
                text);
  }
  return ports;
}

Result<std::unique_ptr<link::TcpListener>> listen_in_range(const os::Endpoint& address, const PortRange& ports,
                                                           std::uint64_t start) {
  const std::uint64_t count = std::uint64_t{ports.last} - ports.first + 1;
  for (std::uint64_t tried = 0; tried < count; ++tried) {
    os::Endpoint endpoint = address;
    endpoint.port = static_cast<std::uint16_t>(ports.first + (start + tried) % count);
    auto listener = link::TcpListener::open(endpoint);
    if (listener.ok() || listener.code() != Code::exists) {
      return listener;
    }
  }
  os::Endpoint endpoint = address;
  endpoint.port = ports.first;
  return fail(Code::exists,
              "no port of COUPLET_PORTS={}-{} is free at {}; each rank on a host, and its relay, needs one of its own",
              ports.first, ports.last, os::endpoint_text(endpoint));
}

Result<std::unique_ptr<link::TcpListener>> listen_for_members(const os::Endpoint& towards_hub, bool by_files) {
  os::Endpoint local = towards_hub;
  if (const std::string wanted = environment_text("COUPLET_INTERFACE"); !wanted.empty()) {
    auto address = os::interface_endpoint(wanted);
    if (!address.ok()) {
      return address.status().within("COUPLET_INTERFACE");
    }
    local = *address;
  } else if (by_files) {
    return std::unique_ptr<link::TcpListener>();  // no network leads to the hub, so perhaps none leads to the members
  }
  COUPLET_TRY_VALUE(const PortRange ports, parse_ports(environment_text("COUPLET_PORTS")));
  return ports.first == 0 ? link::TcpListener::open(local)
                          : listen_in_range(local, ports, static_cast<std::uint64_t>(::getpid()));
}

}  // namespace couplet::runtime
