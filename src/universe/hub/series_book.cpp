#include "universe/hub/series_book.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace couplet::universe {
namespace {

std::uint64_t linger_ns(double linger_s) noexcept {
  constexpr double most_s = 1e9;  // about 30 years
  return linger_s > 0 ? static_cast<std::uint64_t>(std::min(linger_s, most_s) * 1e9) : 0;
}

std::set<channel::PeerId> writers_in(const SeriesRecord& record) {
  std::set<channel::PeerId> writers;
  for (const auto& part : record.parts) {
    writers.insert(part.writer);
  }
  return writers;
}

}  // namespace

// ---- one series

void SeriesBook::Entry::renew() {
  record = {};
  description = nullptr;
  described = recalled = remembered = failed = closed_by_one = false;
  writers.clear();
  for (auto& [peer, reader] : readers) {
    reader.openers = not_opened;
  }
  former_readers.clear();
  required.clear();
  ended_ns = 0;
}

void SeriesBook::Entry::describe(const SeriesRecord& description_of, std::shared_ptr<const std::string> text) {
  const auto incarnation = record.incarnation;
  record = description_of;
  record.parts.clear();
  record.incarnation = incarnation;
  record.closed = false;
  description = std::move(text);
  if (std::exchange(described, true)) {
    return;  // once more
  }
  for (const auto& program : record.required_readers) {
    required.emplace(program, Required{});
  }
  for (const auto* each : {&readers, &former_readers}) {
    for (const auto& [peer, reader] : *each) {
      note_opened(reader);
    }
  }
}

void SeriesBook::Entry::add_writer(channel::PeerId peer) {
  writers.insert(peer);
  record.closed = false;
}

// If others write a series that is described, and this peer is not among its writers, it has no part of it.
void SeriesBook::Entry::withdraw(channel::PeerId peer) {
  const bool has_part = writers.erase(peer) > 0 || writers.empty() || !described;
  failed = failed || has_part;
}

bool SeriesBook::Entry::end_if_unwritten(std::uint64_t now_ns) {
  if (!writers.empty() || is_void() || std::exchange(record.closed, true)) {
    return false;
  }
  ended_ns = now_ns;
  return true;
}

void SeriesBook::Entry::note_opened(const Reader& reader) {
  const auto found = required.find(reader.program);
  if (found != required.end() && reader.openers.count != not_opened) {
    found->second.has_come = true;
    found->second.openers.opened(reader.peer, reader.openers);
  }
}

std::vector<channel::PeerId> SeriesBook::Entry::reading() const {
  std::vector<channel::PeerId> peers;
  peers.reserve(readers.size());
  for (const auto& [peer, reader] : readers) {
    peers.push_back(peer);
  }
  return peers;
}

void SeriesBook::Entry::end_if_unwritten(std::uint64_t now_ns, std::vector<Change>& changes) {
  if (end_if_unwritten(now_ns)) {
    changes.push_back({record.name, reading()});
  }
}

HubEvent SeriesBook::Entry::note() const {
  HubEvent event{.name = "register", .series = record.name};
  event.entry.creation = record.creation;
  event.entry.incarnation = record.incarnation;
  event.entry.failed = failed;
  event.entry.closed_by_one = closed_by_one;
  event.entry.writers_are_known = described || remembered;
  event.entry.writers = writers;
  return event;
}

HubEvent SeriesBook::Entry::note_of(channel::PeerId peer) const {
  HubEvent event{.name = "writer", .peer = peer, .series = record.name};
  event.entry.creation = record.creation;
  event.entry.failed = failed;
  event.entry.closed_by_one = closed_by_one;
  event.entry.writers_are_known = described || remembered;
  if (writers.contains(peer)) {
    event.entry.writers.insert(peer);
  }
  return event;
}

SeriesBook::Entry* SeriesBook::find_creation(const std::string& name, std::uint64_t creation) {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.record.creation == creation ? &found->second : nullptr;
}

void SeriesBook::remember(const std::string& name, const std::string& program, const EarlierSeries& earlier) {
  const auto [place, fresh] = entries_.try_emplace(name);
  if (!fresh) {
    return;
  }
  auto& entry = place->second;
  entry.record.name = name;
  entry.record.program = program;
  entry.record.creation = earlier.creation;
  entry.record.incarnation = earlier.incarnation;
  entry.remembered = earlier.writers_are_known;
  entry.failed = earlier.failed;
  entry.closed_by_one = earlier.closed_by_one;
  entry.writers = earlier.writers;
}

