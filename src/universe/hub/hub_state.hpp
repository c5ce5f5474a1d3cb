// hub: the rendezvous of a universe as a pure state machine. Turns what proven connections say, and the time, into
// messages to them and events. No sockets, no clock, no randomness: the same inputs give the same outputs. Above:
// hub_server (sockets). Parts: seats (programs, ranks, nodes), series_service, change_batch, recovery (after a restart
// of the hub). Below: control (messages). Invariants: a connection is at most one rank; a rank is present on at most
// one connection; what was sent to a member is consistent: all states, then changes in batches; nothing that a client
// says breaks an invariant (it is answered or refused); no message costs a walk over all members. Tests:
// tests/unit/universe/test_hub_state.cpp, test_hub_recovery.cpp, tests/fuzz/hub_state.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/clock.hpp"
#include "universe/control.hpp"
#include "universe/hub/change_batch.hpp"
#include "universe/hub/listener_calls.hpp"
#include "universe/hub/outbox.hpp"
#include "universe/hub/seats.hpp"
#include "universe/hub/series_service.hpp"
#include "universe/membership.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {

struct HubSettings {
  std::vector<ProgramSpec> programs;
  SettingMap settings;   // handed to every member
  double linger_s = -1;  // >= 0: bound on waiting for readers after the last writer has ended
  std::uint64_t run_id = 0;
  // In a universe with more ranks a member is told a peer's contact when it asks for it, and not all of them at once.
  std::size_t max_told_contacts = 1024;
  bool restarted = false;          // another hub served this run before: its members come back
  double rejoin_grace_s = 5;       // so long joining waits for members of before
  double rejoin_patience_s = 600;  // a member of before that has not come back then counts as lost
  // A member whose connection was reset counts as lost if it neither comes back nor is seen to listen for so long.
  double reset_patience_s = 3;
};

inline constexpr std::uint64_t waiting_note_after_ns = 10'000'000'000;
inline constexpr std::uint64_t waiting_note_every_ns = 30'000'000'000;
inline constexpr std::uint64_t look_every_ns = 1'000'000'000;
// Above any incarnation that a rank has reached while an earlier hub was there, if nobody has told which that was.
inline constexpr std::uint16_t unheard_incarnation = 64;

class HubState {
 public:
  explicit HubState(HubSettings settings);
  HubState(const HubState&) = delete;
  HubState& operator=(const HubState&) = delete;

  // A connection has proven the secret. Ids are never used twice.
  void connected(ConnectionId connection, std::uint64_t now_ns);
  void received(ConnectionId connection, const MemberMessage& message, std::uint64_t now_ns);
  // Bytes that are no message: refuses the connection.
  void broken(ConnectionId connection, const Status& why, std::uint64_t now_ns);
  // The connection has ended; why is for the sentence that the others get.
  void disconnected(ConnectionId connection, const std::string& why, std::uint64_t now_ns);
  // As disconnected(), if it was reset, which proves nothing about the process: a member may come back
  // (reset_patience_s), or its lock says that it has ended.
  void cut_off(ConnectionId connection, const std::string& why, std::uint64_t now_ns);
  // Where those listen for their peers that were cut off and have not come back.
  [[nodiscard]] std::vector<ListenerCalls::Target> cut_off() const;
  // One of them still listens: it lives, and its patience begins anew.
  void seen_listening(channel::PeerId peer, std::uint64_t now_ns);
  // The connection reads too little: it is told no more changes until it has caught up, and then the state of
  // everything.
  void fell_behind(ConnectionId connection);
  void caught_up(ConnectionId connection);
  // Deadlines; to be called a few times a second.
  void tick(std::uint64_t now_ns);
  // Tells all members what has changed; to be called when due_ns() has come.
  void flush(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return over_ ? os::never : changes_.due_ns(); }
  // The hub was told to end.
  void stop(const std::string& why);

  // Who was there before a restart or a reset and has not come back yet, and what the lock of such a process says
  // (state left or lost; ignored if it has come back meanwhile).
  [[nodiscard]] std::vector<PeerRun> awaited() const;
  [[nodiscard]] std::size_t awaited_count() const noexcept { return awaited_count_; }
  void seen_gone(const PeerRun& gone, const std::string& why, std::uint64_t now_ns);

