#include "universe/control.hpp"

#include <concepts>
#include <utility>

#include "universe/control_visit.hpp"
#include "universe/programs.hpp"
#include "universe/series_record.hpp"

namespace couplet::universe {
namespace {

using wire::FieldReader;
using wire::FieldWriter;

constexpr std::size_t max_settings = 4096;
constexpr std::size_t max_setting_bytes = 16384;
// The fewest bytes of an element of a list. With it, a wrong count never makes the reader allocate much more than it
// was sent.
constexpr std::size_t min_text_bytes = 2;
constexpr std::size_t min_setting_bytes = 4;
constexpr std::size_t min_run_bytes = 13;
constexpr std::size_t min_rank_run_bytes = 8;
constexpr std::size_t min_program_bytes = 7;
constexpr std::size_t min_claim_bytes = 29;
constexpr std::size_t min_pending_bytes = 10;
constexpr std::size_t min_group_bytes = 6;
constexpr std::size_t min_contact_entry_bytes = 11;

// A message of this type: const when it is written, and not const when it is read.
template <typename Given, typename Message>
concept Is = std::same_as<std::remove_const_t<Given>, Message>;

// ---- the fields that several messages have in common

void fields(auto& visit, Is<Contact> auto& contact) {
  visit.number("process", contact.process);
  visit.contacts("contacts", contact.transports);
}

void fields(auto& visit, Is<RecordPart> auto& part) {
  visit.number("record_bytes", part.record_bytes, std::uint64_t{0}, std::uint64_t{max_record_bytes});
  visit.number("offset", part.offset, std::uint64_t{0}, std::uint64_t{max_record_bytes});
  visit.bytes("bytes", part.bytes, max_part_bytes);
  visit.expect(part.offset <= part.record_bytes && part.bytes.size() <= part.record_bytes - part.offset, "offset",
               "past the end of the description");
}

void openers(auto& visit, Is<OpenerRanks> auto& ranks, std::int32_t least) {
  visit.number("openers", ranks.count, least, std::int32_t{INT32_MAX});
  visit.list("opener_runs", ranks.runs, OpenerRanks::max_runs, min_rank_run_bytes, [&](auto& run) {
    visit.number("first", run.first);
    visit.number("count", run.count, std::uint32_t{1}, static_cast<std::uint32_t>(max_ranks));
    visit.expect(run.count <= UINT32_MAX - run.first, "opener_runs", "a run of ranks past the last number");
  });
}

void runs(auto& visit, const char* field, Is<std::vector<PeerRun>> auto& all) {
  visit.list(field, all, max_runs_per_message, min_run_bytes, [&](auto& run) {
    visit.number(field, run.first);
    visit.number(field, run.count, std::uint32_t{1}, static_cast<std::uint32_t>(max_ranks));
    visit.choice(field, run.state, PeerState::lost);
    visit.number(field, run.incarnation);
    visit.number(field, run.node);
    visit.expect(run.count <= UINT32_MAX - run.first, field, "a run of peers past the last number");
  });
}

void contacts(auto& visit, const char* field, Is<std::vector<ContactEntry>> auto& all) {
  visit.list(field, all, max_entries_per_message, min_contact_entry_bytes, [&](auto& entry) {
    visit.number("peer", entry.peer);
    visit.number("incarnation", entry.incarnation);
    fields(visit, entry.contact);
  });
}

void fields(auto& visit, Is<std::vector<ProgramInfo>> auto& programs) {
  std::int64_t rank_count = 0;
  visit.list("programs", programs, max_programs, min_program_bytes, [&](auto& program) {
    visit.text("name", program.name, max_name);
    visit.number("size", program.size, std::int32_t{1}, std::int32_t{max_ranks});
    visit.flag("required", program.required);
    if constexpr (std::remove_reference_t<decltype(visit)>::reads) {
      program.first_rank = static_cast<std::int32_t>(rank_count);
    }
    rank_count += program.size;
    visit.expect(rank_count <= max_ranks, "programs", "a list with more ranks than are possible");
  });
  visit.expect(!programs.empty(), "programs", "a list without a program");
}

// ---- the messages of members

void fields(auto& visit, Is<JoinMessage> auto& message) {
  visit.flag("relay", message.relay);
  visit.text("program", message.program, max_text_bytes);
  visit.number("rank", message.rank);
  visit.number("size", message.size);
  visit.real("timeout_s", message.timeout_s);
  visit.text("host", message.host, max_host_bytes);
}

void fields(auto& visit, Is<NodeMessage> auto& message) {
  visit.text("key", message.key, max_node_key_bytes);
  visit.number("node", message.node);
}

void fields(auto& visit, Is<PresentMessage> auto& message) {
  fields(visit, message.contact);
}

void fields(auto& /*visit*/, Is<LeaveMessage> auto& /*message*/) {}

void fields(auto& visit, Is<AnnounceMessage> auto& message) {
  visit.number("request", message.request);
  fields(visit, message.part);
}

void fields(auto& visit, Is<FindMessage> auto& message) {
  visit.number("request", message.request);
  visit.text("name", message.name, max_series_name);
  visit.number("newer_than", message.newer_than, std::int64_t{-1}, std::int64_t{INT64_MAX});
  visit.flag("wait", message.wait);
}

void fields(auto& visit, Is<FetchMessage> auto& message) {
  visit.number("request", message.request);
  visit.text("name", message.name, max_series_name);
  visit.number("incarnation", message.incarnation);
  visit.number("offset", message.offset);
}

void fields(auto& visit, Is<NoteMessage> auto& message) {
  visit.number("request", message.request);
  visit.choice("note", message.note, SeriesNote::creating);
  visit.text("name", message.name, max_series_name);
  openers(visit, message.openers, 0);
  visit.number("creation", message.creation);
}

void fields(auto& visit, Is<RelayOfMessage> auto& message) {
  visit.number("request", message.request);
  visit.number("node", message.node);
  visit.flag("wait", message.wait);
}

void fields(auto& visit, Is<CancelMessage> auto& message) {
  visit.number("request", message.request);
}

void fields(auto& visit, Is<ContactsOfMessage> auto& message) {
  visit.number("first", message.first);
  visit.number("count", message.count, std::uint32_t{1}, static_cast<std::uint32_t>(max_entries_per_message));
}

void fields(auto& visit, Is<RejoinMessage> auto& message) {
  visit.number("run_id", message.run_id);
  visit.number("epoch", message.epoch);
  visit.flag("relay", message.relay);
  visit.flag("released", message.released);
  visit.number("peer", message.peer);
  visit.number("incarnation", message.incarnation);
  visit.number("node", message.node, std::uint16_t{0}, std::uint16_t{unknown_node - 1});
  visit.text("node_key", message.node_key, max_node_key_bytes);
  visit.text("host", message.host, max_host_bytes);
  visit.real("timeout_s", message.timeout_s);
  fields(visit, message.contact);
  fields(visit, message.programs);
  runs(visit, "exceptions", message.exceptions);
  visit.list("series", message.series, max_claims, min_claim_bytes, [&](auto& claim) {
    visit.text("name", claim.name, max_series_name);
    visit.number("incarnation", claim.incarnation);
    visit.flag("writes", claim.writes);
    visit.number("opened", claim.opened);
    openers(visit, claim.openers, not_opened);
    visit.flag("has_record", claim.has_record);
    visit.flag("closed", claim.closed);
    visit.number("creation", claim.creation);
  });
  visit.list("pending", message.pending, max_pending_creations, min_pending_bytes, [&](auto& pending) {
    visit.text("name", pending.name, max_series_name);
    visit.number("creation", pending.creation);
  });
  visit.list("withdrawn", message.withdrawn, max_withdrawals, sizeof(std::uint64_t),
             [&](auto& creation) { visit.number("creation", creation); });
}

void fields(auto& visit, Is<RecordMessage> auto& message) {
  visit.text("name", message.name, max_series_name);
  visit.number("incarnation", message.incarnation);
  fields(visit, message.part);
}

void fields(auto& visit, Is<SeenMessage> auto& message) {
  runs(visit, "seen", message.seen);
  contacts(visit, "contacts", message.contacts);
}

void fields(auto& visit, Is<CallMeBackMessage> auto& message) {
  visit.number("peer", message.peer);
  visit.number("incarnation", message.incarnation);
  fields(visit, message.contact);
}

// ---- the messages of the hub

void fields(auto& visit, Is<CatchUpMessage> auto& message) {
  visit.number("request", message.request);
}

void fields(auto& visit, Is<AdmittedMessage> auto& message) {
  visit.number("run_id", message.run_id);
  visit.number("epoch", message.epoch);
  visit.map("settings", message.settings, max_settings, min_setting_bytes, [&](auto& key, auto& value) {
    visit.text("key", key, max_setting_bytes);
    visit.text("value", value, max_setting_bytes);
  });
}

void fields(auto& visit, Is<PlacedMessage> auto& message) {
  visit.number("peer", message.peer);
  visit.number("node", message.node, std::uint16_t{0}, std::uint16_t{unknown_node - 1});
  visit.number("incarnation", message.incarnation);
  visit.raw("signature", message.signature);
  fields(visit, message.programs);
}

void fields(auto& visit, Is<NodesMessage> auto& message) {
  visit.number("first", message.first, std::uint16_t{0}, std::uint16_t{unknown_node - 1});
  visit.list("names", message.names, max_nodes_per_message, min_text_bytes,
             [&](auto& name) { visit.text("name", name, max_host_bytes); });
  visit.expect(message.first + message.names.size() <= unknown_node, "names", "past the last node's number");
}

void fields(auto& visit, Is<StatesMessage> auto& message) {
  visit.list("groups", message.groups, max_runs_per_message, min_group_bytes, [&](auto& group) {
    visit.sentence("why", group.why);
    runs(visit, "runs", group.runs);
  });
}

void fields(auto& visit, Is<ContactsMessage> auto& message) {
  contacts(visit, "entries", message.entries);
}

void fields(auto& /*visit*/, Is<CompleteMessage> auto& /*message*/) {}

void fields(auto& visit, Is<WaitingMessage> auto& message) {
  visit.sentence("text", message.text);
}

void fields(auto& visit, Is<RefusedMessage> auto& message) {
  visit.status("code", message.code);
  visit.sentence("text", message.text);
}

void fields(auto& visit, Is<AnswerMessage> auto& message) {
  visit.number("request", message.request);
  visit.status("code", message.code);
  visit.sentence("text", message.text);
  visit.number("peer", message.peer);
  visit.optional("found", message.series, [&](auto& series) {
    visit.number("incarnation", series.incarnation);
    visit.flag("closed", series.closed);
    fields(visit, series.part);
  });
}

void fields(auto& visit, Is<SeriesMessage> auto& message) {
  visit.text("name", message.name, max_series_name);
  visit.text("program", message.program, max_name);
  visit.number("incarnation", message.incarnation);
  visit.flag("closed", message.closed);
  visit.list("opened", message.opened, max_programs, min_text_bytes,
             [&](auto& program) { visit.text("opened", program, max_name); });
}

void fields(auto& /*visit*/, Is<GoodbyeMessage> auto& /*message*/) {}

void fields(auto& visit, Is<OverMessage> auto& message) {
  visit.sentence("text", message.text);
}

void fields(auto& visit, Is<RejoinedMessage> auto& message) {
  visit.number("epoch", message.epoch);
}

void fields(auto& visit, Is<RecallMessage> auto& message) {
  visit.text("name", message.name, max_series_name);
  visit.number("incarnation", message.incarnation);
}

void fields(auto& visit, Is<LookMessage> auto& message) {
  runs(visit, "peers", message.peers);
  runs(visit, "contacts_of", message.contacts_of);
}

void fields(auto& visit, Is<CallBackMessage> auto& message) {
  visit.number("from", message.from);
  visit.number("incarnation", message.incarnation);
}

// ---- messages

// The first byte of a message is the number of its kind. The kinds have the order of the variant. Members and the hub
// use different numbers, so that no message of one is taken for a message of the other.
template <typename Messages>
struct Kinds;
template <>
struct Kinds<MemberMessage> {
  static constexpr std::uint8_t first = 1;
  static constexpr const char* direction = "to the hub";
  static constexpr std::array<std::string_view, std::variant_size_v<MemberMessage>> names = {
      "join",     "node",   "present",     "leave",  "announce", "find", "fetch",        "note",
      "relay_of", "cancel", "contacts_of", "rejoin", "record",   "seen", "call_me_back", "catch_up"};
};
template <>
struct Kinds<HubMessage> {
  static constexpr std::uint8_t first = 65;
  static constexpr const char* direction = "from the hub";
  static constexpr std::array<std::string_view, std::variant_size_v<HubMessage>> names = {
      "admitted", "placed", "nodes",   "states", "contacts", "complete", "waiting", "refused",
      "answer",   "series", "goodbye", "over",   "rejoined", "recall",   "look",    "call_back"};
};

template <typename Messages>
std::string encode_message(const Messages& message) {
  FieldWriter out;
  out.put(static_cast<std::uint8_t>(Kinds<Messages>::first + message.index()));
  FieldsOut visit(out);
  std::visit([&](const auto& each) { fields(visit, each); }, message);
  return out.take();
}

// Makes an empty message of this kind.
template <typename Messages, std::size_t... Index>
Messages empty_message(std::size_t kind, std::index_sequence<Index...> /*indices*/) {
  Messages message;
  static_cast<void>(((kind == Index && (message.template emplace<Index>(), true)) || ...));
  return message;
}

template <typename Messages>
Result<Messages> decode_message(std::string_view bytes) {
  if (bytes.size() > max_message_bytes) {
    return fail(Code::limit, "a control message of {} bytes, at most {} are allowed", bytes.size(), max_message_bytes);
  }
  if (bytes.empty()) {
    return fail(Code::protocol, "an empty control message");
  }
  const auto number = static_cast<std::uint8_t>(bytes.front());
  const std::size_t kind = number - std::size_t{Kinds<Messages>::first};
  if (kind >= std::variant_size_v<Messages>) {
    return fail(Code::protocol, "message '?': field 'kind' is {}, which no message {} has", number,
                Kinds<Messages>::direction);
  }
  FieldReader in(bytes.substr(1), Kinds<Messages>::names[kind]);
  FieldsIn visit(in);
  auto message = empty_message<Messages>(kind, std::make_index_sequence<std::variant_size_v<Messages>>());
  std::visit([&](auto& each) { fields(visit, each); }, message);
  COUPLET_TRY(in.finish());
  return message;
}

}  // namespace

std::string encode(const MemberMessage& message) {
  return encode_message(message);
}

std::string encode(const HubMessage& message) {
  return encode_message(message);
}

Result<MemberMessage> decode_member_message(std::string_view bytes) {
  return decode_message<MemberMessage>(bytes);
}

Result<HubMessage> decode_hub_message(std::string_view bytes) {
  return decode_message<HubMessage>(bytes);
}

}  // namespace couplet::universe
