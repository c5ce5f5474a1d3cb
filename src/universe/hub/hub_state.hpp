// hub: the rendezvous of a universe as a pure state machine. Turns messages of connections that have proven the secret,
// and the time, into messages to members and events. It has no sockets, clock or random numbers: the same inputs give
// the same outputs. Above: hub_server (sockets). Parts: seats (programs, ranks, nodes), series_service, change_batch,
// recovery (after a restart of the hub). Below: control (messages). Invariants: a connection is at most one rank; a
// rank is present on at most one connection; a member is told consistent states, first all of them, then changes in
// batches; no message of a client breaks an invariant (it is answered or refused); no message costs a walk over all
// members. Tests: tests/unit/universe/hub_state_test.cpp, hub_recovery_test.cpp, tests/fuzz/hub_state.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/identity.hpp"
#include "os/clock.hpp"
#include "universe/control.hpp"
#include "universe/hub/absences.hpp"
#include "universe/hub/change_batch.hpp"
#include "universe/hub/earlier_members.hpp"
#include "universe/hub/entering.hpp"
#include "universe/hub/listener_calls.hpp"
#include "universe/hub/outbox.hpp"
#include "universe/hub/seats.hpp"
#include "universe/hub/second_comers.hpp"
#include "universe/hub/series_service.hpp"
#include "universe/incarnations.hpp"
#include "universe/membership.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {

struct HubSettings {
  std::vector<ProgramSpec> programs;
  SettingMap settings;  // given to every member
  // If >= 0: how long the hub waits for readers after the last writer has ended.
  double linger_s = -1;
  std::uint64_t run_id = 0;
  // In a universe with more ranks, a member is told the contact of a peer when it asks for it, and not all contacts at
  // once.
  std::size_t max_told_contacts = 1024;
  bool restarted = false;          // an earlier hub has served this run, and its members come back
  EarlierMembers earlier;          // what that hub knew of them, if anything
  std::uint32_t first_epoch = 0;   // how often the hub was started again, as far as its node directory knows
  double rejoin_grace_s = 5;       // how long joining waits for members of the earlier hub
  double rejoin_patience_s = 600;  // such a member counts as lost if it has not come back after this time
  // A member whose connection has broken without a proof of its death counts as lost if it has not come back and its
  // port has refused connections for this time (0: it counts as lost at once), or if it could not be reached for the
  // other one.
  double reset_patience_s = 3;
  double connection_patience_s = 60;
  SecondComers::HasUnheard has_unheard;  // empty: everything is heard at once
  // Signs the ticket of a member. Empty: tickets are not signed, and a member that returns has to prove nothing.
  std::function<channel::Signature(channel::PeerId, std::uint16_t incarnation, const channel::PublicKey&)> sign;

  [[nodiscard]] bool tells_contacts(std::size_t rank_count) const noexcept { return rank_count <= max_told_contacts; }
};

// What a connection has proven.
struct Caller {
  channel::PeerId id = channel::no_peer;
  std::uint16_t incarnation = 0;
  channel::PublicKey key{};
};

inline constexpr std::uint64_t waiting_note_after_ns = 10'000'000'000;
inline constexpr std::uint64_t waiting_note_every_ns = 30'000'000'000;
inline constexpr std::uint64_t look_every_ns = 1'000'000'000;
// The numbers of nodes that one hub of a run may give; as many as there are ranks, if those are more.
inline constexpr std::size_t min_nodes_of_a_hub = 256;

class HubState {
 public:
  explicit HubState(HubSettings settings);
  HubState(const HubState&) = delete;
  HubState& operator=(const HubState&) = delete;

  // A connection has proven the secret, and that it is `caller`. No id is used twice.
  void connected(ConnectionId connection, std::uint64_t now_ns, const Caller& caller = {});
  void received(ConnectionId connection, const MemberMessage& message, std::uint64_t now_ns);
  // The connection sent bytes that are not a message. It is refused.
  void broken(ConnectionId connection, const Status& why, std::uint64_t now_ns);
  // The connection has ended. why: for the text that the other members get.
  void disconnected(ConnectionId connection, const std::string& why, std::uint64_t now_ns);
  // The connection was reset, or the member's host does not answer. This proves nothing about the process: the member
  // may come back, or its lock or its port shows that it has ended.
  void cut_off(ConnectionId connection, const std::string& why, std::uint64_t now_ns);
  // Returns the ports to be called: of members that have not come back, and whose end is likely.
  [[nodiscard]] std::vector<ListenerCalls::Target> cut_off() const;
  // Takes the result of a call to a port that cut_off() has returned.
  void seen_at_port(const ListenerCalls::Answer& answer, std::uint64_t now_ns);
  // The connection reads too little. It is told no further changes until it has caught up, and is then told the whole
  // state.
  void fell_behind(ConnectionId connection);
  void caught_up(ConnectionId connection);
  // Checks deadlines; to be called a few times a second.
  void tick(std::uint64_t now_ns);
  // Tells all members what has changed; to be called when the time due_ns() has come.
  void flush(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return over_ ? os::never : changes_.due_ns(); }
  // The hub is to end.
  void stop(const std::string& why);

