// Dials the ports at which members listen for their peers. If the system accepts such a connection, a process still
// holds the port, even if it computes or is stopped; if the system refuses it, no process does. A connection that was
// accepted is kept: as long as it lasts, a process holds it or the port, since the system ends both with the process.
// So a member that computes has one such connection waiting, and its port does not become full. Used by hub_server and
// roster. Tests: tests/unit/universe/listener_calls_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "channel/channel.hpp"
#include "os/socket.hpp"

namespace couplet::universe {

class ListenerCalls {
 public:
  static constexpr std::size_t max_calls = 64;   // the most dials that are under way at the same time
  static constexpr std::size_t max_held = 1024;  // the most connections that are kept after they were accepted

  struct Target {
    channel::PeerId peer = 0;
    os::Endpoint endpoint;
  };
  struct Answer {
    channel::PeerId peer = 0;
    bool listens = false;  // false: the connection was refused
    bool operator==(const Answer&) const = default;
  };
  // Dials those of `targets` that are not being dialed already, gives up the dials to all others, and returns the
  // answers that have come since the last call. Never blocks.
  std::vector<Answer> call(const std::vector<Target>& targets);

 private:
  struct Call {
    os::Descriptor socket;
    os::Endpoint endpoint;
    bool answered = false;  // the connection was accepted, and is kept
    bool wanted = false;    // it is one of the targets; false between two calls
  };
  std::map<channel::PeerId, Call> calls_;
};

}  // namespace couplet::universe
