// What several control messages have in common, as bytes. Private to universe/control*.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "universe/control.hpp"
#include "wire/fields.hpp"

namespace couplet::universe {

// The first byte of a message. Those of members and of the hub differ, so that neither is taken for the other.
enum class MessageKind : std::uint8_t {
  join = 1,
  node = 2,
  present = 3,
  leave = 4,
  announce = 5,
  find = 6,
  fetch = 7,
  note = 8,
  relay_of = 9,
  cancel = 10,
  contacts_of = 11,
  rejoin = 12,
  record = 13,
  seen = 14,
  call_me_back = 15,
  admitted = 65,
  placed = 66,
  nodes = 67,
  states = 68,
  contacts = 69,
  complete = 70,
  waiting = 71,
  refused = 72,
  answer = 73,
  series = 74,
  goodbye = 75,
  over = 76,
  rejoined = 77,
  recall = 78,
  look = 79,
  call_back = 80,
};

// "find"; "?" for a number that no message has.
[[nodiscard]] std::string_view message_name(char kind) noexcept;

void put(wire::FieldWriter& out, const Contact& contact);
void put(wire::FieldWriter& out, const PeerRun& run);
void put(wire::FieldWriter& out, const std::vector<PeerRun>& runs);
void put(wire::FieldWriter& out, const RecordPart& part);
void put(wire::FieldWriter& out, const std::vector<ProgramInfo>& programs);

[[nodiscard]] Contact take_contact(wire::FieldReader& in);
[[nodiscard]] std::vector<PeerRun> take_runs(wire::FieldReader& in, const char* field);
[[nodiscard]] RecordPart take_part(wire::FieldReader& in);
[[nodiscard]] std::vector<ProgramInfo> take_programs(wire::FieldReader& in);
[[nodiscard]] Code take_code(wire::FieldReader& in);

}  // namespace couplet::universe