// ---- announcing and finding

Result<SeriesRecord> SeriesBook::announce(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                                          const std::function<bool(const SeriesPart&)>& lives) {
  const auto found = entries_.find(record.name);
  const bool is_known = found != entries_.end() && found->second.record.creation == record.creation;
  if (found == entries_.end() && entries_.size() >= most_series) {
    return fail(Code::limit, "series '{}': the universe has {} series already, the most that are possible", record.name,
                most_series);
  }
  if (found != entries_.end() && !is_known) {
    const auto new_writers = writers_in(record);
    for (const auto writer : found->second.writers) {
      if (creations_.has_withdrawn(writer, record.creation)) {
        return fail(Code::exists, "series '{}': universe rank {} has withdrawn from its creation", record.name, writer);
      }
      if (!new_writers.contains(writer)) {
        return fail(Code::exists, "series '{}' is being written by program '{}' (universe rank {})", record.name,
                    found->second.record.program, writer);
      }
    }
  }
  auto& entry = entries_[record.name];
  if (!is_known) {
    // An old claim may be all that a hub that was started again knows of the name.
    const auto incarnation = std::max(found != entries_.end() ? entry.record.incarnation + 1 : 0, first_incarnation_);
    entry.renew();
    entry.record.incarnation = incarnation;
  }
  entry.describe(record, std::move(description));
  entry.ended_ns = 0;
  for (const auto& part : record.parts) {
    const bool has_ended = entry.remembered && !creations_.takes_part(part.writer, record.name, record.creation);
    if (creations_.has_withdrawn(part.writer, record.creation) || !lives(part)) {
      entry.writers.erase(part.writer);
      entry.failed = true;
    } else if (!has_ended) {
      entry.writers.insert(part.writer);
    }
  }
  notes_.push_back(entry.note());
  const auto announced = entry.record;
  entry.end_if_unwritten(0);
  return announced;
}

const SeriesBook::Stored* SeriesBook::find(const std::string& name, std::int64_t newer_than) const {
  const auto found = entries_.find(name);
  if (found == entries_.end() || !found->second.described || found->second.is_void()) {
    return nullptr;
  }
  const bool fits = newer_than < 0 || found->second.record.incarnation > static_cast<std::uint64_t>(newer_than);
  return fits ? &found->second : nullptr;
}

bool SeriesBook::is_awaited(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return false;
  }
  const auto& entry = found->second;
  return !entry.described && !entry.is_void() && (entry.recalled || !entry.writers.empty());
}

// ---- members that come back

Result<bool> SeriesBook::claim(channel::PeerId peer, const std::string& program, const SeriesClaim& claim) {
  const bool fresh = !entries_.contains(claim.name);
  if (fresh && entries_.size() >= most_series) {
    return fail(Code::limit, "series '{}': the universe has {} series already, the most that are possible", claim.name,
                most_series);
  }
  auto& entry = entries_[claim.name];
  const bool is_known = !fresh && claim.creation == entry.record.creation;
  if (fresh || (!is_known && claim.incarnation > entry.record.incarnation)) {
    entry.renew();
    entry.record.name = claim.name;
    entry.record.creation = claim.creation;
    entry.record.incarnation = claim.incarnation;
    notes_.push_back(entry.note());
  }
  const bool newest = claim.creation == entry.record.creation;
  if (newest) {
    // Two hubs may have given one creation two incarnations, if the first one has died before it answered.
    entry.record.incarnation = std::max(entry.record.incarnation, claim.incarnation);
  }
  if (newest && claim.closed && !std::exchange(entry.closed_by_one, true)) {
    notes_.push_back(entry.note_of(peer));
  }
  if (newest && claim.writes) {
    entry.add_writer(peer);
    entry.record.program = program;
    notes_.push_back(entry.note_of(peer));  // also if it was a writer: an earlier life of the rank may have been meant
  }
  if (claim.opened > 0) {
    entry.readers[peer] = {peer, program, static_cast<int>(std::min<std::uint32_t>(claim.opened, INT32_MAX)),
                           newest ? claim.openers : OpenerRanks(not_opened)};
    entry.note_opened(entry.readers[peer]);
  } else if (newest && claim.openers.count != not_opened) {
    entry.former_readers[peer] = {peer, program, 0, claim.openers};
    entry.note_opened(entry.former_readers[peer]);
  }
  const bool recall = newest && !entry.described && !entry.is_void() && claim.has_record;
  entry.recalled = entry.recalled || recall;
  return recall;
}