  // Returns the members that were there before a restart of the hub, or before their connections broke, and that have
  // not come back yet. seen() takes what the lock of such a process says: the state of the run is present, left or
  // lost. It has no effect on a process that has come back meanwhile.
  [[nodiscard]] std::vector<PeerRun> awaited() const;
  [[nodiscard]] std::size_t awaited_count() const noexcept { return after_restart_.awaited_count; }
  void seen(const PeerRun& run, const std::string& why, std::uint64_t now_ns);

  [[nodiscard]] std::vector<HubOutput> take_outputs() { return outbox_.take_outputs(); }
  [[nodiscard]] std::vector<HubEvent> take_events() { return outbox_.take_events(); }
  // Returns true when all messages of the end are in the outputs. The server then sends them and ends.
  [[nodiscard]] bool over() const noexcept { return over_.has_value(); }
  // Returns true if a member may live that has not been told of the end: one that has not come back, or any,
  // if this hub was started again and has heard of nobody. It can return only to another hub with the key of this one.
  [[nodiscard]] bool may_be_missed() const noexcept;
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] std::string missing(std::int32_t also = -1) const { return seats_.missing(also, !complete_); }

 private:
  enum class Phase : std::uint8_t { fresh, admitted, placed, present, released, refused };
  struct Client {
    Phase phase = Phase::fresh;
    Caller caller;
    Place place;
    channel::PeerId peer = 0;
    std::uint16_t incarnation = 0;  // that of its ticket, once it is placed
    std::uint64_t since_ns = 0;
    std::uint64_t deadline_ns = UINT64_MAX;
    std::uint64_t next_note_ns = UINT64_MAX;
    std::string host;
    std::optional<std::string> node_key;  // its node gets its number when it is placed
    std::uint16_t noted_node = unknown_node;
    std::uint64_t decide_by_ns = 0;   // until then it may wait as a second comer
    std::optional<JoinMessage> join;  // kept while it waits and is not admitted
  };
  using Clients = std::map<ConnectionId, Client>;

  void take(ConnectionId connection, Client& client, const JoinMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const NodeMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const PresentMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const LeaveMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const ContactsOfMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const CallMeBackMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const CatchUpMessage& message, std::uint64_t now_ns);
  // recovery.cpp
  void take(ConnectionId connection, Client& client, const RejoinMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const RecordMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const SeenMessage& message, std::uint64_t now_ns);
  // All other messages are about series.
  template <typename Message>
  void take(ConnectionId connection, Client& client, const Message& message, std::uint64_t now_ns);

  Status admit(ConnectionId connection, Client& client, const JoinMessage& message);
  void settle_sizes();
  void place(ConnectionId connection, Client& client);
  void gone(ConnectionId connection, Client& client, PeerState state, const std::string& why, std::uint64_t now_ns);
  void tell_changes(ConnectionId connection);
  void changed(const Place& place, const std::string& why);
  void rank_gone(const Place& place, channel::PeerId peer, std::uint64_t now_ns);
  [[nodiscard]] bool only_readers() const;
  void check_over(std::uint64_t now_ns);
  void end(const std::string& text);
  void refuse(ConnectionId connection, Client& client, const Status& why);
  void note(const char* name, const Client& client, const std::string& text = {});
  [[nodiscard]] std::string client_name(const Client& client) const;
  [[nodiscard]] Asker asker(ConnectionId connection, const Client& client) const;

  // letting_in.cpp
  void release(std::int32_t program);
  void release_all();
  [[nodiscard]] const std::vector<Payload>& welcome();

  // recovery.cpp: after a restart of the hub, or a reset of a connection
  [[nodiscard]] bool is_still_connected(const RejoinMessage& message, const Place& place) const;
  void look_at_absent(std::uint64_t now_ns);
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
  std::optional<std::string> over_;  // why the universe has ended
  std::int32_t members_ = 0;         // the ranks that are admitted or awaited, and have not gone
  std::size_t released_ = 0;
  Clients clients_;
  std::set<ConnectionId> joining_;  // neither released nor refused, so that a deadline runs
  Entering entering_;
  std::vector<Payload> welcome_;     // what a member is told at its release; empty: to be encoded again
  std::uint64_t idle_since_ns_ = 0;  // since when only readers, or no members at all, are left
  Absences absences_;                // the members that were cut off or that are awaited
  struct AfterRestart {
    bool recovering = false;
    bool awaiting = false;       // a released member, or the roster, has told which others were there
    bool found = false;          // a process has come back, or has joined
    bool all_are_known = false;  // each rank that was awaited has come back, or is known to have ended
    std::uint32_t epoch = 0;
    std::size_t awaited_count = 0;
    std::uint64_t grace_until_ns = 0;
    std::uint64_t patience_until_ns = 0;
    std::uint64_t next_look_ns = 0;
  };
  AfterRestart after_restart_;
  SecondComers second_comers_;
};

}  // namespace couplet::universe
