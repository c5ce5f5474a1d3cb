// The ranks of a run and the writers of its series, as an earlier hub of the run knew them, so that a hub that was
// started again awaits the ranks even if none of them comes back, and gives away no name that one of them writes. Pure;
// read from the roster (roster.hpp), used by HubState.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
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

// A series as the register had it. See SeriesBook for what the members mean.
struct EarlierSeries {
  std::uint64_t creation = 0;
  std::uint64_t incarnation = 0;
  bool failed = false;
  bool closed_by_one = false;
  bool writers_are_known = true;  // false: others may write it, too, since its description had not arrived
  std::set<channel::PeerId> writers;
};

struct EarlierMembers {
  // All programs, if the universe was complete. Empty: only tickets are known.
  std::vector<ProgramInfo> programs;
  // Those that have been there. The ranks that are missing here have never been there.
  std::map<channel::PeerId, EarlierMember> ranks;
  std::map<std::string, EarlierSeries> series;  // by name
  // The greatest incarnation of each member, relays included, for which a ticket was signed. A member may be missing if
  // `ranks` has the same number. Known also if the universe was not complete.
  std::map<channel::PeerId, std::uint16_t> tickets;
  bool tickets_are_known = true;  // false: nobody knows which tickets the hubs before have signed
};

}  // namespace couplet::universe
