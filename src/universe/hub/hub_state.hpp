// hub: the rendezvous of a universe as a pure state machine. Turns what proven connections say, and the time, into messages
// to them and events. No sockets, no clock, no randomness: the same inputs give the same outputs.
// Above: hub_server (sockets). Below: control (messages), series_book.
// Invariants: a connection is at most one rank; a rank is present on at most one connection; what was sent to a member is
// consistent: a table, then changes; nothing that a client says breaks an invariant (it is answered or refused).
// Tests: tests/unit/universe/test_hub_state.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "universe/control.hpp"
#include "universe/hub/series_book.hpp"
#include "universe/membership.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {

using ConnectionId = std::uint32_t;

struct HubSettings {
  std::vector<ProgramSpec> programs;
  SettingMap settings;   // handed to every member
  double linger_s = -1;  // >= 0: bound on waiting for readers after the last writer has ended
  std::uint64_t run_id = 0;
};

// Bounds of one connection and of the whole.
inline constexpr std::size_t most_pending_requests = 256;
inline constexpr std::size_t most_relays = 4096;
inline constexpr std::size_t most_nodes = 65535;
inline constexpr std::uint64_t waiting_note_after_ns = 10'000'000'000;
inline constexpr std::uint64_t waiting_note_every_ns = 30'000'000'000;

struct HubOutput {
  ConnectionId to = 0;
  ControlKind kind = control_json;
  std::shared_ptr<const std::string> payload;
  bool last = false;  // the connection is to be closed when this is sent
};

// What happened, for people and tools. One JSON object a line: `event` and what belongs to it.
struct HubEvent {
  std::string name;  // joined, complete, left, lost, series, opened, closed, waiting, over
  std::string program;
  std::int32_t rank = -1;
  channel::PeerId peer = 0;
  std::string node;
  std::uint64_t incarnation = 0;
  std::string series;
  std::string text;
};
// with_time_s: seconds since 1970.
[[nodiscard]] std::string event_json(const HubEvent& event, double with_time_s);

class HubState {
 public:
  explicit HubState(HubSettings settings);

  // A connection has proven the secret. Ids are never used twice.
  void connected(ConnectionId connection, std::uint64_t now_ns);
  void received(ConnectionId connection, const MemberMessage& message, std::uint64_t now_ns);
  // Bytes that are no message: refuses the connection.
  void broken(ConnectionId connection, const Status& why, std::uint64_t now_ns);
  // The connection has ended; why is for the sentence that the others get.
  void disconnected(ConnectionId connection, const std::string& why, std::uint64_t now_ns);
  // The connection reads too little: it is told no more changes until it has caught up, and then the state of everything.
  void fell_behind(ConnectionId connection);
  void caught_up(ConnectionId connection);
  // Deadlines; to be called a few times a second.
  void tick(std::uint64_t now_ns);
  // The hub was told to end.
  void stop(const std::string& why);

  [[nodiscard]] std::vector<HubOutput> take_outputs() { return std::exchange(outputs_, {}); }
  [[nodiscard]] std::vector<HubEvent> take_events() { return std::exchange(events_, {}); }
  // Everything that had to be said is in the outputs; the server sends them and ends.
  [[nodiscard]] bool over() const noexcept { return over_; }
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  // "waiting for program 'nowcast' (0 of 1 ranks) and rank 1 of 'ocean'"; empty when nobody is missing. also: a program that
  // must be complete although it is not required (-1: none).
  [[nodiscard]] std::string missing(std::int32_t also = -1) const;

 private:
  enum class Phase : std::uint8_t { fresh, admitted, placed, present, released, refused };
  struct Client {
    Phase phase = Phase::fresh;
    bool relay = false;
    bool behind = false;  // reads too little
    bool missed = false;  // ... and was not told a change
    std::int32_t program = -1;
    std::int32_t rank = -1;
    std::int32_t node = -1;
    channel::PeerId peer = 0;
    std::uint64_t since_ns = 0;
    std::uint64_t deadline_ns = UINT64_MAX;
    std::uint64_t next_note_ns = UINT64_MAX;
    std::string host;
    std::map<RequestId, MemberMessage> pending;  // find, relay_of
  };
  // One rank (or relay): what all know of it, and who it is here. 64 bytes or less, since there may be many.
  struct Seat {
    PeerInfo info;
    ConnectionId connection = 0;  // 0: nobody
    std::uint16_t next_incarnation = 0;
  };
  struct Program {
    ProgramSpec spec;
    std::int32_t first_rank = 0;
    std::int32_t present = 0;
    bool was_present = false;
    std::vector<Seat> seats;
  };
  struct Node {
    std::string key;
    std::string name;
  };
  static_assert(sizeof(Seat) <= 64);

  void take(ConnectionId connection, Client& client, const JoinMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const NodeMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const PresentMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const LeaveMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const AnnounceMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const FindMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const NoteMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const RelayOfMessage& message, std::uint64_t now_ns);
  void take(ConnectionId connection, Client& client, const CancelMessage& message, std::uint64_t now_ns);

  Status admit(ConnectionId connection, Client& client, const JoinMessage& message);
  Status check_series(const Client& client, const SeriesRecord& record) const;
  void settle_sizes();
  void place(ConnectionId connection, Client& client);
  void release();
  [[nodiscard]] std::vector<HubOutput> welcome_now() const;
  [[nodiscard]] bool misses(ConnectionId connection);
  [[nodiscard]] bool may_go(const Client& client) const;
  void gone(ConnectionId connection, Client& client, PeerState state, const std::string& why, std::uint64_t now_ns);
  void vacate(ConnectionId connection, const Client& client);
  void check_over(std::uint64_t now_ns);
  void end(const std::string& text);

  void say(ConnectionId connection, const HubMessage& message, bool last = false);
  void say_all_released(const HubMessage& message);
  void refuse(ConnectionId connection, Client& client, const Status& why);
  void answer(ConnectionId connection, RequestId request, const Status& status);
  void answer_finds(const SeriesRecord& record);
  void answer_relays(std::uint16_t node, channel::PeerId relay);
  void tell_series(const std::vector<SeriesBook::Change>& changes);
  void note(const char* name, const Client& client, const std::string& text = {}, const std::string& series = {});

  [[nodiscard]] Seat* seat_of(const Client& client);
  [[nodiscard]] const Seat* seat_of(const Client& client) const;
  [[nodiscard]] std::string client_name(const Client& client) const;
  [[nodiscard]] std::vector<wire::PeerEntry> table() const;
  [[nodiscard]] std::vector<std::string> program_names() const;
  [[nodiscard]] ConnectionId connection_of(channel::PeerId peer) const;

  HubSettings settings_;
  bool sizes_known_ = false;
  bool complete_ = false;
  bool over_ = false;
  std::int32_t members_ = 0;  // admitted and not yet gone
  std::vector<Program> programs_;
  std::vector<Node> nodes_;
  std::map<std::string, std::uint16_t> node_of_key_;
  std::map<std::uint16_t, Seat> relays_;  // by node
  std::map<ConnectionId, Client> clients_;
  SeriesBook series_;
  std::uint64_t idle_since_ns_ = 0;  // nobody but readers is left since
  std::vector<HubOutput> outputs_;
  std::vector<HubEvent> events_;
};

}  // namespace couplet::universe
