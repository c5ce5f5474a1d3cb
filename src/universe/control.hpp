// The messages between members and the hub (docs/formats/hub.md): binary messages in frames of the family control.
// Turns bytes into checked values and back; pure. Above: hub/ (the hub's side), member (the member's side). Below: wire
// (fields), layout. Invariants: what decode_* returns has passed every check that needs no knowledge of the universe;
// no message grows with the size of the universe, since lists and descriptions of series are sent in parts. Tests:
// tests/unit/universe/control_test.cpp (golden bytes), tests/fuzz/control.cpp.
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

// The low four bits of a control frame's kind. In earlier versions 0 was JSON, and 1 a table of peers.
enum ControlKind : std::uint8_t { control_message = 2 };
inline constexpr std::size_t max_message_bytes = 1 << 20;
// The largest part of a series' description in one message.
inline constexpr std::size_t max_part_bytes = 256 << 10;
// The longest text in a message, such as an error.
inline constexpr std::size_t max_text_bytes = 4096;
inline constexpr std::size_t max_host_bytes = 255;
inline constexpr std::size_t max_node_key_bytes = 255;
inline constexpr std::size_t max_series_name = 127;
inline constexpr std::size_t max_nodes_per_message = 2048;
inline constexpr std::size_t max_runs_per_message = 16384;
inline constexpr std::size_t max_entries_per_message = 8192;
inline constexpr std::size_t max_contacts_looked_for = 256;  // in one message `look`
inline constexpr std::size_t max_claims = 4096;              // how many series one member may write or read
inline constexpr std::uint16_t unknown_node = 65535;

using RequestId = std::uint64_t;

// Which process it is, and how transports dial it.
struct Contact {
  std::uint32_t process = 0;
  link::ContactList transports;
};
[[nodiscard]] inline Contact contact_of(const PeerInfo& info) {
  return {info.process, info.contacts};
}
inline void set_contact(PeerInfo& info, const Contact& contact) {
  info.process = contact.process;
  info.contacts = contact.transports;
  info.contact_known = true;
}

// `count` ranks (or relays), beginning with `first`, that have the same state.
struct PeerRun {
  channel::PeerId first = 0;
  std::uint32_t count = 0;
  PeerState state = PeerState::absent;
  std::uint16_t incarnation = 0;
  std::uint16_t node = unknown_node;
  bool operator==(const PeerRun&) const = default;
};
struct ContactEntry {
  channel::PeerId peer = 0;
  std::uint16_t incarnation = 0;
  Contact contact;
};
// A part of a series' description (series_record.hpp). A description may be longer than a message.
struct RecordPart {
  std::uint64_t record_bytes = 0;  // size of the whole description
  std::uint64_t offset = 0;
  std::string bytes;
};

// ---- messages of a member (or a relay) to the hub

