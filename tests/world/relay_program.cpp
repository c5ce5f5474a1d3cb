// The real couplet-relay: its file, with another name for its main.
#include <signal.h>
#include <unistd.h>
#define main couplet_relay_main
#include "../../src/runtime/main_relay.cpp"  // NOLINT
#undef main

#include "programs.hpp"

namespace world {

int run_relay(double join_timeout_s, bool hub_is_up) {
  static_cast<void>(&couplet_relay_main);
  return run(join_timeout_s, hub_is_up);
}

}  // namespace world
