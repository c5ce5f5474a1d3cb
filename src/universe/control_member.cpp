// Messages of members as bytes.
#include "universe/control_fields.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {
namespace {

using wire::FieldReader;
using wire::FieldWriter;

constexpr std::uint8_t max_note = 3;

// ---- encoding, one function for each message

MessageKind put(FieldWriter& out, const JoinMessage& message) {
  out.put(message.relay);
  out.put_text(message.program);
  out.put(message.rank);
  out.put(message.size);
  out.put(message.timeout_s);
  out.put_text(message.host);
  return MessageKind::join;
}
MessageKind put(FieldWriter& out, const NodeMessage& message) {
  out.put_text(message.key);
  return MessageKind::node;
}
MessageKind put(FieldWriter& out, const PresentMessage& message) {
  universe::put(out, message.contact);
  return MessageKind::present;
}
MessageKind put(FieldWriter& /*out*/, const LeaveMessage& /*message*/) {
  return MessageKind::leave;
}
MessageKind put(FieldWriter& out, const AnnounceMessage& message) {
  out.put(message.request);
  universe::put(out, message.part);
  return MessageKind::announce;
}
MessageKind put(FieldWriter& out, const FindMessage& message) {
  out.put(message.request);
  out.put_text(message.name);
  out.put(message.newer_than);
  out.put(message.wait);
  return MessageKind::find;
}
MessageKind put(FieldWriter& out, const FetchMessage& message) {
  out.put(message.request);
  out.put_text(message.name);
  out.put(message.incarnation);
  out.put(message.offset);
  return MessageKind::fetch;
}
MessageKind put(FieldWriter& out, const NoteMessage& message) {
  out.put(message.request);
  out.put(static_cast<std::uint8_t>(message.note));
  out.put_text(message.name);
  out.put(message.openers);
  out.put(message.incarnation);
  return MessageKind::note;
}
MessageKind put(FieldWriter& out, const RelayOfMessage& message) {
  out.put(message.request);
  out.put(message.node);
  out.put(message.wait);
  return MessageKind::relay_of;
}
MessageKind put(FieldWriter& out, const CancelMessage& message) {
  out.put(message.request);
  return MessageKind::cancel;
}
MessageKind put(FieldWriter& out, const ContactsOfMessage& message) {
  out.put(message.first);
  out.put(message.count);
  return MessageKind::contacts_of;
}
MessageKind put(FieldWriter& out, const RejoinMessage& message) {
  out.put(message.run_id);
  out.put(message.epoch);
  out.put(message.relay);
  out.put(message.released);
  out.put(message.peer);
  out.put(message.incarnation);
  out.put(message.node);
  out.put_text(message.node_key);
  out.put_text(message.host);
  out.put(message.timeout_s);
  universe::put(out, message.contact);
  universe::put(out, message.programs);
  universe::put(out, message.exceptions);
  out.put(static_cast<std::uint32_t>(message.series.size()));
  for (const auto& claim : message.series) {
    out.put_text(claim.name);
    out.put(claim.incarnation);
    out.put(claim.writes);
    out.put(claim.opened);
    out.put(claim.openers);
    out.put(claim.has_record);
  }
  return MessageKind::rejoin;
}
MessageKind put(FieldWriter& out, const RecordMessage& message) {
  out.put_text(message.name);
  out.put(message.incarnation);
  universe::put(out, message.part);
  return MessageKind::record;
}
MessageKind put(FieldWriter& out, const SeenMessage& message) {
  universe::put(out, message.gone);
  return MessageKind::seen;
}
MessageKind put(FieldWriter& out, const CallMeBackMessage& message) {
  out.put(message.peer);
  return MessageKind::call_me_back;
}

// ---- decoding

MemberMessage take_join(FieldReader& in) {
  JoinMessage message;
  message.relay = in.take_flag("relay");
  message.program = in.take_text("program", max_text_bytes);
  message.rank = in.take<std::int32_t>("rank");
  message.size = in.take<std::int32_t>("size");
  message.timeout_s = in.take_real("timeout_s");
  message.host = in.take_text("host", max_host_bytes);
  return message;
}

MemberMessage take_announce(FieldReader& in) {
  AnnounceMessage message;
  message.request = in.take<RequestId>("request");
  message.part = take_part(in);
  return message;
}

MemberMessage take_find(FieldReader& in) {
  FindMessage message;
  message.request = in.take<RequestId>("request");
  message.name = in.take_text("name", max_series_name);
  message.newer_than = in.take<std::int64_t>("newer_than", -1);
  message.wait = in.take_flag("wait");
  return message;
}

MemberMessage take_fetch(FieldReader& in) {
  FetchMessage message;
  message.request = in.take<RequestId>("request");
  message.name = in.take_text("name", max_series_name);
  message.incarnation = in.take<std::uint64_t>("incarnation");
  message.offset = in.take<std::uint64_t>("offset");
  return message;
}

MemberMessage take_note(FieldReader& in) {
  NoteMessage message;
  message.request = in.take<RequestId>("request");
  message.note = static_cast<SeriesNote>(in.take<std::uint8_t>("note", 0, max_note));
  message.name = in.take_text("name", max_series_name);
  message.openers = in.take<std::int32_t>("openers", 0, INT32_MAX);
  message.incarnation = in.take<std::uint64_t>("incarnation");
  return message;
}

MemberMessage take_relay_of(FieldReader& in) {
  RelayOfMessage message;
  message.request = in.take<RequestId>("request");
  message.node = in.take<std::uint16_t>("node");
  message.wait = in.take_flag("wait");
  return message;
}

MemberMessage take_contacts_of(FieldReader& in) {
  ContactsOfMessage message;
  message.first = in.take<channel::PeerId>("first");
  message.count = in.take<std::uint32_t>("count", 1, static_cast<std::uint32_t>(max_entries_per_message));
  return message;
}

MemberMessage take_rejoin(FieldReader& in) {
  constexpr std::size_t min_claim_bytes = 20;
  RejoinMessage message;
  message.run_id = in.take<std::uint64_t>("run_id");
  message.epoch = in.take<std::uint32_t>("epoch");
  message.relay = in.take_flag("relay");
  message.released = in.take_flag("released");
  message.peer = in.take<channel::PeerId>("peer");
  message.incarnation = in.take<std::uint16_t>("incarnation");
  message.node = in.take<std::uint16_t>("node", 0, unknown_node - 1);
  message.node_key = in.take_text("node_key", max_node_key_bytes);
  message.host = in.take_text("host", max_host_bytes);
  message.timeout_s = in.take_real("timeout_s");
  message.contact = take_contact(in);
  message.programs = take_programs(in);
  message.exceptions = take_runs(in, "exceptions");
  message.series.resize(in.take_count("series", max_claims, min_claim_bytes));
  for (auto& claim : message.series) {
    claim.name = in.take_text("name", max_series_name);
    claim.incarnation = in.take<std::uint64_t>("incarnation");
    claim.writes = in.take_flag("writes");
    claim.opened = in.take<std::uint32_t>("opened");
    claim.openers = in.take<std::int32_t>("openers", not_opened, INT32_MAX);
    claim.has_record = in.take_flag("has_record");
  }
  return message;
}

MemberMessage take_record(FieldReader& in) {
  RecordMessage message;
  message.name = in.take_text("name", max_series_name);
  message.incarnation = in.take<std::uint64_t>("incarnation");
  message.part = take_part(in);
  return message;
}

MemberMessage take_body(MessageKind kind, FieldReader& in) {
  switch (kind) {
    case MessageKind::join:
      return take_join(in);
    case MessageKind::node:
      return NodeMessage{in.take_text("key", max_node_key_bytes)};
    case MessageKind::present:
      return PresentMessage{take_contact(in)};
    case MessageKind::leave:
      return LeaveMessage{};
    case MessageKind::announce:
      return take_announce(in);
    case MessageKind::find:
      return take_find(in);
    case MessageKind::fetch:
      return take_fetch(in);
    case MessageKind::note:
      return take_note(in);
    case MessageKind::relay_of:
      return take_relay_of(in);
    case MessageKind::cancel:
      return CancelMessage{in.take<RequestId>("request")};
    case MessageKind::contacts_of:
      return take_contacts_of(in);
    case MessageKind::rejoin:
      return take_rejoin(in);
    case MessageKind::record:
      return take_record(in);
    case MessageKind::seen:
      return SeenMessage{take_runs(in, "gone")};
    case MessageKind::call_me_back:
      return CallMeBackMessage{in.take<channel::PeerId>("peer")};
    default:
      in.complain("kind", fmt::format("{}, which no message to the hub has", static_cast<int>(kind)));
      return LeaveMessage{};
  }
}

}  // namespace

std::string encode(const MemberMessage& message) {
  FieldWriter head;
  FieldWriter body;
  const auto kind = std::visit([&](const auto& each) { return put(body, each); }, message);
  head.put(static_cast<std::uint8_t>(kind));
  return head.take() + body.take();
}

Result<MemberMessage> decode_member_message(std::string_view bytes) {
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