struct JoinMessage {
  bool relay = false;
  std::string program;
  std::int32_t rank = 0;
  std::int32_t size = 1;
  double timeout_s = 60;  // < 0: for ever
  std::string host;
};
// Follows `admitted`, when the node directory exists. Processes with the same key share a node directory.
struct NodeMessage {
  std::string key;
  std::uint16_t node = unknown_node;  // the number that an earlier hub has given to this node, if the directory has it
};
// Follows `placed`, when this process has made its page and accepts connections.
struct PresentMessage {
  Contact contact;
};
struct LeaveMessage {};
// Announces a series. The parts of its description are sent in order, with the same request number.
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
// Asks for the next part of the description that `find` has found.
struct FetchMessage {
  RequestId request = 0;
  std::string name;
  std::uint64_t incarnation = 0;
  std::uint64_t offset = 0;
};
enum class SeriesNote : std::uint8_t { writer_closed, reader_opened, reader_closed, withdrawn, creating };
struct NoteMessage {
  RequestId request = 0;
  SeriesNote note = SeriesNote::writer_closed;
  std::string name;
  OpenerRanks openers;         // reader_opened: see SeriesRegistry::reader_opened
  std::uint64_t creation = 0;  // all but reader_closed: SeriesRecord::creation
};
struct RelayOfMessage {
  RequestId request = 0;
  std::uint16_t node = 0;
  bool wait = true;
};
struct CancelMessage {
  RequestId request = 0;
};
// Asks for the contacts of `count` peers, beginning with `first`.
struct ContactsOfMessage {
  channel::PeerId first = 0;
  std::uint32_t count = 0;
};
// How many of a rank's last withdrawals are remembered, by itself and by the hub.
inline constexpr std::size_t max_withdrawals = 64;
// In how many creations one rank may take part at a time.
inline constexpr std::size_t max_pending_creations = 64;
// The number in SeriesClaim::openers if the member has not opened this incarnation.
inline constexpr std::int32_t not_opened = -1;
// Whether a member writes or reads a series, as it tells the hub when it comes back.
struct SeriesClaim {
  std::string name;
  std::uint64_t incarnation = 0;
  bool writes = false;
  std::uint32_t opened = 0;  // how many times the member has it open for reading
  // What the member gave when it opened this incarnation, or not_opened if it reads an earlier one.
  OpenerRanks openers = not_opened;
  bool has_record = false;     // the hub can ask this member for the description
  bool closed = false;         // it has written this incarnation, and has ended it in good order
  std::uint64_t creation = 0;  // SeriesRecord::creation
};
// A creation in which a member takes part, and of which it does not know yet whether it succeeds.
struct PendingCreation {
  std::string name;
  std::uint64_t creation = 0;  // SeriesRecord::creation
};
// Sent in place of `join` by a member that comes back, also to a hub that was started again: its identity, what the
// earlier hub told it, and all that it does with series. Its later messages come over the same connection.
struct RejoinMessage {
  std::uint64_t run_id = 0;
  std::uint32_t epoch = 0;  // how many times the hub had been started again when this member last heard of it
  bool relay = false;
  bool released = false;  // an earlier hub has sent `complete` to this member
  channel::PeerId peer = 0;
  std::uint16_t incarnation = 0;
  std::uint16_t node = 0;
  std::string node_key;
  std::string host;
  double timeout_s = 60;  // the time allowed for joining; has a meaning if not released
  Contact contact;
  std::vector<ProgramInfo> programs;
  // The peers that are not present in their first incarnation, and all relays that have been there.
  std::vector<PeerRun> exceptions;
  std::vector<SeriesClaim> series;
  std::vector<PendingCreation> pending;
  std::vector<std::uint64_t> withdrawn;  // the last creations that have failed at this member
};
// Answers `recall` with the description, whose parts are sent in order.
struct RecordMessage {
  std::string name;
  std::uint64_t incarnation = 0;
  RecordPart part;
};
// Answers `look`: what the node directory says about the processes that were on this node, and those contacts for which
// the hub asks that this member knows.
struct SeenMessage {
  std::vector<PeerRun> seen;  // present: its lock is held; left; lost
  std::vector<ContactEntry> contacts;
};
// Tells that this member cannot reach `peer`, and where it has dialed, and asks the hub to let `peer` dial. A hub that
// was started again and awaits `peer` calls there itself. There is no answer; the member may ask again.
struct CallMeBackMessage {
  channel::PeerId peer = 0;
  std::uint16_t incarnation = 0;  // that the member means
  Contact contact;
};
// Asks for all changes that have not been told yet. They come before the answer.
struct CatchUpMessage {
  RequestId request = 0;
};
using MemberMessage = std::variant<JoinMessage, NodeMessage, PresentMessage, LeaveMessage, AnnounceMessage, FindMessage,
                                   FetchMessage, NoteMessage, RelayOfMessage, CancelMessage, ContactsOfMessage,
                                   RejoinMessage, RecordMessage, SeenMessage, CallMeBackMessage, CatchUpMessage>;

// ---- messages of the hub to a member

struct AdmittedMessage {
  std::uint64_t run_id = 0;
  std::uint32_t epoch = 0;
  SettingMap settings;
};
struct PlacedMessage {
  channel::PeerId peer = 0;
  std::uint16_t node = 0;
  std::uint16_t incarnation = 0;
  channel::Signature signature{};  // the hub's, for the ticket of this member
  std::vector<ProgramInfo> programs;
};
// The names of nodes, beginning with number `first`.
struct NodesMessage {
  std::uint16_t first = 0;
  std::vector<std::string> names;
};
// New states of peers, and the reason (for those that are lost).
struct StateGroup {
  std::string why;
  std::vector<PeerRun> runs;
};
struct StatesMessage {
  std::vector<StateGroup> groups;
};
struct ContactsMessage {
  std::vector<ContactEntry> entries;
};
// All required processes are present. The hub has sent nodes and states just before.
struct CompleteMessage {};
struct WaitingMessage {
  std::string text;
};
// Says why the hub ends this connection.
struct RefusedMessage {
  Code code = Code::internal;
  std::string text;
};
// A series that was found or announced. The part is empty if only the incarnation is told.
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
  std::vector<std::string> opened;  // the required programs that have opened it
};
struct GoodbyeMessage {};  // answers `leave`
struct OverMessage {
  std::string text;
};
// Answers `rejoin`: the hub has accepted this member again.
struct RejoinedMessage {
  std::uint32_t epoch = 0;
};
// A hub that was started again asks for this description.
struct RecallMessage {
  std::string name;
  std::uint64_t incarnation = 0;
};
// A hub that was started again has not heard of these peers. It asks whether their processes live, if they are on this
// node; and for the contacts of some of them, of which no member has told it.
struct LookMessage {
  std::vector<PeerRun> peers;
  std::vector<PeerRun> contacts_of;
};
// The peer `from`, in this incarnation, cannot reach this member, and asks it to dial.
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
// Return protocol, with a text that names the message and the field; or limit, if the bytes are more than
// max_message_bytes.
Result<MemberMessage> decode_member_message(std::string_view bytes);
Result<HubMessage> decode_hub_message(std::string_view bytes);

}  // namespace couplet::universe
