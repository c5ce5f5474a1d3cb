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

constexpr std::size_t max_withdrawals_of_a_peer = 64;

bool has_part_of(const SeriesRecord& record, channel::PeerId writer) {
  return std::any_of(record.parts.begin(), record.parts.end(),
                     [writer](const SeriesPart& part) { return part.writer == writer; });
}

bool contains(const std::deque<std::uint64_t>& numbers, std::uint64_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

}  // namespace

void SeriesBook::Writers::set(channel::PeerId peer, WriterState state) {
  const auto [place, is_new] = ranks_.try_emplace(peer);
  if (!is_new) {
    --counts_[static_cast<std::size_t>(place->second.state)];
  }
  place->second.state = state;
  ++counts_[static_cast<std::size_t>(state)];
}

bool SeriesBook::Writers::end(channel::PeerId peer, WriterState state) {
  if (!writes(peer)) {
    return false;
  }
  set(peer, state);
  return true;
}

const SeriesBook::Writer* SeriesBook::Writers::find(channel::PeerId peer) const {
  const auto found = ranks_.find(peer);
  return found == ranks_.end() ? nullptr : &found->second;
}

bool SeriesBook::Writers::writes(channel::PeerId peer) const {
  const Writer* const found = find(peer);
  return found != nullptr && found->state == WriterState::writes;
}

std::vector<channel::PeerId> SeriesBook::Writers::writing() const {
  std::vector<channel::PeerId> peers;
  for (const auto& [peer, writer] : ranks_) {
    if (writer.state == WriterState::writes) {
      peers.push_back(peer);
    }
  }
  return peers;
}

bool SeriesBook::Entry::may_have_failed() const {
  const Writer* const first = announcer ? writers.find(*announcer) : nullptr;
  const bool announcer_is_gone = first != nullptr && first->state == WriterState::gone;
  return announcer_is_gone || writers.any(WriterState::withdrawn);
}

bool SeriesBook::has_withdrawn(channel::PeerId peer, std::uint64_t creation) const {
  const auto found = withdrawals_.find(peer);
  return found != withdrawals_.end() && contains(found->second, creation);
}

void SeriesBook::renew(Entry& entry) {
  entry.record = {};
  entry.description = nullptr;
  entry.described = false;
  entry.announcer.reset();
  entry.writers = {};
  for (auto& [peer, reader] : entry.readers) {
    reader.openers = not_opened;
  }
  entry.former_readers.clear();
  entry.required.clear();
  entry.ended_ns = 0;
}

void SeriesBook::describe(Entry& entry, const SeriesRecord& record, std::shared_ptr<const std::string> description) {
  const auto incarnation = entry.record.incarnation;
  entry.record = record;
  entry.record.parts.clear();
  entry.record.incarnation = incarnation;
  entry.record.closed = false;
  entry.description = std::move(description);
  if (std::exchange(entry.described, true)) {
    return;  // once more
  }
  for (const auto& program : entry.record.required_readers) {
    entry.required.emplace(program, Required{});
  }
  for (const auto* readers : {&entry.readers, &entry.former_readers}) {
    for (const auto& [peer, reader] : *readers) {
      note_opened(entry, reader);
    }
  }
}

Result<SeriesRecord> SeriesBook::announce(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                                          channel::PeerId announcer,
                                          const std::function<bool(const SeriesPart&)>& lives) {
  const auto found = entries_.find(record.name);
  // The announcer asks again, since its connection broke before it had the answer. The hub may have been started again
  // meanwhile, and know the series from a reader.
  const bool is_known =
      found != entries_.end() && record.creation != 0 && found->second.record.creation == record.creation;
  if (found != entries_.end() && !is_known) {
    // A rank that takes part in a new creation does not write an old series (WriterCreation::prepare). If that one has
    // failed, its ranks may count as writers nevertheless, since their withdrawals are on their way.
    const bool has_failed = found->second.may_have_failed();
    for (const auto writer : found->second.writers.writing()) {
      if (!has_failed || !has_part_of(record, writer)) {
        return fail(Code::exists, "series '{}' is being written by program '{}' (universe rank {})", record.name,
                    found->second.record.program, writer);
      }
    }
  }
  if (found == entries_.end() && entries_.size() >= most_series) {
    return fail(Code::limit, "series '{}': the universe has {} series already, the most that are possible", record.name,
                most_series);
  }
  const bool again = found != entries_.end();
  auto& entry = entries_[record.name];
  if (!is_known) {
    // An old claim may be all that a hub that was started again knows of the name.
    const auto incarnation = std::max(again ? entry.record.incarnation + 1 : 0, first_incarnation_);
    renew(entry);
    entry.record.incarnation = incarnation;
  }
  describe(entry, record, std::move(description));
  entry.announcer = announcer;
  entry.ended_ns = 0;
  for (const auto& part : record.parts) {
    const bool failed = has_withdrawn(part.writer, record.creation) || !lives(part);
    const Writer* const known = entry.writers.find(part.writer);
    if (known == nullptr || known->state == WriterState::writes || known->state == WriterState::gone) {
      entry.writers.set(part.writer, failed ? WriterState::withdrawn : WriterState::writes);
    }
    entry.writers.set_incarnation(part.writer, part.writer_incarnation);
  }
  const auto announced = entry.record;
  end_if_unwritten(entry, 0);
  return announced;
}

