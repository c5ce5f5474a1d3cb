#include "universe/control.hpp"

#include <algorithm>
#include <cstdio>
#include <type_traits>

#include "universe/control_fields.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t longest_node_key = 255;
constexpr std::size_t most_nodes = 65535;

const char* note_name(SeriesNote note) noexcept {
  switch (note) {
    case SeriesNote::writer_closed:
      return "writer_closed";
    case SeriesNote::reader_opened:
      return "reader_opened";
    case SeriesNote::reader_closed:
      return "reader_closed";
  }
  return "";
}

std::string address_text(const std::array<std::uint8_t, 16>& address) {
  return fmt::format("{:02x}", fmt::join(address, ""));
}

std::array<std::uint8_t, 16> address_from(Fields& fields, const char* field) {
  std::array<std::uint8_t, 16> address{};
  const auto text = fields.text(field, 32);
  const auto digit = [](char character) {
    return character >= '0' && character <= '9'   ? character - '0'
           : character >= 'a' && character <= 'f' ? character - 'a' + 10
                                                  : -1;
  };
  if (text.size() != 32 || std::any_of(text.begin(), text.end(), [&](char each) { return digit(each) < 0; })) {
    fields.complain(field, "an address of 32 hexadecimal digits");
    return address;
  }
  for (std::size_t index = 0; index < address.size(); ++index) {
    address[index] = static_cast<std::uint8_t>(digit(text[2 * index]) * 16 + digit(text[2 * index + 1]));
  }
  return address;
}

bool known_code(std::int32_t code) {
  return std::string_view(code_name(code)) != "unknown";
}

// ---- encoding, one function a message

Json body(const JoinMessage& message) {
  return {{"what", "join"},       {"relay", message.relay}, {"program", message.program},
          {"rank", message.rank}, {"size", message.size},   {"timeout_s", message.timeout_s},
          {"host", message.host}};
}
Json body(const NodeMessage& message) {
  return {{"what", "node"}, {"key", message.key}};
}
Json body(const PresentMessage& message) {
  return {{"what", "present"},
          {"address", address_text(message.address)},
          {"port", message.port},
          {"process", message.process},
          {"memory_nonce", message.memory_nonce}};
}
Json body(const LeaveMessage& /*message*/) {
  return {{"what", "leave"}};
}
Json body(const AnnounceMessage& message) {
  return {{"what", "announce"}, {"request", message.request}, {"series", json_of(message.record)}};
}
Json body(const FindMessage& message) {
  return {{"what", "find"},
          {"request", message.request},
          {"name", message.name},
          {"newer_than", message.newer_than},
          {"wait", message.wait}};
}
Json body(const NoteMessage& message) {
  return {{"what", note_name(message.note)}, {"request", message.request}, {"name", message.name}};
}
Json body(const RelayOfMessage& message) {
  return {{"what", "relay_of"}, {"request", message.request}, {"node", message.node}, {"wait", message.wait}};
}
Json body(const CancelMessage& message) {
  return {{"what", "cancel"}, {"request", message.request}};
}
Json body(const AdmittedMessage& message) {
  return {{"what", "admitted"}, {"run_id", message.run_id}, {"settings", message.settings}};
}
Json body(const PlacedMessage& message) {
  Json programs = Json::array();
  for (const auto& program : message.programs) {
    programs.push_back({{"name", program.name}, {"size", program.size}, {"required", program.required}});
  }
  return {{"what", "placed"},
          {"peer", message.peer},
          {"node", message.node},
          {"incarnation", message.incarnation},
          {"programs", std::move(programs)}};
}
Json body(const CompleteMessage& message) {
  return {{"what", "complete"}, {"nodes", message.nodes}};
}
Json body(const PeerMessage& message) {
  return {{"what", "peer"},
          {"peer", message.peer},
          {"state", static_cast<int>(message.info.state)},
          {"incarnation", message.info.incarnation},
          {"address", address_text(message.info.address)},
          {"port", message.info.port},
          {"process", message.info.process},
          {"memory_nonce", message.info.memory_nonce},
          {"node", message.info.node},
          {"node_name", message.node},
          {"text", message.text}};
}
Json body(const WaitingMessage& message) {
  return {{"what", "waiting"}, {"text", message.text}};
}
Json body(const RefusedMessage& message) {
  return {{"what", "refused"}, {"code", static_cast<couplet_status>(message.code)}, {"text", message.text}};
}
Json body(const AnswerMessage& message) {
  Json json = {{"what", "answer"},
               {"request", message.request},
               {"code", static_cast<couplet_status>(message.code)},
               {"text", message.text},
               {"peer", message.peer}};
  if (message.record) {
    json["series"] = json_of(*message.record);
  }
  return json;
}
Json body(const SeriesMessage& message) {
  return {{"what", "series"},
          {"name", message.name},
          {"program", message.program},
          {"incarnation", message.incarnation},
          {"closed", message.closed}};
}
Json body(const GoodbyeMessage& /*message*/) {
  return {{"what", "goodbye"}};
}
Json body(const OverMessage& message) {
  return {{"what", "over"}, {"text", message.text}};
}

