#include "series/writer_proposal.hpp"

#include "universe/series_record.hpp"

namespace couplet::series {
namespace {

constexpr char is_in_window = 1;
constexpr char is_collective = 2;

}  // namespace

// One byte of flags, then the description of the series with this rank as its only part.
std::string encode_proposal(const Proposal& proposal) {
  universe::SeriesRecord record;
  record.name = proposal.specification.name;
  record.slots = proposal.slots;
  record.linger_s = proposal.linger_s;
  record.creation = proposal.creation;
  record.required_readers = proposal.required_readers;
  auto& part = record.parts.emplace_back();
  part.writer = proposal.peer;
  part.writer_incarnation = proposal.incarnation;
  part.node = proposal.node;
  part.file = proposal.file;
  for (const auto& field : proposal.specification.fields) {
    record.fields.push_back({field.name, field.type, field.shape});
    part.boxes.push_back(field.boxes);
  }
  std::string text(
      1, static_cast<char>((proposal.in_window ? is_in_window : 0) | (proposal.collective ? is_collective : 0)));
  return text += universe::encode_record(record);
}

Result<Proposal> decode_proposal(const std::string& text, std::size_t rank) {
  auto record = universe::decode_record(std::string_view(text).substr(text.empty() ? 0 : 1));
  if (record.ok() && record->parts.size() != 1) {
    record = fail(Code::protocol, "it describes {} ranks", record->parts.size());
  }
  if (!record.ok()) {
    return fail(Code::protocol, "writer rank {} has sent a malformed proposal for a series: {}", rank,
                record.status().text());
  }
  auto& part = record->parts.front();
  Proposal proposal;
  proposal.specification.name = std::move(record->name);
  proposal.slots = record->slots;
  proposal.linger_s = record->linger_s;
  proposal.creation = record->creation;
  proposal.required_readers = std::move(record->required_readers);
  proposal.peer = part.writer;
  proposal.incarnation = part.writer_incarnation;
  proposal.node = part.node;
  proposal.file = std::move(part.file);
  proposal.in_window = (text.front() & is_in_window) != 0;
  proposal.collective = (text.front() & is_collective) != 0;
  for (std::size_t index = 0; index < record->fields.size(); ++index) {
    auto& field = record->fields[index];
    auto& own = proposal.specification.fields.emplace_back();
    own.name = std::move(field.name);
    own.type = field.type;
    own.shape = std::move(field.shape);
    own.boxes = std::move(part.boxes[index]);
  }
  return proposal;
}

}  // namespace couplet::series
