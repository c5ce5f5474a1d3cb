// Which link reaches which peer: turns a peer's number into an open channel, by memory where that is proven, else by tcp; and
// takes in those who come from the other side.
// Invariants: a channel is opened on first use, and costs nothing before; one channel per peer and incarnation; memory is
// polled often, sockets seldom; a peer known to be lost fails its channel at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "engine/engine.hpp"
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

class Reach final : public message::Channels, private MeetingHost {
 public:
  // listener: may be nullptr where tcp is off. handlers outlive this.
  static Result<std::unique_ptr<Reach>> open(universe::Membership& membership, engine::Engine& engine,
                                             std::unique_ptr<link::TcpListener> listener, const ReachOptions& options);
  ~Reach() override;

  // Who takes the frames of a family; before the first channel.
  void set_handler(wire::FrameFamily family, channel::FrameHandler& handler);
  void set_messenger(message::Messenger& messenger) { messenger_ = &messenger; }

  Result<channel::Channel*> channel_to(channel::PeerId peer) override;
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return membership_.peer_name(peer); }

  // The membership says so.
  void lost(channel::PeerId peer, const Status& why);
  // Says goodbye on every channel, and gives what was sent over sockets time to arrive.
  void shut(std::uint64_t deadline_ns);
  [[nodiscard]] std::vector<ReachReport> report() const;

 private:
  struct Contact {
    std::unique_ptr<channel::Channel> channel;
    std::uint16_t incarnation = 0;
    bool waiting = false;  // for the peer to be there
    bool socket = false;   // polled seldom
    int watched = -1;
    bool watched_write = false;
    std::string why;  // this link
  };
  // Polls one kind of channels.
  class Part final : public engine::Source {
   public:
    Part(Reach& reach, bool sockets) : reach_(reach), sockets_(sockets) {}
    int poll(std::uint64_t now_ns, int budget) override;
    [[nodiscard]] bool ready() const override;
    void tick(std::uint64_t now_ns) override;
    std::vector<Contact*> contacts;

   private:
    Reach& reach_;
    bool sockets_;
  };

  Reach(universe::Membership& membership, engine::Engine& engine, const ReachOptions& options);

  // nullptr where that incarnation was never talked to.
  [[nodiscard]] Contact* find(channel::PeerId peer, std::uint16_t incarnation) const;
  Contact& make_contact(channel::PeerId peer, std::uint16_t incarnation);
  void tell_failure(Contact& contact, const Status& why);
  Status connect(channel::PeerId peer, Contact& contact);
  Status call(channel::PeerId peer, Contact& contact, const std::string& why_not_memory);
  void attach(Contact& contact, std::unique_ptr<link::Lane> lane, std::string why);
  void retire(channel::PeerId peer);
  void watch(Contact& contact);
  void unwatch(Contact& contact);
  int take_knocks();
  // False: this knock has to wait until the membership knows who it is.
  bool answer_knock(channel::PeerId peer);
  void look_for_returned();
  [[nodiscard]] link::ShmPeer shm_peer(channel::PeerId peer) const;

  Status may_enter(const channel::HandshakePeer& peer) override;
  void met(channel::PeerId peer, std::unique_ptr<link::Lane> lane, const channel::HandshakePeer& proven) override;
  void not_met(channel::PeerId peer, const Status& why) override;
  [[nodiscard]] std::string meeting_name(channel::PeerId peer) const override;

  universe::Membership& membership_;
  engine::Engine& engine_;
  ReachOptions options_;
  message::Messenger* messenger_ = nullptr;
  channel::Handlers handlers_{};
  std::map<channel::PeerId, std::unique_ptr<Contact>> contacts_;
  std::map<channel::PeerId, std::uint16_t> lost_;  // incarnation that was lost
  std::vector<std::unique_ptr<Contact>> retired_;  // handlers may still look at their channels
  std::vector<channel::PeerId> open_knocks_;
  Part memory_{*this, false};
  Part sockets_{*this, true};
  std::unique_ptr<link::ShmLink> shm_;
  std::unique_ptr<TcpMeetings> meetings_;
};

}  // namespace couplet::runtime
