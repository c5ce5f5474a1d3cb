#include "universe/control_fields.hpp"

#include <algorithm>

#include "universe/programs.hpp"
#include "universe/series_record.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t run_bytes = 13;
constexpr std::uint8_t max_peer_state = 3;

struct Named {
  MessageKind kind;
  std::string_view name;
};
constexpr std::array names = {
    Named{MessageKind::join, "join"},           Named{MessageKind::node, "node"},
    Named{MessageKind::present, "present"},     Named{MessageKind::leave, "leave"},
    Named{MessageKind::announce, "announce"},   Named{MessageKind::find, "find"},
    Named{MessageKind::fetch, "fetch"},         Named{MessageKind::note, "note"},
    Named{MessageKind::relay_of, "relay_of"},   Named{MessageKind::cancel, "cancel"},
    Named{MessageKind::rejoin, "rejoin"},       Named{MessageKind::contacts_of, "contacts_of"},
    Named{MessageKind::record, "record"},       Named{MessageKind::seen, "seen"},
    Named{MessageKind::admitted, "admitted"},   Named{MessageKind::placed, "placed"},
    Named{MessageKind::nodes, "nodes"},         Named{MessageKind::states, "states"},
    Named{MessageKind::contacts, "contacts"},   Named{MessageKind::complete, "complete"},
    Named{MessageKind::waiting, "waiting"},     Named{MessageKind::refused, "refused"},
    Named{MessageKind::answer, "answer"},       Named{MessageKind::series, "series"},
    Named{MessageKind::goodbye, "goodbye"},     Named{MessageKind::over, "over"},
    Named{MessageKind::rejoined, "rejoined"},   Named{MessageKind::recall, "recall"},
    Named{MessageKind::look, "look"},           Named{MessageKind::call_me_back, "call_me_back"},
    Named{MessageKind::call_back, "call_back"},
};

}  // namespace

std::string_view message_name(char kind) noexcept {
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](const Named& each) { return static_cast<char>(each.kind) == kind; });
  return found == names.end() ? "?" : found->name;
}

void put(wire::FieldWriter& out, const Contact& contact) {
  out.put_raw({reinterpret_cast<const char*>(contact.address.data()), contact.address.size()});
  out.put(contact.port);
  out.put(contact.process);
  out.put(contact.memory_nonce);
}

void put(wire::FieldWriter& out, const PeerRun& run) {
  out.put(run.first);
  out.put(run.count);
  out.put(static_cast<std::uint8_t>(run.state));
  out.put(run.incarnation);
  out.put(run.node);
}

void put(wire::FieldWriter& out, const std::vector<PeerRun>& runs) {
  out.put(static_cast<std::uint32_t>(runs.size()));
  for (const auto& run : runs) {
    put(out, run);
  }
}

void put(wire::FieldWriter& out, const RecordPart& part) {
  out.put(part.record_bytes);
  out.put(part.offset);
  out.put_bytes(part.bytes);
}

void put(wire::FieldWriter& out, const std::vector<ProgramInfo>& programs) {
  out.put(static_cast<std::uint32_t>(programs.size()));
  for (const auto& program : programs) {
    out.put_text(program.name);
    out.put(program.size);
    out.put(program.required);
  }
}

Contact take_contact(wire::FieldReader& in) {
  Contact contact;
  const auto address = in.take_raw("address", contact.address.size());
  std::copy(address.begin(), address.end(), contact.address.begin());
  contact.port = in.take<std::uint16_t>("port");
  contact.process = in.take<std::uint32_t>("process");
  contact.memory_nonce = in.take<std::uint64_t>("memory_nonce");
  return contact;
}

std::vector<PeerRun> take_runs(wire::FieldReader& in, const char* field) {
  std::vector<PeerRun> runs(in.take_count(field, max_runs_per_message, run_bytes));
  for (auto& run : runs) {
    run.first = in.take<channel::PeerId>(field);
    run.count = in.take<std::uint32_t>(field, 1, static_cast<std::uint32_t>(max_ranks));
    run.state = static_cast<PeerState>(in.take<std::uint8_t>(field, 0, max_peer_state));
    run.incarnation = in.take<std::uint16_t>(field);
    run.node = in.take<std::uint16_t>(field);
    if (run.count > UINT32_MAX - run.first) {
      in.complain(field, "a run of peers past the last number");
    }
  }
  return runs;
}

RecordPart take_part(wire::FieldReader& in) {
  RecordPart part;
  part.record_bytes = in.take<std::uint64_t>("record_bytes", 0, max_record_bytes);
  part.offset = in.take<std::uint64_t>("offset", 0, max_record_bytes);
  part.bytes = in.take_bytes("bytes", max_part_bytes);
  if (part.offset > part.record_bytes || part.bytes.size() > part.record_bytes - part.offset) {
    in.complain("offset", "past the end of the description");
  }
  return part;
}

std::vector<ProgramInfo> take_programs(wire::FieldReader& in) {
  constexpr std::size_t min_program_bytes = 7;
  std::vector<ProgramInfo> programs(in.take_count("programs", max_programs, min_program_bytes));
  std::int64_t first_rank = 0;
  for (auto& program : programs) {
    program.name = in.take_text("name", max_name);
    program.size = in.take<std::int32_t>("size", 1, max_ranks);
    program.required = in.take_flag("required");
    program.first_rank = static_cast<std::int32_t>(first_rank);
    first_rank += program.size;
    if (first_rank > max_ranks) {
      in.complain("programs", fmt::format("a list with more than {} ranks", max_ranks));
      break;
    }
  }
  if (programs.empty()) {
    in.complain("programs", "a list without a program");
  }
  return programs;
}

Code take_code(wire::FieldReader& in) {
  const auto code = in.take<couplet_status>("code");
  if (std::string_view(code_name(code)) == "unknown") {
    in.complain("code", "no status");
    return Code::internal;
  }
  return static_cast<Code>(code);
}

}  // namespace couplet::universe
