// connections: turns a peer's number into an open channel. Walks the ordered list of transports until one of them has
// made a lane that both sides use, records why the others were not taken, accepts the peers that dial this process, and
// makes broken connections again. Above: message, relay, runtime (which lists the transports). Below: universe (the
// table of peers), engine, channel, link. Invariants: a channel is opened on first use, and costs nothing before; there
// is one channel for each peer and incarnation; a connection lives as long as its two processes, or until the patience
// (a setting) has passed; only the membership decides that a peer is gone, and what that peer sent before it left in
// good order is delivered first; both sides know the transport that was chosen. Tests: tests/unit/connections,
// tests/conformance/connecting, tests/universe/test_connecting.py.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/retry.hpp"
#include "base/status.hpp"
#include "channel/channels.hpp"
#include "channel/table.hpp"
#include "connections/lane_dialer.hpp"
#include "connections/transport_set.hpp"
#include "connections/walk.hpp"
#include "counters/counters.hpp"
#include "engine/channel_sources.hpp"
#include "engine/peer_patience.hpp"
#include "universe/membership.hpp"

namespace couplet::connections {

struct ConnectionsOptions {
  WalkOptions walk;
  LanePlan lanes;
  channel::LanePolicy policy;  // each channel has it
};

// A peer with which this process has communicated, for `couplet explain`.
struct ConnectionReport {
  channel::PeerId peer = 0;
  std::string name;
  std::string link;       // empty: there is no connection
  std::string why;        // why this link was taken, or why there is no connection
  std::string not_taken;  // why the links before it were not taken
  LanesReport lanes;
};

class Connections final : public channel::Channels, private channel::Connector, private TransportSet {
 public:
  // All arguments outlive this object, and so do the handlers.
  Connections(universe::Membership& membership, engine::Engine& engine, const ConnectionsOptions& options,
              counters::Counters& counters);
  ~Connections() override;

  // The host that transports need when they are made. add() then takes them, in the order in which they are tried.
  [[nodiscard]] link::TransportHost& host() noexcept { return *this; }
  using TransportSet::add;
  using TransportSet::at;
  using TransportSet::count;
  // Sets the handler of a family's frames. REQUIRES: there is no channel yet.
  void set_handler(wire::FrameFamily family, channel::FrameHandler& handler) { table_.set_handler(family, handler); }
  // Called when a peer that was lost has returned as a new incarnation.
  void on_returned(std::function<void(channel::PeerId)> handler) { returned_ = std::move(handler); }

  Result<channel::Channel*> channel_to(channel::PeerId peer) override;
  void waits_for(channel::PeerId peer) noexcept override;
  void look_for_returned() override;
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return membership_.peer_name(peer); }

  // The peer has left in good order. Returns true while something that it sent before may still arrive, which this
  // takes. Nothing is sent to it any longer.
  [[nodiscard]] bool still_sends(channel::PeerId peer);
  // The membership says that the peer is gone. Delivers what the peer has sent, then fails its channel.
  void lost(channel::PeerId peer, const Status& why);
  // Calls `first`, which waits until what was sent has gone. Then says goodbye on every channel, and waits until the
  // peers have received what was sent, or can take it from shared memory later. Both waits together end once no peer
  // has taken anything for the limit.
  void shut(std::uint64_t limit_ns, const std::function<void(engine::PeerPatience&)>& first);
  [[nodiscard]] std::vector<ConnectionReport> report() const;

 private:
  // The state of the connection to one incarnation of a peer. There is one for each channel of the table.
  struct Peer {
    std::uint16_t incarnation = 0;
    bool absent = false;       // the peer has not joined yet, and is waited for
    std::optional<Walk> walk;  // there is one while no lane is in use by both sides
    link::Purpose purpose = link::Purpose::first;
    std::uint64_t frames_received = 0;  // when the connection was last lost
    int futile = 0;                     // how many times in a row it was lost before any frame arrived
    std::string why;                    // why the present transport was taken
    std::string not_taken;              // why the transports before it were not taken
  };
  // Since when nothing has come from a peer that has left.
  struct Silence {
    std::uint64_t arrived = 0;
    LookedTime waited;
  };
  struct HubAbsence {
    LookedTime missed;      // by receives whose sources have no channel
    LookedTime away;        // and so tells no contact of a peer
    bool was_away = false;  // at any time
  };
  class Ticks final : public engine::Source {
   public:
    explicit Ticks(Connections& connections) : connections_(connections) {}
    int poll(std::uint64_t /*now_ns*/, int /*budget*/) override { return 0; }
    [[nodiscard]] bool ready() const override { return false; }
    void tick(std::uint64_t now_ns) override { connections_.tick(now_ns); }

   private:
    Connections& connections_;
  };

  // Returns false if this process has never opened a channel to that incarnation.
  [[nodiscard]] bool knows(channel::PeerId peer, std::uint16_t incarnation) const;
  Result<std::unique_ptr<link::Lane>> connect(channel::PeerId peer) override;
  Result<std::unique_ptr<link::Lane>> reconnect(channel::PeerId peer, const Status& why) override;
  void begin_walk(channel::PeerId id, Peer& peer, link::Purpose purpose);
  Result<std::unique_ptr<link::Lane>> go_on(channel::PeerId id, Peer& peer);
  void go_on_and_tell(channel::PeerId id);
  void note_failure(channel::PeerId id, Peer& peer, std::size_t transport, const Status& why);
  void call_back(channel::PeerId id);
  void retire(channel::PeerId peer);
  void tick(std::uint64_t now_ns);
  bool look_at_offer(channel::PeerId id, Peer& peer);
  void drain(channel::PeerId peer);

  [[nodiscard]] Status consider(link::Transport& transport, const link::Offer& offer) override;
  [[nodiscard]] Result<link::Address> address_of(const link::Transport& transport, std::uint32_t id) const override;
  void connected(link::Transport& transport, const link::Offer& offer, std::unique_ptr<link::Lane> lane,
                 link::Origin origin) override;
  void not_connected(link::Transport& transport, const link::Party& peer, const link::DialFailure& failure) override;
  [[nodiscard]] std::string name_of(std::uint32_t id) const override;

  universe::Membership& membership_;
  engine::Engine& engine_;
  ConnectionsOptions options_;
  counters::Counters& counters_;
  std::function<void(channel::PeerId)> returned_;
  std::map<channel::PeerId, Peer> peers_;
  std::map<channel::PeerId, std::uint16_t> lost_;  // the incarnation that was lost
  std::map<channel::PeerId, Silence> leaving_;     // peers that have left, and still send
  channel::ChannelTable table_;
  engine::ChannelSources sources_;
  LaneDialer more_;  // the lanes of connections beside their first one
  HubAbsence hub_;
  bool shutting_ = false;
  Ticks ticks_{*this};
};

}  // namespace couplet::connections
