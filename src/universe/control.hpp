// What members and the hub say to each other (docs/formats/hub.md): JSON objects in frames of family control, and the
// binary table of peers. Turns bytes into checked values and back; pure.
// Above: hub/ (the hub's side), member (ours). Below: wire, layout.
// Invariants: what decode_* returns has passed every check that needs no knowledge of the universe; unknown fields are
// ignored, unknown messages are protocol errors.
// Tests: tests/unit/universe/test_control.cpp, tests/fuzz/control.cpp.
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
#include "wire/peer_table.hpp"

namespace couplet::universe {

// Low four bits of a control frame's kind.
enum ControlKind : std::uint8_t { control_json = 0, control_peer_table = 1 };
inline constexpr std::size_t most_json_bytes = 1 << 20;
inline constexpr std::size_t most_text_bytes = 4096;  // of a sentence, a host's name, a file's name
inline constexpr std::size_t longest_series_name = 127;

using RequestId = std::uint64_t;

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
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  std::uint32_t process = 0;
  std::uint64_t memory_nonce = 0;
};
struct LeaveMessage {};
struct AnnounceMessage {
  RequestId request = 0;
  SeriesRecord record;
};
struct FindMessage {
  RequestId request = 0;
  std::string name;
  std::int64_t newer_than = -1;
  bool wait = true;
};
enum class SeriesNote : std::uint8_t { writer_closed, reader_opened, reader_closed };
struct NoteMessage {
  RequestId request = 0;
  SeriesNote note = SeriesNote::writer_closed;
  std::string name;
};
struct RelayOfMessage {
  RequestId request = 0;
  std::uint16_t node = 0;
  bool wait = true;
};
struct CancelMessage {
  RequestId request = 0;
};
using MemberMessage = std::variant<JoinMessage, NodeMessage, PresentMessage, LeaveMessage, AnnounceMessage, FindMessage,
                                   NoteMessage, RelayOfMessage, CancelMessage>;

// ---- from the hub to a member

struct AdmittedMessage {
  std::uint64_t run_id = 0;
  SettingMap settings;
};
struct PlacedMessage {
  channel::PeerId peer = 0;
  std::uint16_t node = 0;
  std::uint16_t incarnation = 0;
  std::vector<ProgramInfo> programs;
};
// Everybody who is needed is there; the table of peers was sent just before.
struct CompleteMessage {
  std::vector<std::string> nodes;  // name of each
};
struct PeerMessage {
  channel::PeerId peer = 0;
  PeerInfo info;
  std::string node;  // its name
  std::string text;  // why, where it is lost
};
struct WaitingMessage {
  std::string text;
};
// The end of this connection: why.
struct RefusedMessage {
  Code code = Code::internal;
  std::string text;
};
struct AnswerMessage {
  RequestId request = 0;
  Code code = Code::ok;
  std::string text;
  std::optional<SeriesRecord> record;
  channel::PeerId peer = 0;
};
struct SeriesMessage {
  std::string name;
  std::string program;
  std::uint64_t incarnation = 0;
  bool closed = false;
};
struct GoodbyeMessage {};  // answers `leave`
struct OverMessage {
  std::string text;
};
using HubMessage = std::variant<AdmittedMessage, PlacedMessage, CompleteMessage, PeerMessage, WaitingMessage,
                                RefusedMessage, AnswerMessage, SeriesMessage, GoodbyeMessage, OverMessage>;

[[nodiscard]] std::string encode(const MemberMessage& message);
[[nodiscard]] std::string encode(const HubMessage& message);
// protocol error that names the message and the field; limit: longer than most_json_bytes.
Result<MemberMessage> decode_member_message(std::string_view json);
Result<HubMessage> decode_hub_message(std::string_view json);

[[nodiscard]] wire::PeerEntry entry_of(channel::PeerId peer, const PeerInfo& info) noexcept;
[[nodiscard]] PeerInfo info_of(const wire::PeerEntry& entry) noexcept;

}  // namespace couplet::universe