void SeriesBook::note_opened(Entry& entry, const Reader& reader) {
  const auto required = entry.required.find(reader.program);
  if (required != entry.required.end() && reader.openers.count != not_opened) {
    required->second.has_come = true;
    required->second.openers.opened(reader.peer, reader.openers);
  }
}

const SeriesBook::Stored* SeriesBook::find(const std::string& name, std::int64_t newer_than) const {
  const auto found = entries_.find(name);
  if (found == entries_.end() || !found->second.described) {
    return nullptr;
  }
  const bool fits = newer_than < 0 || found->second.record.incarnation > static_cast<std::uint64_t>(newer_than);
  return fits ? &found->second : nullptr;
}

// ---- after a restart of the hub

Result<bool> SeriesBook::claim(channel::PeerId peer, const std::string& program, const SeriesClaim& claim) {
  if (!entries_.contains(claim.name) && entries_.size() >= most_series) {
    return fail(Code::limit, "series '{}': the universe has {} series already, the most that are possible", claim.name,
                most_series);
  }
  const bool fresh = !entries_.contains(claim.name);
  auto& entry = entries_[claim.name];
  if (fresh || claim.incarnation > entry.record.incarnation) {
    renew(entry);
    entry.record.name = claim.name;
    entry.record.incarnation = claim.incarnation;
  }
  const bool newest = claim.incarnation == entry.record.incarnation;
  if (newest && !entry.described && claim.creation != 0) {
    entry.record.creation = claim.creation;
  }
  if (newest && (claim.writes || claim.closed)) {
    entry.writers.set(peer, claim.writes ? WriterState::writes : WriterState::closed);
    entry.record.closed = entry.record.closed && !claim.writes;
  }
  if (claim.opened > 0) {
    entry.readers[peer] = {peer, program, static_cast<int>(std::min<std::uint32_t>(claim.opened, INT32_MAX)),
                           newest ? claim.openers : OpenerRanks(not_opened)};
    note_opened(entry, entry.readers[peer]);
  } else if (newest && claim.openers.count != not_opened) {
    entry.former_readers[peer] = {peer, program, 0, claim.openers};
    note_opened(entry, entry.former_readers[peer]);
  }
  return newest && !entry.described && !entry.announcer && claim.has_record;
}

void SeriesBook::describe(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                          const std::function<bool(const SeriesPart&)>& may_come, std::uint64_t now_ns) {
  const auto found = entries_.find(record.name);
  if (found == entries_.end() || found->second.described || found->second.record.incarnation != record.incarnation) {
    return;
  }
  auto& entry = found->second;
  describe(entry, record, std::move(description));
  for (const auto& part : record.parts) {
    if (has_withdrawn(part.writer, record.creation)) {
      entry.writers.set(part.writer, WriterState::withdrawn);
    } else if (entry.writers.find(part.writer) == nullptr) {
      entry.writers.set(part.writer, may_come(part) ? WriterState::writes : WriterState::gone);
    }
    entry.writers.set_incarnation(part.writer, part.writer_incarnation);
  }
  end_if_unwritten(entry, now_ns);
}

std::vector<SeriesBook::Change> SeriesBook::claimed_all(channel::PeerId peer, std::uint16_t incarnation,
                                                        const std::set<std::string>& written, std::uint64_t now_ns) {
  std::vector<Change> changes;
  for (auto& [name, entry] : entries_) {
    const Writer* const writer = entry.writers.find(peer);
    if (written.contains(name) || writer == nullptr) {
      continue;
    }
    const bool may_not_know = entry.announcer && writer->incarnation == incarnation;
    if (!may_not_know) {
      entry.writers.end(peer, WriterState::gone);
    }
    // It may have claimed just now that it has closed the series.
    if (entry.described && end_if_unwritten(entry, now_ns)) {
      changes.push_back({name, readers_of(entry)});
    }
  }
  return changes;
}

// ---- writers and readers

