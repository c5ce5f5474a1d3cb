// Where a process listens for the others: COUPLET_INTERFACE says at which address, COUPLET_PORTS at which ports.
// Tests: tests/unit/runtime/listening_test.cpp, tests/universe/test_networks.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "link/tcp/tcp_lane.hpp"

namespace couplet::runtime {

struct PortRange {
  std::uint16_t first = 0;  // 0: any free port
  std::uint16_t last = 0;
};

// Reads COUPLET_PORTS: one port, or the first and the last one with a '-' between. Empty: any free port.
Result<PortRange> parse_ports(const std::string& text);

// Listens at the first port of the range that is free. `start` says which port is tried first, so that processes that
// begin together seldom try the same one. Returns exists if none is free.
Result<std::unique_ptr<link::TcpListener>> listen_in_range(const os::Endpoint& address, const PortRange& ports,
                                                           std::uint64_t start);

// Listens where the environment says, and otherwise at the address by which this process reaches the hub. by_files: the
// hub is reached through files; then this process listens only if COUPLET_INTERFACE is set. Returns nullptr if it does
// not listen.
Result<std::unique_ptr<link::TcpListener>> listen_for_members(const os::Endpoint& towards_hub, bool by_files);

}  // namespace couplet::runtime
