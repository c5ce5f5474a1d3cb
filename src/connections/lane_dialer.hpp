// The lanes that connections have beside their first one: dials those that are missing, and takes those that the peers
// dial. Part of Connections. Invariants: there is one dial over each transport to a peer at a time; a connection that
// has one lane by its settings costs nothing here; a lane that cannot be made delays nothing. Tests:
// tests/universe/test_hybrid.py; the decisions: tests/unit/connections/more_lanes_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "channel/table.hpp"
#include "connections/more_lanes.hpp"
#include "connections/transport_set.hpp"
#include "universe/membership.hpp"

namespace couplet::connections {

// The lanes of one connection, for `couplet explain`.
struct LanesReport {
  struct Lane {
    std::string link;
    std::string carries;
  };
  std::vector<Lane> lanes;  // empty: the connection has one lane by its settings
  std::string missing;      // why lanes are missing
};

class LaneDialer {
 public:
  // All arguments outlive it.
  LaneDialer(const universe::Membership& membership, TransportSet& transports, channel::ChannelTable& table,
             const LanePlan& plan)
      : membership_(membership), transports_(transports), table_(table), plan_(plan) {}
  LaneDialer(const LaneDialer&) = delete;
  LaneDialer& operator=(const LaneDialer&) = delete;

  // The connection to the peer has begun, or begun again, over that link.
  void begin(channel::PeerId peer, std::string_view first_link);
  // Dials a lane that the connection to the peer lacks, if the time for it has come.
  void dial_missing(channel::PeerId peer);
  // Does so for all peers.
  void dial_missing();
  // The peer offers one more lane. Returns ok if it is wanted, exists if the connection is still being made, and
  // otherwise why it is refused.
  [[nodiscard]] Status consider(const link::Transport& transport, const link::Offer& offer) const;
  // Takes a lane that either side has dialed. REQUIRES: the connection is open.
  void add(const link::Transport& transport, channel::PeerId peer, std::unique_ptr<link::Lane> lane);
  // A dial has ended without a lane. Returns false if it was not one of these dials.
  [[nodiscard]] bool failed(const link::Transport& transport, channel::PeerId peer, const Status& why);
  // Cancels the dials of lanes to the peer.
  void cancel(channel::PeerId peer);
  // Cancels all dials to the peer, also those of first lanes.
  void cancel_all(channel::PeerId peer);
  // Does the same, and forgets the peer.
  void forget(channel::PeerId peer);
  [[nodiscard]] LanesReport report(channel::PeerId peer, const channel::Channel& channel) const;

 private:
  const universe::Membership& membership_;
  TransportSet& transports_;
  channel::ChannelTable& table_;
  LanePlan plan_;
  std::map<channel::PeerId, MoreLanes> peers_;
};

}  // namespace couplet::connections
