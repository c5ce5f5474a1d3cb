// Calls the ports at which members listen for their peers: a system that takes such a call proves that a process still
// holds the port, also if that process computes or is stopped. Used by hub_server for members whose connection was
// reset. Tests: tests/unit/universe/listener_calls_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "channel/channel.hpp"
#include "os/socket.hpp"

namespace couplet::universe {

class ListenerCalls {
 public:
  static constexpr std::size_t max_calls = 64;  // under way at a time

  struct Target {
    channel::PeerId peer = 0;
    os::Endpoint endpoint;
  };
  // Calls those of `targets` that are not being called already, gives up the calls to all others, and returns the peers
  // that have been reached since the last time. Never blocks.
  std::vector<channel::PeerId> call(const std::vector<Target>& targets);

 private:
  struct Call {
    os::Descriptor socket;
    os::Endpoint endpoint;
  };
  std::map<channel::PeerId, Call> calls_;
};

}  // namespace couplet::universe
