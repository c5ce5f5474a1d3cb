// The signals that end a service (the hub, a relay), as a descriptor that can be waited for.
#pragma once

#include <sys/signalfd.h>

#include <csignal>

#include "os/descriptor.hpp"

namespace couplet::os {

// Returns a descriptor that can be read after SIGTERM, SIGINT or SIGHUP. These no longer end the process, and SIGPIPE
// is ignored.
inline Descriptor open_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace couplet::os
