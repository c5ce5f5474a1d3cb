// Which link reaches which peer: turns a peer's number into an open channel, by memory where that is proven, else by tcp; and
// takes in those who come from the other side. The channels are those of a channel::ChannelTable.
// Invariants: a channel is opened on first use, and costs nothing before; one channel per peer and incarnation; memory is
// polled often, sockets seldom; a peer known to be lost fails its channel at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/table.hpp"
#include "counters/counters.hpp"
#include "engine/channel_sources.hpp"
#include "link/shm/shm_link.hpp"
#include "message/message.hpp"
#include "runtime/tcp_meetings.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

struct ReachOptions {
  bool shm = true;
  bool tcp = true;
  link::ShmOptions shm_options;
  link::TcpOptions tcp_options;
};

// One peer that was talked to, for `couplet explain`.
struct ReachReport {
  channel::PeerId peer = 0;
  std::string name;
  std::string link;
  std::string why;
};

class Reach final : public message::Channels, private channel::Connector, private MeetingHost {
 public:
  // listener: may be nullptr where tcp is off. handlers outlive this.
  static Result<std::unique_ptr<Reach>> open(universe::Membership& membership, engine::Engine& engine,
                                             std::unique_ptr<link::TcpListener> listener, const ReachOptions& options,
                                             counters::Counters& counters);
  ~Reach() override;

  // Who takes the frames of a family; before the first channel.
  void set_handler(wire::FrameFamily family, channel::FrameHandler& handler) { table_.set_handler(family, handler); }
  void set_messenger(message::Messenger& messenger) { messenger_ = &messenger; }

  Result<channel::Channel*> channel_to(channel::PeerId peer) override;
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return membership_.peer_name(peer); }

  // The membership says so.
  void lost(channel::PeerId peer, const Status& why);
  // Says goodbye on every channel, and gives what was sent over sockets time to arrive.
  void shut(std::uint64_t deadline_ns);
  [[nodiscard]] std::vector<ReachReport> report() const;

 private:
  // How the current incarnation of a peer is reached; there is one for each channel of the table.
  struct Contact {
    std::uint16_t incarnation = 0;
    bool waiting = false;  // for the peer to be there
    std::string why;       // this link
  };
  // A knock of somebody who the membership does not know yet: as which incarnation it knew that peer.
  struct OpenKnock {
    universe::PeerState state;
    std::uint16_t incarnation = 0;
  };
  // Looks for those who come: knocks, members that were absent, and those that came again.
  class Arrivals final : public engine::Source {
   public:
    explicit Arrivals(Reach& reach) : reach_(reach) {}
    int poll(std::uint64_t now_ns, int budget) override;
    [[nodiscard]] bool ready() const override { return reach_.membership_.page().knocked(); }
    void tick(std::uint64_t now_ns) override;

   private:
    Reach& reach_;
  };

  Reach(universe::Membership& membership, engine::Engine& engine, const ReachOptions& options,
        counters::Counters& counters);

  // False: that incarnation was never talked to.
  [[nodiscard]] bool knows(channel::PeerId peer, std::uint16_t incarnation) const;
  Result<std::unique_ptr<link::Lane>> connect(channel::PeerId peer) override;
  Result<std::unique_ptr<link::Lane>> lane_to(channel::PeerId peer, Contact& contact);
  void adopt(channel::PeerId peer, std::uint16_t incarnation, std::unique_ptr<link::Lane> lane, std::string why);
  void retire(channel::PeerId peer);
  int take_knocks();
  void answer_knock(channel::PeerId peer);
  // Takes those out that may be answered now.
  [[nodiscard]] std::vector<channel::PeerId> known_knocks();
  void look_for_absent();
  void look_for_returned();
  void count();
  [[nodiscard]] link::ShmPeer shm_peer(channel::PeerId peer) const;

  Status may_enter(const channel::HandshakePeer& peer) override;
  void met(channel::PeerId peer, std::unique_ptr<link::Lane> lane, const channel::HandshakePeer& proven) override;
  void not_met(channel::PeerId peer, const Status& why) override;
  [[nodiscard]] std::string meeting_name(channel::PeerId peer) const override;

  universe::Membership& membership_;
  engine::Engine& engine_;
  ReachOptions options_;
  counters::Counters& counters_;
  message::Messenger* messenger_ = nullptr;
  std::map<channel::PeerId, Contact> contacts_;
  std::map<channel::PeerId, std::uint16_t> lost_;  // incarnation that was lost
  std::map<channel::PeerId, OpenKnock> open_knocks_;
  channel::ChannelTable table_;
  engine::ChannelSources sources_;
  Arrivals arrivals_{*this};
  std::unique_ptr<link::ShmLink> shm_;
  std::unique_ptr<TcpMeetings> meetings_;
};

}  // namespace couplet::runtime