std::vector<SeriesBook::Change> SeriesBook::rejoined(channel::PeerId peer, const std::string& program,
                                                     const RejoinMessage& message, std::uint64_t now_ns) {
  creations_.rejoined(peer, message);
  std::set<std::uint64_t> written;
  for (const auto& claim : message.series) {
    if (claim.writes) {
      written.insert(claim.creation);
    }
  }
  std::vector<Change> changes;
  for (auto& [name, entry] : entries_) {
    const bool wrote = entry.writers.contains(peer);
    const bool had_failed = entry.failed;
    const bool takes_part = creations_.takes_part(peer, name, entry.record.creation);
    if (creations_.has_withdrawn(peer, entry.record.creation)) {
      entry.withdraw(peer);
    } else if (takes_part) {
      entry.add_writer(peer);
      entry.record.program = program;
    } else if (!written.contains(entry.record.creation)) {
      entry.writers.erase(peer);
    }
    if (takes_part || wrote != entry.writers.contains(peer) || had_failed != entry.failed) {
      notes_.push_back(entry.note_of(peer));
    }
    if (entry.described) {  // it may have claimed just now that it has closed the series
      entry.end_if_unwritten(now_ns, changes);
    }
  }
  return changes;
}

void SeriesBook::describe(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                          const std::function<bool(const SeriesPart&)>& may_come, std::uint64_t now_ns) {
  auto* const entry = find_creation(record.name, record.creation);
  if (entry == nullptr || entry->described) {
    return;
  }
  entry->describe(record, std::move(description));
  for (const auto& part : record.parts) {
    if (creations_.has_withdrawn(part.writer, record.creation)) {
      entry->writers.erase(part.writer);
      entry->failed = true;
    } else if (!entry->remembered &&
               (creations_.takes_part(part.writer, record.name, record.creation) || may_come(part))) {
      entry->writers.insert(part.writer);
    }
  }
  notes_.push_back(entry->note());
  entry->end_if_unwritten(now_ns);
}

// ---- writers and readers

Status SeriesBook::creating(channel::PeerId peer, const std::string& program, const std::string& name,
                            std::uint64_t creation) {
  COUPLET_TRY(creations_.begins(peer, name, creation));
  if (auto* const entry = find_creation(name, creation); entry != nullptr) {
    entry->add_writer(peer);
    entry->record.program = program;
    notes_.push_back(entry->note_of(peer));
  }
  return {};
}

std::vector<SeriesBook::Change> SeriesBook::writer_closed(channel::PeerId peer, const std::string& name,
                                                          std::uint64_t creation, std::uint64_t now_ns) {
  std::vector<Change> changes;
  creations_.ends(peer, name, creation);
  if (auto* const entry = find_creation(name, creation); entry != nullptr) {
    entry->closed_by_one = true;
    entry->writers.erase(peer);
    notes_.push_back(entry->note_of(peer));
    entry->end_if_unwritten(now_ns, changes);
  }
  return changes;
}

std::vector<SeriesBook::Change> SeriesBook::withdraw(channel::PeerId peer, const std::string& name,
                                                     std::uint64_t creation, std::uint64_t now_ns) {
  std::vector<Change> changes;
  creations_.ends(peer, name, creation);
  creations_.withdraws(peer, creation);
  if (auto* const entry = find_creation(name, creation); entry != nullptr) {
    entry->withdraw(peer);
    notes_.push_back(entry->note_of(peer));
    entry->end_if_unwritten(now_ns, changes);
  }
  return changes;
}

std::vector<SeriesBook::Change> SeriesBook::newly_opened(const std::string& name, const Living& living) {
  std::vector<Change> changes;
  for (auto& [own_name, entry] : entries_) {
    if (!name.empty() && own_name != name) {
      continue;
    }
    bool news = false;
    for (auto& [program, required] : entry.required) {
      if (!required.told && required.openers.all_opened(living.count(program), living.may_open)) {
        required.told = true;
        news = true;
      }
    }
    if (news) {
      changes.push_back({own_name, {entry.writers.begin(), entry.writers.end()}});
    }
  }
  return changes;
}