// If a creation has failed, there is nothing to read. The entry is kept for its incarnation: the next one will be above
// it.
bool SeriesBook::end_if_unwritten(Entry& entry, std::uint64_t now_ns) {
  if (entry.writers.any(WriterState::writes)) {
    return false;
  }
  entry.writers.forget_ranks();
  if (entry.writers.any(WriterState::withdrawn) && !entry.writers.any(WriterState::closed)) {
    entry.required.clear();
    entry.record.linger_s = 0;
    entry.description = nullptr;
    entry.described = false;
    return false;
  }
  if (std::exchange(entry.record.closed, true)) {
    return false;
  }
  entry.ended_ns = now_ns;
  return true;
}

Result<std::vector<SeriesBook::Change>> SeriesBook::writer_closed(channel::PeerId peer, const std::string& name,
                                                                  std::uint64_t creation, std::uint64_t now_ns) {
  const auto found = entries_.find(name);
  const bool is_it = found != entries_.end() && found->second.record.creation == creation;
  if (!is_it || !found->second.writers.end(peer, WriterState::closed)) {
    return fail(Code::not_found, "universe rank {} does not write series '{}'", peer, name);
  }
  std::vector<Change> changes;
  if (end_if_unwritten(found->second, now_ns)) {
    changes.push_back({name, readers_of(found->second)});
  }
  return changes;
}

Result<std::vector<SeriesBook::Change>> SeriesBook::withdraw(channel::PeerId peer, const std::string& name,
                                                             std::uint64_t creation, std::uint64_t now_ns) {
  auto& withdrawals = withdrawals_[peer];
  if (!contains(withdrawals, creation)) {
    withdrawals.push_back(creation);
  }
  if (withdrawals.size() > max_withdrawals_of_a_peer) {
    withdrawals.pop_front();
  }
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.record.creation != creation) {
    return fail(Code::not_found, "there is no series '{}' of creation {:x}", name, creation);
  }
  auto& entry = found->second;
  const Writer* const writer = entry.writers.find(peer);
  if (writer == nullptr && entry.writers.any(WriterState::writes)) {
    return fail(Code::not_found, "universe rank {} has no part of series '{}'", peer, name);
  }
  std::vector<Change> changes;
  if (writer != nullptr && writer->state == WriterState::closed) {
    return changes;
  }
  entry.writers.set(peer, WriterState::withdrawn);
  if (end_if_unwritten(entry, now_ns)) {
    changes.push_back({name, readers_of(entry)});
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
      changes.push_back({own_name, entry.writers.writing()});
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
  if (opening.incarnation == found->second.record.incarnation) {
    reader.openers = opening.openers;
    note_opened(found->second, reader);
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
  for (auto& [name, entry] : entries_) {
    entry.readers.erase(peer);
    entry.former_readers.erase(peer);
    for (auto& [program, required] : entry.required) {
      required.openers.gone(peer);
    }
    if (entry.writers.end(peer, WriterState::gone) && end_if_unwritten(entry, now_ns)) {
      changes.push_back({name, readers_of(entry)});
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
    const auto done = [&](const auto& required) {
      return required.second.has_come &&
             std::none_of(entry.readers.begin(), entry.readers.end(),
                          [&](const auto& reader) { return reader.second.program == required.first; });
    };
    return !entry.writers.any(WriterState::writes) && std::all_of(entry.required.begin(), entry.required.end(), done);
  });
}

std::uint64_t SeriesBook::lingers_until_ns() const {
  std::uint64_t until = 0;
  for (const auto& [name, entry] : entries_) {
    if (const auto linger = linger_ns(entry.record.linger_s); linger > 0) {
      until = std::max(until, entry.ended_ns + linger);
    }
  }
  return until;
}

std::vector<channel::PeerId> SeriesBook::readers_of(const Entry& entry) {
  std::vector<channel::PeerId> readers;
  readers.reserve(entry.readers.size());
  for (const auto& [peer, reader] : entry.readers) {
    readers.push_back(peer);
  }
  return readers;
}

std::vector<channel::PeerId> SeriesBook::readers_of(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? std::vector<channel::PeerId>() : readers_of(found->second);
}

bool SeriesBook::reads(channel::PeerId peer) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& item) { return item.second.readers.contains(peer); });
}

std::vector<const SeriesRecord*> SeriesBook::used_by(channel::PeerId peer) const {
  std::vector<const SeriesRecord*> records;
  for (const auto& [name, entry] : entries_) {
    if (entry.readers.contains(peer) || entry.writers.writes(peer)) {
      records.push_back(&entry.record);
    }
  }
  return records;
}

std::vector<std::string> SeriesBook::awaited() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) {
    for (const auto& [program, required] : entry.required) {
      if (!required.has_come) {
        names.push_back(fmt::format("program '{}' (series '{}')", program, name));
      }
    }
  }
  return names;
}

}  // namespace couplet::universe
