// What members and the hub say to each other (docs/formats/hub.md): binary messages in frames of family control. Turns
// bytes into checked values and back; pure. Above: hub/ (the hub's side), member (ours). Below: wire (fields), layout.
// Invariants: what decode_* returns has passed every check that needs no knowledge of the universe; no message grows
// with the size of the universe: lists and descriptions of series are told in parts. Tests:
// tests/unit/universe/test_control.cpp (golden bytes), tests/fuzz/control.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.hpp"
#include "universe/membership.hpp"
#include "universe/registry.hpp"
#include "universe/settings.hpp"

namespace couplet::universe {

// Low four bits of a control frame's kind. 0 and 1 were JSON and a table of peers in versions before this one.
enum ControlKind : std::uint8_t { control_message = 2 };
inline constexpr std::size_t max_message_bytes = 1 << 20;
inline constexpr std::size_t max_part_bytes = 256 << 10;  // of a series' description in one message
inline constexpr std::size_t max_text_bytes = 4096;       // of a sentence
inline constexpr std::size_t max_host_bytes = 255;
inline constexpr std::size_t max_node_key_bytes = 255;
inline constexpr std::size_t max_series_name = 127;
inline constexpr std::size_t max_nodes_per_message = 2048;
inline constexpr std::size_t max_runs_per_message = 16384;
inline constexpr std::size_t max_entries_per_message = 8192;
inline constexpr std::size_t max_claims = 4096;  // series that one member writes or reads
inline constexpr std::uint16_t unknown_node = 65535;

using RequestId = std::uint64_t;

// Where a process can be reached, and the proof of reach.
struct Contact {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  std::uint32_t process = 0;
  std::uint64_t memory_nonce = 0;
};
[[nodiscard]] inline Contact contact_of(const PeerInfo& info) noexcept {
  return {info.address, info.port, info.process, info.memory_nonce};
}
inline void set_contact(PeerInfo& info, const Contact& contact) noexcept {
  info.address = contact.address;
  info.port = contact.port;
  info.process = contact.process;
  info.memory_nonce = contact.memory_nonce;
  info.contact_known = true;
}

// `count` ranks (or relays) from `first` on that have the same state.
struct PeerRun {
  channel::PeerId first = 0;
  std::uint32_t count = 0;
  PeerState state = PeerState::absent;
  std::uint16_t incarnation = 0;
  std::uint16_t node = unknown_node;
  bool operator==(const PeerRun&) const = default;
};
// A part of a series' description (series_record.hpp), which may be longer than a message.
struct RecordPart {
  std::uint64_t record_bytes = 0;  // of the whole
  std::uint64_t offset = 0;
  std::string bytes;
};

// ---- from a member (or relay) to the hub

struct JoinMessage {
  bool relay = false;
  std::string program;
  std::int32_t rank = 0;
  std::int32_t size = 1;
  double timeout_s = 60;  // < 0: for ever
  std::string host;
};
// After `admitted`, when the node directory exists: processes with the same key share it.
struct NodeMessage {
  std::string key;
};
// After `placed`, when the page is there and the process can be called.
struct PresentMessage {
  Contact contact;
};
struct LeaveMessage {};
// The parts of one description come in order, with the same request.
struct AnnounceMessage {
  RequestId request = 0;
  RecordPart part;
};
struct FindMessage {
  RequestId request = 0;
  std::string name;
  std::int64_t newer_than = -1;
  bool wait = true;
};
// The next part of what `find` has found.
struct FetchMessage {
  RequestId request = 0;
  std::string name;
  std::uint64_t incarnation = 0;
  std::uint64_t offset = 0;
};
enum class SeriesNote : std::uint8_t { writer_closed, reader_opened, reader_closed, withdrawn };
struct NoteMessage {
  RequestId request = 0;
  SeriesNote note = SeriesNote::writer_closed;
  std::string name;
  std::int32_t openers = 0;       // reader_opened: see SeriesRegistry::reader_opened
  std::uint64_t incarnation = 0;  // reader_opened: that was opened; withdrawn: of the announcement that is taken back
};
struct RelayOfMessage {
  RequestId request = 0;
  std::uint16_t node = 0;
  bool wait = true;
};
struct CancelMessage {
  RequestId request = 0;
};
// Asks for the contacts of `count` peers from `first` on.
struct ContactsOfMessage {
  channel::PeerId first = 0;
  std::uint32_t count = 0;
};
// SeriesClaim::openers of a member that has not opened this incarnation.
inline constexpr std::int32_t not_opened = -1;
// What a member has to do with a series.
struct SeriesClaim {
  std::string name;
  std::uint64_t incarnation = 0;
  bool writes = false;
  std::uint32_t opened = 0;  // how often it reads it
  // As it said when it opened this incarnation; not_opened: it reads an earlier one.
  std::int32_t openers = not_opened;
  bool has_record = false;  // it can be asked for the description
};
// Instead of `join`, to a hub that was started again: who this member is, and what the hub had told it.
struct RejoinMessage {
  std::uint64_t run_id = 0;
  std::uint32_t epoch = 0;  // how often the hub had been started again
  bool relay = false;
  bool released = false;  // it had been told `complete`
  channel::PeerId peer = 0;
  std::uint16_t incarnation = 0;
  std::uint16_t node = 0;
  std::string node_key;
  std::string host;
  double timeout_s = 60;  // of joining, where it was not released
  Contact contact;
  std::vector<ProgramInfo> programs;
  std::vector<PeerRun> exceptions;  // who is not present in its first incarnation
  std::vector<SeriesClaim> series;
};
// Answers `recall`: the description, in parts in order.
struct RecordMessage {
  std::string name;
  std::uint64_t incarnation = 0;
  RecordPart part;
};
// Answers `look`: whose process has ended, as its lock in the node directory says.
struct SeenMessage {
  std::vector<PeerRun> gone;  // states left and lost
};
// This member cannot reach `peer`, and asks it to call. Nothing answers: it may be asked for again.
struct CallMeBackMessage {
  channel::PeerId peer = 0;
};
using MemberMessage = std::variant<JoinMessage, NodeMessage, PresentMessage, LeaveMessage, AnnounceMessage, FindMessage,
                                   FetchMessage, NoteMessage, RelayOfMessage, CancelMessage, ContactsOfMessage,
                                   RejoinMessage, RecordMessage, SeenMessage, CallMeBackMessage>;

// ---- from the hub to a member

struct AdmittedMessage {
  std::uint64_t run_id = 0;
  std::uint32_t epoch = 0;
  SettingMap settings;
};
struct PlacedMessage {
  channel::PeerId peer = 0;
  std::uint16_t node = 0;
  std::uint16_t incarnation = 0;
  std::vector<ProgramInfo> programs;
};
// Names of nodes, from number `first` on.
struct NodesMessage {
  std::uint16_t first = 0;
  std::vector<std::string> names;
};
// States that hold from now on, and why (for those that are lost).
struct StateGroup {
  std::string why;
  std::vector<PeerRun> runs;
};
struct StatesMessage {
  std::vector<StateGroup> groups;
};
struct ContactEntry {
  channel::PeerId peer = 0;
  std::uint16_t incarnation = 0;
  Contact contact;
};
struct ContactsMessage {
  std::vector<ContactEntry> entries;
};
// Everybody who is needed is there; nodes and states were told just before.
struct CompleteMessage {};
struct WaitingMessage {
  std::string text;
};
// The end of this connection: why.
struct RefusedMessage {
  Code code = Code::internal;
  std::string text;
};
// A series that was found or announced. The part is empty where only the incarnation is told.
struct FoundSeries {
  std::uint64_t incarnation = 0;
  bool closed = false;
  RecordPart part;
};
struct AnswerMessage {
  RequestId request = 0;
  Code code = Code::ok;
  std::string text;
  channel::PeerId peer = 0;
  std::optional<FoundSeries> series;
};
struct SeriesMessage {
  std::string name;
  std::string program;
  std::uint64_t incarnation = 0;
  bool closed = false;
  std::vector<std::string> opened;  // required programs whose readers have all opened
};
struct GoodbyeMessage {};  // answers `leave`
struct OverMessage {
  std::string text;
};
// Answers `rejoin`: the hub knows this member again.
struct RejoinedMessage {
  std::uint32_t epoch = 0;
};
// The hub that was started again needs this description.
struct RecallMessage {
  std::string name;
  std::uint64_t incarnation = 0;
};
// The hub has not heard of these since it was started again: do their processes live, if they are on this node?
struct LookMessage {
  std::vector<PeerRun> peers;
};
// That peer, in that incarnation, cannot reach this member, and asks it to call.
struct CallBackMessage {
  channel::PeerId from = 0;
  std::uint16_t incarnation = 0;
};
using HubMessage =
    std::variant<AdmittedMessage, PlacedMessage, NodesMessage, StatesMessage, ContactsMessage, CompleteMessage,
                 WaitingMessage, RefusedMessage, AnswerMessage, SeriesMessage, GoodbyeMessage, OverMessage,
                 RejoinedMessage, RecallMessage, LookMessage, CallBackMessage>;

[[nodiscard]] std::string encode(const MemberMessage& message);
[[nodiscard]] std::string encode(const HubMessage& message);
// protocol error that names the message and the field; limit: longer than max_message_bytes.
Result<MemberMessage> decode_member_message(std::string_view bytes);
Result<HubMessage> decode_hub_message(std::string_view bytes);

}  // namespace couplet::universe
