// connections: turns a peer's number into an open channel. Walks the ordered list of transports until one of them has
// made a lane that both sides have, tells why the others were not taken, takes in the peers that dial this process, and
// makes broken connections again. Above: message, relay, runtime (which lists the transports). Below: universe (who is
// there), engine, channel, link. Invariants: a channel is opened on first use, and costs nothing before; one channel
// per peer and incarnation; a connection lives as long as its two processes, or until a patience that can be set has
// passed; only the membership says that a peer is gone, and what it sent before it left in good order is delivered
// first; both sides know the transport that was chosen. Tests: tests/unit/connections, tests/conformance/connecting,
// tests/universe/test_connecting.py.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channels.hpp"
#include "channel/table.hpp"
#include "connections/transport_set.hpp"
#include "connections/walk.hpp"
#include "counters/counters.hpp"
#include "engine/channel_sources.hpp"
#include "universe/membership.hpp"

namespace couplet::connections {

struct ConnectionsOptions {
  WalkOptions walk;
  // How a peer of the membership is dialed by the transport of that name; an empty contact: it is not.
  std::function<link::Contact(std::string_view transport, const universe::PeerInfo& peer)> contact_of;
};

// One peer that was talked to, for `couplet explain`.
struct ConnectionReport {
  channel::PeerId peer = 0;
  std::string name;
  std::string link;       // empty: there is no connection
  std::string why;        // this link; or why there is none
  std::string not_taken;  // why not the links before it
};

class Connections final : public channel::Channels, private channel::Connector, private TransportSet {
 public:
  // All outlive this, and so do handlers.
  Connections(universe::Membership& membership, engine::Engine& engine, const ConnectionsOptions& options,
              counters::Counters& counters);
  ~Connections() override;

  // To make transports with, which add() then takes in the order in which they are tried.
  [[nodiscard]] link::TransportHost& host() noexcept { return *this; }
  using TransportSet::add;
  // Who takes the frames of a family; before the first channel.
  void set_handler(wire::FrameFamily family, channel::FrameHandler& handler) { table_.set_handler(family, handler); }
  // Called when a peer that was lost is there again, as a new incarnation.
  void on_returned(std::function<void(channel::PeerId)> handler) { returned_ = std::move(handler); }

  Result<channel::Channel*> channel_to(channel::PeerId peer) override;
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return membership_.peer_name(peer); }

  // The membership says so. Delivers what the peer has sent, then fails its channel.
  void lost(channel::PeerId peer, const Status& why);
  // Says goodbye on every channel, and waits until what was sent is in the hands of the peers, or stays for them.
  void shut(std::uint64_t deadline_ns);
  [[nodiscard]] std::vector<ConnectionReport> report() const;

 private:
  // What is known of the connection to one incarnation of a peer; there is one for each channel of the table.
  struct Peer {
    std::uint16_t incarnation = 0;
    bool absent = false;       // waits for the peer to come
    std::optional<Walk> walk;  // while there is no lane that both sides have
    link::Purpose purpose = link::Purpose::first;
    std::uint64_t frames_received = 0;  // when the connection was lost last
    int futile = 0;                     // so often in a row it was lost before anything came
    std::string why;                    // the present transport
    std::string not_taken;              // why not those before it
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

  // False: that incarnation was never talked to.
  [[nodiscard]] bool knows(channel::PeerId peer, std::uint16_t incarnation) const;
  Result<std::unique_ptr<link::Lane>> connect(channel::PeerId peer) override;
  Result<std::unique_ptr<link::Lane>> reconnect(channel::PeerId peer, const Status& why) override;
  void begin_walk(channel::PeerId id, Peer& peer, link::Purpose purpose);
  Result<std::unique_ptr<link::Lane>> go_on(channel::PeerId id, Peer& peer);
  void go_on_and_tell(channel::PeerId id);
  void note_failure(channel::PeerId id, Peer& peer, std::size_t transport, const Status& why);
  void call_back(channel::PeerId id);
  void dial_once_more(channel::PeerId id);
  Status give_up(channel::PeerId id, const Peer& peer) const;
  void retire(channel::PeerId peer);
  void tick(std::uint64_t now_ns);
  bool look_at_offer(channel::PeerId id, Peer& peer);
  void look_for_returned();
  void drain(channel::PeerId peer);

  [[nodiscard]] Status consider(link::Transport& transport, const link::Offer& offer) override;
  [[nodiscard]] Result<link::Address> address_of(const link::Transport& transport, std::uint32_t id) const override;
  void connected(link::Transport& transport, const link::Offer& offer, std::unique_ptr<link::Lane> lane,
                 link::Origin origin) override;
  void not_connected(link::Transport& transport, const link::Party& peer, const Status& why) override;
  [[nodiscard]] std::string name_of(std::uint32_t id) const override;

  universe::Membership& membership_;
  engine::Engine& engine_;
  ConnectionsOptions options_;
  counters::Counters& counters_;
  std::function<void(channel::PeerId)> returned_;
  std::map<channel::PeerId, Peer> peers_;
  std::map<channel::PeerId, std::uint16_t> lost_;  // incarnation that was lost
  channel::ChannelTable table_;
  engine::ChannelSources sources_;
  Ticks ticks_{*this};
};

}  // namespace couplet::connections
