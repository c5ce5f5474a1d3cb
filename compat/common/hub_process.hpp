// A couplet-hub that a process has started for its own run. The compatibility layers use it for jobs that have no hub.
// Invariants: the hub ends when the universe has ended; if this process ends for any reason, the hub ends with the last
// member; the hub has no other descriptors of this process than those that it is given.
// Tests: tests/compat.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "descriptor.hpp"

namespace compat {

// The smallest number that a descriptor may have which is passed to HubProcess::start as the secret.
inline constexpr int min_descriptor = 4;

struct HubStart {
  std::vector<std::string> options;  // of couplet-hub; --secret-file and --until-input-ends are added
  int secret = -1;                   // a descriptor of what the file of the secret contains; -1: the user's secret
  // If true, what the hub prints on standard error is kept from the user's, and is the text of the Failure if the hub
  // does not start.
  bool quiet = false;
};

class HubProcess {
 public:
  // Starts the hub and waits until it listens. Throws Failure if it does not.
  void start(const HubStart& what);
  [[nodiscard]] bool running() const noexcept { return process_ != 0; }
  // Returns what the hub has printed as its address: host:port, or file:directory.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  // Waits until the hub has found that the universe has ended, at most that long (< 0: without limit), and says whether
  // it has.
  bool wait_for_end(int timeout_ms);

 private:
  OwnedDescriptor lifeline_;  // the hub's standard input: the hub may end when it is closed
  OwnedDescriptor output_;
  std::string address_;
  pid_t process_ = 0;
};

}  // namespace compat