// ---- decoding

Result<Json> parse(std::string_view text) {
  if (text.size() > most_json_bytes) {
    return fail(Code::limit, "a control message of {} bytes, at most {} are allowed", text.size(), most_json_bytes);
  }
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(Code::protocol, "a control message is no JSON object");
  }
  return json;
}

template <typename Variant, typename Message>
Result<Variant> checked(const Fields& fields, Message message) {
  COUPLET_TRY(fields.status());
  return Variant(std::move(message));
}

Result<MemberMessage> join_from(Fields& fields) {
  JoinMessage message;
  message.relay = fields.boolean("relay");
  message.program = fields.text("program", most_text_bytes);
  message.rank = fields.integer<std::int32_t>("rank");
  message.size = fields.integer<std::int32_t>("size");
  message.timeout_s = fields.number("timeout_s");
  message.host = fields.text("host", 255);
  return checked<MemberMessage>(fields, std::move(message));
}

Result<MemberMessage> present_from(Fields& fields) {
  PresentMessage message;
  message.address = address_from(fields, "address");
  message.port = fields.integer<std::uint16_t>("port");
  message.process = fields.integer<std::uint32_t>("process");
  message.memory_nonce = fields.integer<std::uint64_t>("memory_nonce");
  return checked<MemberMessage>(fields, message);
}

Result<MemberMessage> announce_from(Fields& fields) {
  AnnounceMessage message;
  message.request = fields.integer<RequestId>("request");
  const auto* const series = fields.find("series");
  if (series == nullptr) {
    return fail(Code::protocol, "message 'announce' describes no series");
  }
  COUPLET_TRY_VALUE(message.record, series_from(*series));
  return checked<MemberMessage>(fields, std::move(message));
}

Result<MemberMessage> request_from(Fields& fields, const std::string& what) {
  const auto request = fields.integer<RequestId>("request");
  if (what == "cancel") {
    return checked<MemberMessage>(fields, CancelMessage{request});
  }
  if (what == "relay_of") {
    return checked<MemberMessage>(
        fields, RelayOfMessage{request, fields.integer<std::uint16_t>("node"), fields.boolean("wait")});
  }
  auto name = fields.text("name", longest_series_name);
  if (what == "find") {
    const auto newer_than = fields.integer<std::int64_t>("newer_than", -1);
    return checked<MemberMessage>(fields, FindMessage{request, std::move(name), newer_than, fields.boolean("wait")});
  }
  for (const auto note : {SeriesNote::writer_closed, SeriesNote::reader_opened, SeriesNote::reader_closed}) {
    if (what == note_name(note)) {
      return checked<MemberMessage>(fields, NoteMessage{request, note, std::move(name)});
    }
  }
  return fail(Code::protocol, "there is no message '{}' to the hub", what);
}

Result<HubMessage> admitted_from(Fields& fields) {
  AdmittedMessage message;
  message.run_id = fields.integer<std::uint64_t>("run_id");
  const auto* const settings = fields.find("settings");
  if (settings == nullptr || !settings->is_object()) {
    fields.complain("settings", "an object");
    return fields.status();
  }
  for (const auto& item : settings->items()) {
    if (!item.value().is_string()) {
      fields.complain("settings", "an object of texts");
      break;
    }
    message.settings[item.key()] = item.value().get<std::string>();
  }
  return checked<HubMessage>(fields, std::move(message));
}

Result<HubMessage> placed_from(Fields& fields) {
  PlacedMessage message;
  message.peer = fields.integer<channel::PeerId>("peer");
  message.node = fields.integer<std::uint16_t>("node");
  message.incarnation = fields.integer<std::uint16_t>("incarnation");
  std::int64_t first_rank = 0;
  for (const auto& item : fields.list("programs", most_programs)) {
    if (!item.is_object()) {
      return fail(Code::protocol, "message 'placed': a program is no object");
    }
    Fields each(item, "placed");
    ProgramInfo program;
    program.name = each.text("name", longest_name);
    program.size = each.integer<std::int32_t>("size", 1, most_ranks);
    program.required = each.boolean("required");
    program.first_rank = static_cast<std::int32_t>(first_rank);
    first_rank += program.size;
    COUPLET_TRY(each.status());
    if (first_rank > most_ranks) {
      return fail(Code::protocol, "message 'placed': more than {} ranks", most_ranks);
    }
    message.programs.push_back(std::move(program));
  }
  if (message.programs.empty()) {
    fields.complain("programs", "a list with a program");
  }
  return checked<HubMessage>(fields, std::move(message));
}

Result<HubMessage> complete_from(Fields& fields) {
  CompleteMessage message;
  for (const auto& name : fields.list("nodes", most_nodes)) {
    if (!name.is_string() || name.get_ref<const std::string&>().size() > most_text_bytes) {
      fields.complain("nodes", "a list of names");
      break;
    }
    message.nodes.push_back(name.get<std::string>());
  }
  return checked<HubMessage>(fields, std::move(message));
}

