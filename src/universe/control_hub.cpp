// Messages of the hub as bytes.
#include "universe/control_fields.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {
namespace {

using wire::FieldReader;
using wire::FieldWriter;

constexpr std::size_t max_settings = 4096;
constexpr std::size_t max_setting_bytes = 16384;
constexpr std::size_t contact_entry_bytes = 36;

// ---- encoding, one function for each message

MessageKind put(FieldWriter& out, const AdmittedMessage& message) {
  out.put(message.run_id);
  out.put(message.epoch);
  out.put(static_cast<std::uint32_t>(message.settings.size()));
  for (const auto& [key, value] : message.settings) {
    out.put_text(key);
    out.put_text(value);
  }
  return MessageKind::admitted;
}
MessageKind put(FieldWriter& out, const PlacedMessage& message) {
  out.put(message.peer);
  out.put(message.node);
  out.put(message.incarnation);
  universe::put(out, message.programs);
  return MessageKind::placed;
}
MessageKind put(FieldWriter& out, const NodesMessage& message) {
  out.put(message.first);
  out.put(static_cast<std::uint32_t>(message.names.size()));
  for (const auto& name : message.names) {
    out.put_text(name);
  }
  return MessageKind::nodes;
}
MessageKind put(FieldWriter& out, const StatesMessage& message) {
  out.put(static_cast<std::uint32_t>(message.groups.size()));
  for (const auto& group : message.groups) {
    out.put_text(std::string_view(group.why).substr(0, max_text_bytes));
    universe::put(out, group.runs);
  }
  return MessageKind::states;
}
MessageKind put(FieldWriter& out, const ContactsMessage& message) {
  out.put(static_cast<std::uint32_t>(message.entries.size()));
  for (const auto& entry : message.entries) {
    out.put(entry.peer);
    out.put(entry.incarnation);
    universe::put(out, entry.contact);
  }
  return MessageKind::contacts;
}
MessageKind put(FieldWriter& /*out*/, const CompleteMessage& /*message*/) {
  return MessageKind::complete;
}
MessageKind put(FieldWriter& out, const WaitingMessage& message) {
  out.put_text(std::string_view(message.text).substr(0, max_text_bytes));
  return MessageKind::waiting;
}
MessageKind put(FieldWriter& out, const RefusedMessage& message) {
  out.put(static_cast<couplet_status>(message.code));
  out.put_text(std::string_view(message.text).substr(0, max_text_bytes));
  return MessageKind::refused;
}
MessageKind put(FieldWriter& out, const AnswerMessage& message) {
  out.put(message.request);
  out.put(static_cast<couplet_status>(message.code));
  out.put_text(std::string_view(message.text).substr(0, max_text_bytes));
  out.put(message.peer);
  out.put(message.series.has_value());
  if (message.series) {
    out.put(message.series->incarnation);
    out.put(message.series->closed);
    universe::put(out, message.series->part);
  }
  return MessageKind::answer;
}
MessageKind put(FieldWriter& out, const SeriesMessage& message) {
  out.put_text(message.name);
  out.put_text(message.program);
  out.put(message.incarnation);
  out.put(message.closed);
  out.put(static_cast<std::uint32_t>(message.opened.size()));
  for (const auto& program : message.opened) {
    out.put_text(program);
  }
  return MessageKind::series;
}
MessageKind put(FieldWriter& /*out*/, const GoodbyeMessage& /*message*/) {
  return MessageKind::goodbye;
}
MessageKind put(FieldWriter& out, const OverMessage& message) {
  out.put_text(std::string_view(message.text).substr(0, max_text_bytes));
  return MessageKind::over;
}
MessageKind put(FieldWriter& out, const RejoinedMessage& message) {
  out.put(message.epoch);
  return MessageKind::rejoined;
}
MessageKind put(FieldWriter& out, const RecallMessage& message) {
  out.put_text(message.name);
  out.put(message.incarnation);
  return MessageKind::recall;
}
MessageKind put(FieldWriter& out, const LookMessage& message) {
  universe::put(out, message.peers);
  return MessageKind::look;
}
MessageKind put(FieldWriter& out, const CallBackMessage& message) {
  out.put(message.from);
  out.put(message.incarnation);
  return MessageKind::call_back;
}

// ---- decoding

HubMessage take_admitted(FieldReader& in) {
  constexpr std::size_t min_setting_bytes = 4;
  AdmittedMessage message;
  message.run_id = in.take<std::uint64_t>("run_id");
  message.epoch = in.take<std::uint32_t>("epoch");
  const auto count = in.take_count("settings", max_settings, min_setting_bytes);
  for (std::size_t index = 0; index < count && !in.failed(); ++index) {
    auto key = in.take_text("key", max_setting_bytes);
    message.settings[std::move(key)] = in.take_text("value", max_setting_bytes);
  }
  return message;
}

HubMessage take_placed(FieldReader& in) {
  PlacedMessage message;
  message.peer = in.take<channel::PeerId>("peer");
  message.node = in.take<std::uint16_t>("node", 0, unknown_node - 1);
  message.incarnation = in.take<std::uint16_t>("incarnation");
  message.programs = take_programs(in);
  return message;
}

HubMessage take_nodes(FieldReader& in) {
  constexpr std::size_t min_name_bytes = 2;
  NodesMessage message;
  message.first = in.take<std::uint16_t>("first", 0, unknown_node - 1);
  message.names.resize(in.take_count("names", max_nodes_per_message, min_name_bytes));
  if (message.first + message.names.size() > unknown_node) {
    in.complain("names", "past the last node's number");
  }
  for (auto& name : message.names) {
    name = in.take_text("name", max_host_bytes);
  }
  return message;
}

HubMessage take_states(FieldReader& in) {
  constexpr std::size_t min_group_bytes = 6;
  StatesMessage message;
  message.groups.resize(in.take_count("groups", max_runs_per_message, min_group_bytes));
  for (auto& group : message.groups) {
    group.why = in.take_text("why", max_text_bytes);
    group.runs = take_runs(in, "runs");
    if (in.failed()) {
      break;
    }
  }
  return message;
}

HubMessage take_contacts(FieldReader& in) {
  ContactsMessage message;
  message.entries.resize(in.take_count("entries", max_entries_per_message, contact_entry_bytes));
  for (auto& entry : message.entries) {
    entry.peer = in.take<channel::PeerId>("peer");
    entry.incarnation = in.take<std::uint16_t>("incarnation");
    entry.contact = take_contact(in);
  }
  return message;
}

HubMessage take_refused(FieldReader& in) {
  RefusedMessage message;
  message.code = take_code(in);
  message.text = in.take_text("text", max_text_bytes);
  return message;
}

HubMessage take_answer(FieldReader& in) {
  AnswerMessage message;
  message.request = in.take<RequestId>("request");
  message.code = take_code(in);
  message.text = in.take_text("text", max_text_bytes);
  message.peer = in.take<channel::PeerId>("peer");
  if (in.take_flag("found")) {
    FoundSeries series;
    series.incarnation = in.take<std::uint64_t>("incarnation");
    series.closed = in.take_flag("closed");
    series.part = take_part(in);
    message.series = std::move(series);
  }
  return message;
}

HubMessage take_series(FieldReader& in) {
  SeriesMessage message;
  message.name = in.take_text("name", max_series_name);
  message.program = in.take_text("program", max_name);
  message.incarnation = in.take<std::uint64_t>("incarnation");
  message.closed = in.take_flag("closed");
  constexpr std::size_t min_name_bytes = 2;
  message.opened.resize(in.take_count("opened", max_programs, min_name_bytes));
  for (auto& program : message.opened) {
    program = in.take_text("opened", max_name);
  }
  return message;
}

HubMessage take_recall(FieldReader& in) {
  RecallMessage message;
  message.name = in.take_text("name", max_series_name);
  message.incarnation = in.take<std::uint64_t>("incarnation");
  return message;
}

HubMessage take_call_back(FieldReader& in) {
  CallBackMessage message;
  message.from = in.take<channel::PeerId>("from");
  message.incarnation = in.take<std::uint16_t>("incarnation");
  return message;
}

HubMessage take_body(MessageKind kind, FieldReader& in) {
  switch (kind) {
    case MessageKind::admitted:
      return take_admitted(in);
    case MessageKind::placed:
      return take_placed(in);
    case MessageKind::nodes:
      return take_nodes(in);
    case MessageKind::states:
      return take_states(in);
    case MessageKind::contacts:
      return take_contacts(in);
    case MessageKind::complete:
      return CompleteMessage{};
    case MessageKind::waiting:
      return WaitingMessage{in.take_text("text", max_text_bytes)};
    case MessageKind::refused:
      return take_refused(in);
    case MessageKind::answer:
      return take_answer(in);
    case MessageKind::series:
      return take_series(in);
    case MessageKind::goodbye:
      return GoodbyeMessage{};
    case MessageKind::over:
      return OverMessage{in.take_text("text", max_text_bytes)};
    case MessageKind::rejoined:
      return RejoinedMessage{in.take<std::uint32_t>("epoch")};
    case MessageKind::recall:
      return take_recall(in);
    case MessageKind::look:
      return LookMessage{take_runs(in, "peers")};
    case MessageKind::call_back:
      return take_call_back(in);
    default:
      in.complain("kind", fmt::format("{}, which no message from the hub has", static_cast<int>(kind)));
      return GoodbyeMessage{};
  }
}

}  // namespace

std::string encode(const HubMessage& message) {
  FieldWriter head;
  FieldWriter body;
  const auto kind = std::visit([&](const auto& each) { return put(body, each); }, message);
  head.put(static_cast<std::uint8_t>(kind));
  return head.take() + body.take();
}

Result<HubMessage> decode_hub_message(std::string_view bytes) {
  if (bytes.size() > max_message_bytes) {
    return fail(Code::limit, "a control message of {} bytes, at most {} are allowed", bytes.size(), max_message_bytes);
  }
  if (bytes.empty()) {
    return fail(Code::protocol, "a control message without a byte");
  }
  FieldReader in(bytes.substr(1), message_name(bytes.front()));
  auto message = take_body(static_cast<MessageKind>(bytes.front()), in);
  COUPLET_TRY(in.finish());
  return message;
}

}  // namespace couplet::universe
