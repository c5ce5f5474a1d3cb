// Which values of which rank a rank needs for one time step: the plan of the kernel's messages.
//
// A value is one of the 19 of a site, after a collision. In a time step, the owner of a site collects what streams
// towards it. The holder of a value is the rank that has it. In most rounds holder and owner of each site are the same
// rank. In the round in which sites move to other ranks they are not, and what moves are the values that each new owner
// needs: there is no other difference.
#ifndef BLOODFLOW_TRANSFER_HPP
#define BLOODFLOW_TRANSFER_HPP

#include <cstdint>
#include <vector>

#include "partition.hpp"
#include "vessel.hpp"

namespace bloodflow {

// A place in the values of a rank: those that it holds (19 for each site), and then those that arrive.
using Place = std::int32_t;

// A correction of a value that comes from a wall, or through an end.
struct Correction {
  Link::Kind kind = Link::Kind::wall;
  std::int32_t direction = 0;
  double own_share = 0, other_share = 0;  // wall: of the value that turns round, and of the other one
  Place other = 0;                        // wall: that value; outlet: the first of the site's 19 values in `extras`
  double inflow = 0;                      // inlet: what is added, for each unit of the inflow's speed
};

// What one rank does to compute its sites of the next round.
struct Step {
  std::vector<Place> sources;  // 19 for each site
  std::vector<Correction> corrections;
  std::vector<std::int32_t> first_correction;  // by site, and one more
  std::vector<Place> extras;
  std::vector<std::int32_t> inner, outer;  // sites that need nothing of others, and the rest
};

struct Peer {
  std::int32_t rank = -1;
  std::vector<Place> sent;      // places of what the peer needs
  std::vector<Place> received;  // where to put what comes from it
};

struct Transfer {
  std::vector<std::int32_t> held_sites, owned_sites;  // in ascending order
  std::int32_t arriving = 0;                          // values that come from others
  std::vector<Peer> peers;                            // in ascending order of ranks
  Step step;
};

Transfer plan_transfer(const Vessel& vessel, const Owners& holders, const Owners& owners, std::int32_t rank);

}  // namespace bloodflow

#endif
