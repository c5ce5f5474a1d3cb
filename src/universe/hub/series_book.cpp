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

bool SeriesBook::Entry::has_writer(WriterState state) const {
  return std::any_of(writers.begin(), writers.end(), [state](const auto& item) { return item.second.state == state; });
}

std::vector<channel::PeerId> SeriesBook::Entry::writing() const {
  std::vector<channel::PeerId> peers;
  for (const auto& [peer, writer] : writers) {
    if (writer.state == WriterState::writes) {
      peers.push_back(peer);
    }
  }
  return peers;
}

bool SeriesBook::Entry::is_written_by(channel::PeerId peer) const {
  const auto found = writers.find(peer);
  return found != writers.end() && found->second.state == WriterState::writes;
}

bool SeriesBook::Entry::end_writing(channel::PeerId peer, WriterState state) {
  if (!is_written_by(peer)) {
    return false;
  }
  writers[peer].state = state;
  return true;
}

bool SeriesBook::Entry::may_have_failed() const {
  const auto first = announcer ? writers.find(*announcer) : writers.end();
  const bool announcer_is_gone = first != writers.end() && first->second.state == WriterState::gone;
  return announcer_is_gone || has_writer(WriterState::withdrawn);
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
  entry.writers.clear();
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
    for (const auto writer : found->second.writing()) {
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
    const auto incarnation = again ? entry.record.incarnation + 1 : first_incarnation_;
    renew(entry);
    entry.record.incarnation = incarnation;
  }
  describe(entry, record, std::move(description));
  for (auto& [program, required] : entry.required) {
    required.told = false;  // a rank that has not claimed the series was not told
  }
  entry.announcer = announcer;
  entry.ended_ns = 0;
  for (const auto& part : record.parts) {
    auto& writer = entry.writers[part.writer];
    writer.incarnation = part.writer_incarnation;
    const bool failed = has_withdrawn(part.writer, record.creation) || !lives(part);
    if (writer.state == WriterState::writes || writer.state == WriterState::gone) {
      writer.state = failed ? WriterState::withdrawn : WriterState::writes;
    }
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
  if (newest && (claim.writes || claim.closed)) {
    entry.writers[peer].state = claim.writes ? WriterState::writes : WriterState::closed;
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
                          const std::function<bool(channel::PeerId)>& may_write, std::uint64_t now_ns) {
  const auto found = entries_.find(record.name);
  if (found == entries_.end() || found->second.described || found->second.record.incarnation != record.incarnation) {
    return;
  }
  auto& entry = found->second;
  describe(entry, record, std::move(description));
  for (const auto& part : record.parts) {
    const auto [place, is_new] = entry.writers.try_emplace(part.writer);
    auto& writer = place->second;
    writer.incarnation = part.writer_incarnation;
    if (has_withdrawn(part.writer, record.creation)) {
      writer.state = WriterState::withdrawn;
    } else if (is_new && may_write(part.writer)) {
      writer.state = WriterState::writes;
    }
  }
  end_if_unwritten(entry, now_ns);
}

std::vector<SeriesBook::Change> SeriesBook::claimed_all(channel::PeerId peer, std::uint16_t incarnation,
                                                        const std::set<std::string>& written, std::uint64_t now_ns) {
  std::vector<Change> changes;
  for (auto& [name, entry] : entries_) {
    const auto writer = entry.writers.find(peer);
    if (written.contains(name) || writer == entry.writers.end()) {
      continue;
    }
    const bool may_not_know = entry.announcer && writer->second.incarnation == incarnation;
    if (!may_not_know && entry.end_writing(peer, WriterState::gone) && end_if_unwritten(entry, now_ns)) {
      changes.push_back({name, readers_of(entry)});
    }
  }
  return changes;
}

// ---- writers and readers

// If a creation has failed, there is nothing to read. The entry is kept for its incarnation: the next one will be above
// it.
bool SeriesBook::end_if_unwritten(Entry& entry, std::uint64_t now_ns) {
  if (entry.has_writer(WriterState::writes)) {
    return false;
  }
  if (entry.has_writer(WriterState::withdrawn) && !entry.has_writer(WriterState::closed)) {
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
                                                                  std::uint64_t now_ns) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || !found->second.end_writing(peer, WriterState::closed)) {
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
  const auto writer = entry.writers.find(peer);
  if (writer == entry.writers.end()) {
    return fail(Code::not_found, "universe rank {} has no part of series '{}'", peer, name);
  }
  std::vector<Change> changes;
  if (writer->second.state == WriterState::closed) {
    return changes;
  }
  writer->second.state = WriterState::withdrawn;
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
      changes.push_back({own_name, entry.writing()});
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
  withdrawals_.erase(peer);
  for (auto& [name, entry] : entries_) {
    entry.readers.erase(peer);
    entry.former_readers.erase(peer);
    for (auto& [program, required] : entry.required) {
      required.openers.gone(peer);
    }
    if (entry.end_writing(peer, WriterState::gone) && end_if_unwritten(entry, now_ns)) {
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
    return !entry.has_writer(WriterState::writes) && std::all_of(entry.required.begin(), entry.required.end(), done);
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
    if (entry.readers.contains(peer) || entry.is_written_by(peer)) {
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
