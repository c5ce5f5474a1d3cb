// The programs of a universe that are not the user's, as functions that a simulated process runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace world {

// couplet-hub. Calls `started` with the number of the run once the hub listens. Returns when the universe has ended.
void run_hub(const std::vector<std::string>& arguments, void (*started)(std::uint64_t run_id));
// couplet-relay, as its keeper runs it. Returns its exit status.
int run_relay(double join_timeout_s, bool hub_is_up);
inline constexpr int relay_exists = 3;

}  // namespace world