Result<HubMessage> peer_from(Fields& fields) {
  PeerMessage message;
  message.peer = fields.integer<channel::PeerId>("peer");
  message.info.state = static_cast<PeerState>(fields.integer<int>("state", 0, wire::peer_state_most));
  message.info.incarnation = fields.integer<std::uint16_t>("incarnation");
  message.info.address = address_from(fields, "address");
  message.info.port = fields.integer<std::uint16_t>("port");
  message.info.process = fields.integer<std::uint32_t>("process");
  message.info.memory_nonce = fields.integer<std::uint64_t>("memory_nonce");
  message.info.node = fields.integer<std::uint16_t>("node");
  message.node = fields.text("node_name", most_text_bytes);
  message.text = fields.text("text", most_text_bytes);
  return checked<HubMessage>(fields, std::move(message));
}

Code code_from(Fields& fields) {
  const auto code = fields.integer<couplet_status>("code");
  if (!known_code(code)) {
    fields.complain("code", "a status");
    return Code::internal;
  }
  return static_cast<Code>(code);
}

Result<HubMessage> answer_from(Fields& fields) {
  AnswerMessage message;
  message.request = fields.integer<RequestId>("request");
  message.code = code_from(fields);
  message.text = fields.text("text", most_text_bytes);
  message.peer = fields.integer<channel::PeerId>("peer");
  if (const auto* const series = fields.find("series"); series != nullptr) {
    COUPLET_TRY_VALUE(message.record, series_from(*series));
  }
  return checked<HubMessage>(fields, std::move(message));
}

Result<HubMessage> series_message_from(Fields& fields) {
  SeriesMessage message;
  message.name = fields.text("name", longest_series_name);
  message.program = fields.text("program", longest_name);
  message.incarnation = fields.integer<std::uint64_t>("incarnation");
  message.closed = fields.boolean("closed");
  return checked<HubMessage>(fields, std::move(message));
}

}  // namespace

std::string encode(const MemberMessage& message) {
  return std::visit([](const auto& each) { return text_of(body(each)); }, message);
}

std::string encode(const HubMessage& message) {
  return std::visit([](const auto& each) { return text_of(body(each)); }, message);
}

Result<MemberMessage> decode_member_message(std::string_view text) {
  COUPLET_TRY_VALUE(const auto json, parse(text));
  Fields start(json, "?");
  const auto what = start.text("what", 32);
  COUPLET_TRY(start.status());
  Fields fields(json, what);
  if (what == "join") {
    return join_from(fields);
  }
  if (what == "present") {
    return present_from(fields);
  }
  if (what == "announce") {
    return announce_from(fields);
  }
  if (what == "leave") {
    return MemberMessage(LeaveMessage{});
  }
  if (what == "node") {
    return checked<MemberMessage>(fields, NodeMessage{fields.text("key", longest_node_key)});
  }
  return request_from(fields, what);
}

Result<HubMessage> decode_hub_message(std::string_view text) {
  COUPLET_TRY_VALUE(const auto json, parse(text));
  Fields start(json, "?");
  const auto what = start.text("what", 32);
  COUPLET_TRY(start.status());
  Fields fields(json, what);
  if (what == "admitted") {
    return admitted_from(fields);
  }
  if (what == "placed") {
    return placed_from(fields);
  }
  if (what == "complete") {
    return complete_from(fields);
  }
  if (what == "peer") {
    return peer_from(fields);
  }
  if (what == "answer") {
    return answer_from(fields);
  }
  if (what == "series") {
    return series_message_from(fields);
  }
  if (what == "goodbye") {
    return HubMessage(GoodbyeMessage{});
  }
  if (what == "refused") {
    const auto code = code_from(fields);
    return checked<HubMessage>(fields, RefusedMessage{code, fields.text("text", most_text_bytes)});
  }
  if (what == "waiting") {
    return checked<HubMessage>(fields, WaitingMessage{fields.text("text", most_text_bytes)});
  }
  if (what == "over") {
    return checked<HubMessage>(fields, OverMessage{fields.text("text", most_text_bytes)});
  }
  return fail(Code::protocol, "there is no message '{}' from the hub", what);
}

wire::PeerEntry entry_of(channel::PeerId peer, const PeerInfo& info) noexcept {
  return {.peer = peer,
          .process = info.process,
          .memory_nonce = info.memory_nonce,
          .address = info.address,
          .port = info.port,
          .node = info.node,
          .incarnation = info.incarnation,
          .state = static_cast<std::uint8_t>(info.state)};
}

PeerInfo info_of(const wire::PeerEntry& entry) noexcept {
  PeerInfo info;
  info.address = entry.address;
  info.port = entry.port;
  info.node = entry.node;
  info.process = entry.process;
  info.memory_nonce = entry.memory_nonce;
  info.incarnation = entry.incarnation;
  info.state = static_cast<PeerState>(entry.state);
  return info;
}

}  // namespace couplet::universe
