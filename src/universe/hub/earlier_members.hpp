// The ranks of a run as an earlier hub of the run knew them, so that a hub that was started again awaits them even
// if none of them comes back. Pure; read from the roster (roster.hpp), used by HubState.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "channel/channel.hpp"
#include "os/socket.hpp"
#include "universe/membership.hpp"

namespace couplet::universe {

struct EarlierMember {
  PeerState state = PeerState::present;
  std::uint16_t incarnation = 0;
  // Port 0: nobody knows where it listened, or a refusal there would prove nothing.
  os::Endpoint listened_at;
};

struct EarlierMembers {
  // All programs, if the universe was complete. Empty: nothing is known.
  std::vector<ProgramInfo> programs;
  // Those that have been there. The ranks that are missing here have never been there.
  std::map<channel::PeerId, EarlierMember> ranks;
};

}  // namespace couplet::universe
