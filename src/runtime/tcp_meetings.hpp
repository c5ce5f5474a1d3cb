// How members of different nodes meet: calls others and answers calls, shakes hands without blocking, and hands over lanes.
// Both ends of a pair may call at once: the call of the lower peer id survives (connection_wins).
// Invariants: nothing of a caller is believed before its handshake is done; callers that have not proven themselves are few
// and short-lived; a call that fails is told once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "engine/engine.hpp"
#include "link/tcp/tcp_lane.hpp"

namespace couplet::runtime {

// What TcpMeetings asks of and tells to the universe.
class MeetingHost {
 public:
  virtual ~MeetingHost() = default;
  // A proven caller: ok, or why not (exists: there is a channel already; peer_lost: not a member any more; not_yet: not a
  // member so far, to be asked again).
  virtual Status may_enter(const channel::HandshakePeer& peer) = 0;
  // A lane to `peer`, ready.
  virtual void met(channel::PeerId peer, std::unique_ptr<link::Lane> lane, const channel::HandshakePeer& proven) = 0;
  // The call to `peer` came to nothing.
  virtual void not_met(channel::PeerId peer, const Status& why) = 0;
  // For sentences.
  [[nodiscard]] virtual std::string meeting_name(channel::PeerId peer) const = 0;
};

inline constexpr std::size_t most_unproven_callers = 64;
inline constexpr std::uint64_t caller_patience_ns = 5'000'000'000;  // with a stranger
inline constexpr std::uint64_t call_patience_ns = 10'000'000'000;   // with a host, until there is a connection

class TcpMeetings final : public engine::Source {
 public:
  // self: as whom to speak. Callers that came before have waited in the listener's backlog.
  static Result<std::unique_ptr<TcpMeetings>> open(MeetingHost& host, engine::Engine& engine,
                                                   std::unique_ptr<link::TcpListener> listener,
                                                   const channel::Secret& secret, const channel::HandshakeSelf& self,
                                                   const link::TcpOptions& options);
  ~TcpMeetings() override;

  Status call(channel::PeerId peer, std::uint16_t incarnation, const os::Endpoint& target);
  // Calls to `peer` are not wanted any more.
  void hang_up(channel::PeerId peer);

  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override { return false; }
  // Handshakes that are not done yet: their deadlines want to be looked at.
  void tick(std::uint64_t now_ns) override { poll(now_ns, 1); }

 private:
  struct Meeting;
  TcpMeetings(MeetingHost& host, engine::Engine& engine, std::unique_ptr<link::TcpListener> listener,
              const channel::Secret& secret, const channel::HandshakeSelf& self, const link::TcpOptions& options);

  int take_callers(std::uint64_t now_ns);
  void listen(bool wanted);
  // False: the meeting is over, one way or the other.
  bool drive(Meeting& meeting, std::uint64_t now_ns);
  Status dial(Meeting& meeting);
  static bool is_late(Meeting& meeting, std::uint64_t now_ns);
  Status connect(Meeting& meeting);
  void decide(Meeting& meeting);
  void conclude(Meeting& meeting);
  void give_up(Meeting& meeting, const Status& why);
  void unwatch(Meeting& meeting);
  [[nodiscard]] Meeting* own_call_to(channel::PeerId peer);

  MeetingHost& host_;
  engine::Engine& engine_;
  std::unique_ptr<link::TcpListener> listener_;
  bool listening_ = false;  // a caller wakes us up
  channel::Secret secret_;
  channel::HandshakeSelf self_;
  link::TcpOptions options_;
  std::vector<std::unique_ptr<Meeting>> meetings_;
};

}  // namespace couplet::runtime
