// The signals that end a service (the hub, a relay), as a descriptor to wait for.
#pragma once

#include <sys/signalfd.h>

#include <csignal>

#include "os/descriptor.hpp"

namespace couplet::os {

// Readable after SIGTERM, SIGINT or SIGHUP, which no longer end the process; SIGPIPE is ignored from now on.
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