  [[nodiscard]] std::vector<HubOutput> take_outputs() { return outbox_.take_outputs(); }
  [[nodiscard]] std::vector<HubEvent> take_events() { return outbox_.take_events(); }
  // Everything that had to be said is in the outputs; the server sends them and ends.
  [[nodiscard]] bool over() const noexcept { return over_; }
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] std::string missing(std::int32_t also = -1) const { return seats_.missing(also); }

 private:
  enum class Phase : std::uint8_t { fresh, admitted, placed, present, released, refused };
  struct Client {
    Phase phase = Phase::fresh;
    Place place;
    channel::PeerId peer = 0;
    std::uint64_t since_ns = 0;
    std::uint64_t deadline_ns = UINT64_MAX;
    std::uint64_t next_note_ns = UINT64_MAX;
    std::string host;
  };
  using Clients = std::map<ConnectionId, Client>;

  void take(ConnectionId connection, Client& client, const JoinMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const NodeMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const PresentMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const LeaveMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const ContactsOfMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const CallMeBackMessage& message, std::uint64_t now_ns);
  // recovery.cpp
  void take(ConnectionId connection, Client& client, const RejoinMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const RecordMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const SeenMessage& message, std::uint64_t now_ns);
  // The rest is about series.
  template <typename Message>
  void take(ConnectionId connection, Client& client, const Message& message, std::uint64_t now_ns);

  Status admit(ConnectionId connection, Client& client, const JoinMessage& message);
  void settle_sizes();
  void place(ConnectionId connection, Client& client);
  void release(std::int32_t program);
  void release_all();
  [[nodiscard]] const std::vector<Payload>& welcome();
  void gone(ConnectionId connection, Client& client, PeerState state, const std::string& why, std::uint64_t now_ns);
  void tell_changes(ConnectionId connection);
  [[nodiscard]] bool tells_contacts() const;
  void changed(const Place& place, const std::string& why);
  void rank_gone(const Place& place, channel::PeerId peer, std::uint64_t now_ns);
  [[nodiscard]] bool only_readers() const;
  void check_over(std::uint64_t now_ns);
  void end(const std::string& text);
  void refuse(ConnectionId connection, Client& client, const Status& why);
  void note(const char* name, const Client& client, const std::string& text = {});
  [[nodiscard]] std::string client_name(const Client& client) const;
  [[nodiscard]] Asker asker(ConnectionId connection, const Client& client) const;

  // recovery.cpp: after a restart of the hub, or a reset of a connection
  [[nodiscard]] bool is_still_connected(const RejoinMessage& message, const Place& place) const;
  void look_at_cut_off(std::uint64_t now_ns);
  Status check_rejoin(const RejoinMessage& message, Place& place);
  Status take_seat_again(ConnectionId connection, const RejoinMessage& message, const Place& place);
  void await_members(std::uint64_t now_ns);
  void take_exceptions(const std::vector<PeerRun>& exceptions, std::uint64_t now_ns);
  void seen_one(channel::PeerId peer, PeerState state, std::uint16_t incarnation, const std::string& why,
                std::uint64_t now_ns);
  void look_for_awaited(std::uint64_t now_ns);
  void settle_recovery(std::uint64_t now_ns);

  HubSettings settings_;
  Seats seats_;
  Outbox outbox_;
  SeriesService series_;
  ChangeBatch changes_;
  bool complete_ = false;
  bool over_ = false;
  std::int32_t members_ = 0;  // ranks that are admitted or awaited, and not yet gone
  std::size_t released_ = 0;
  Clients clients_;
  std::set<ConnectionId> joining_;                            // neither released nor refused: they have deadlines
  std::map<std::int32_t, std::set<ConnectionId>> may_enter_;  // present, by program (-1: relays)
  std::vector<Payload> welcome_;                              // empty: to be made anew
  std::uint64_t idle_since_ns_ = 0;                           // nobody but readers is left since
  // Members whose connections were reset, and that have not come back yet. Their seats are awaited.
  struct CutOff {
    std::uint64_t deadline_ns = 0;
    std::string why;
  };
  std::map<channel::PeerId, CutOff> cut_off_;
  // After a restart of the hub.
  bool recovering_ = false;
  bool awaiting_ = false;  // a member has told who was there
  std::uint32_t epoch_ = 0;
  std::size_t awaited_count_ = 0;
  std::uint64_t grace_until_ns_ = 0;
  std::uint64_t patience_until_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
};

}  // namespace couplet::universe
