// Found: what a tcp lane learns about its connection from calls that do not receive. Private to link/tcp/.
// Tests: tests/unit/link/tcp_lane_test.cpp.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/status.hpp"

namespace couplet::link {

struct Found {
  std::uint64_t last_look_ticks = 0;  // the last check for silence
  // The error of a reset. The system reports it only once: if a call that sends has got it, the calls that receive see
  // an end, as if the peer had closed the connection.
  Status reset;

  // Notes a reset. EPIPE is not one for certain: it also comes after the peer has closed the connection.
  void note(const Status& why) {
    if (reset.ok() && !why.text().ends_with(std::strerror(EPIPE))) {
      reset = why;
    }
  }
};

}  // namespace couplet::link