std::vector<std::string> SeriesBook::opened(const std::string& name) const {
  std::vector<std::string> programs;
  if (const auto found = entries_.find(name); found != entries_.end()) {
    for (const auto& [program, required] : found->second.required) {
      if (required.told) {
        programs.push_back(program);
      }
    }
  }
  return programs;
}

Status SeriesBook::reader_opened(channel::PeerId peer, const std::string& program, const std::string& name,
                                 const Opening& opening) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return fail(Code::not_found, "there is no series '{}'", name);
  }
  auto& reader = found->second.readers[peer];
  reader.peer = peer;
  reader.program = program;
  ++reader.opened;
  if (opening.creation == found->second.record.creation) {
    reader.openers = opening.openers;
    found->second.note_opened(reader);
  }
  return {};
}

Status SeriesBook::reader_closed(channel::PeerId peer, const std::string& name) {
  const auto found = entries_.find(name);
  const bool known = found != entries_.end() && found->second.readers.contains(peer);
  if (!known) {
    return fail(Code::not_found, "universe rank {} does not have series '{}' open", peer, name);
  }
  const auto reader = found->second.readers.find(peer);
  if (--reader->second.opened == 0) {
    if (!found->second.described && reader->second.openers.count != not_opened) {
      found->second.former_readers[peer] = reader->second;  // the description says which programs are required
    }
    found->second.readers.erase(reader);
  }
  return {};
}

void SeriesBook::forget_reader(channel::PeerId peer) {
  for (auto& [name, entry] : entries_) {
    entry.readers.erase(peer);
    entry.former_readers.erase(peer);
  }
}

std::vector<SeriesBook::Change> SeriesBook::peer_gone(channel::PeerId peer, std::uint64_t now_ns) {
  std::vector<Change> changes;
  creations_.gone(peer);
  for (auto& [name, entry] : entries_) {
    entry.readers.erase(peer);
    entry.former_readers.erase(peer);
    for (auto& [program, required] : entry.required) {
      required.openers.gone(peer);
    }
    if (entry.writers.erase(peer) > 0) {
      entry.end_if_unwritten(now_ns, changes);
    }
  }
  return changes;
}

void SeriesBook::program_gone(const std::string& program) {
  for (auto& [name, entry] : entries_) {
    if (const auto required = entry.required.find(program); required != entry.required.end()) {
      required->second.has_come = true;
    }
  }
}

bool SeriesBook::finished() const {
  return std::all_of(entries_.begin(), entries_.end(), [](const auto& item) {
    const auto& entry = item.second;
    if (entry.is_void()) {
      return true;
    }
    const auto done = [&](const auto& required) {
      return required.second.has_come &&
             std::none_of(entry.readers.begin(), entry.readers.end(),
                          [&](const auto& reader) { return reader.second.program == required.first; });
    };
    return entry.writers.empty() && std::all_of(entry.required.begin(), entry.required.end(), done);
  });
}

std::uint64_t SeriesBook::lingers_until_ns() const {
  std::uint64_t until = 0;
  for (const auto& [name, entry] : entries_) {
    if (const auto linger = linger_ns(entry.record.linger_s); linger > 0 && !entry.is_void()) {
      until = std::max(until, entry.ended_ns + linger);
    }
  }
  return until;
}

std::vector<channel::PeerId> SeriesBook::peers_of(const std::string& name, Use use) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return {};
  }
  const auto& writers = found->second.writers;
  return use == Use::reads ? found->second.reading() : std::vector<channel::PeerId>(writers.begin(), writers.end());
}

bool SeriesBook::reads(channel::PeerId peer) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& item) { return item.second.readers.contains(peer); });
}

std::vector<const SeriesRecord*> SeriesBook::used_by(channel::PeerId peer) const {
  std::vector<const SeriesRecord*> records;
  for (const auto& [name, entry] : entries_) {
    if (entry.readers.contains(peer) || entry.writers.contains(peer)) {
      records.push_back(&entry.record);
    }
  }
  return records;
}

std::vector<std::string> SeriesBook::awaited() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) {
    for (const auto& [program, required] : entry.required) {
      if (!required.has_come && !entry.is_void()) {
        names.push_back(fmt::format("program '{}' (series '{}')", program, name));
      }
    }
  }
  return names;
}

}  // namespace couplet::universe
