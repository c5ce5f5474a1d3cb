#include "universe/hub/series_book.hpp"

#include <algorithm>
#include <limits>

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

// Adds a peer to the writers, unless it has withdrawn from that creation.
void add_writer(auto& entry, channel::PeerId peer, const auto& withdrawals) {
  const auto of_peer = withdrawals.find(peer);
  if (of_peer != withdrawals.end() && contains(of_peer->second, entry.record.creation)) {
    entry.lacks_a_writer = true;
  } else {
    entry.writers.insert(peer);
  }
}

}  // namespace

Result<SeriesRecord> SeriesBook::announce(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                                          const Announcer& announcer) {
  const auto found = entries_.find(record.name);
  if (found != entries_.end() && found->second.announced && found->second.announcer == announcer &&
      found->second.writers.contains(announcer.peer)) {
    return found->second.record;  // it asks again, since its connection broke before it had the answer
  }
  // A rank that takes part in a new creation does not write the old series: WriterCreation::prepare() refuses that. Its
  // withdrawal may still be on its way.
  const auto may_write = [&](const Entry& entry) {
    const bool has_failed = entry.announcer_gone || entry.lacks_a_writer;
    return std::any_of(entry.writers.begin(), entry.writers.end(),
                       [&](channel::PeerId writer) { return !has_failed || !has_part_of(record, writer); });
  };
  // Known already: a reader has described it to this hub, which was started again before the first rank had its answer.
  const bool is_known =
      found != entries_.end() && record.creation != 0 && found->second.record.creation == record.creation;
  if (found != entries_.end() && !is_known && may_write(found->second)) {
    return fail(Code::exists, "series '{}' is being written by program '{}' (universe rank {})", record.name,
                found->second.record.program, *found->second.writers.begin());
  }
  if (found == entries_.end() && entries_.size() >= most_series) {
    return fail(Code::limit, "series '{}': the universe has {} series already, the most that are possible", record.name,
                most_series);
  }
  const bool again = found != entries_.end();
  auto& entry = entries_[record.name];
  const auto incarnation = is_known ? entry.record.incarnation
                           : again  ? entry.record.incarnation + 1
                                    : first_incarnation_;
  entry.record = record;
  entry.record.parts.clear();
  entry.record.incarnation = incarnation;
  entry.record.closed = false;
  entry.description = std::move(description);
  entry.described = entry.announced = true;
  entry.announcer = announcer;
  entry.announcer_gone = entry.lacks_a_writer = entry.has_closed = false;
  entry.ended_ns = 0;
  entry.writers.clear();
  for (const auto& part : record.parts) {
    add_writer(entry, part.writer, withdrawals_);
  }
  require(entry);
  if (!is_known) {
    forget_openings(entry);
  }
  const auto announced = entry.record;
  end_if_unwritten(entry, 0);
  return announced;
}

void SeriesBook::require(Entry& entry) {
  entry.required.clear();
  for (const auto& program : entry.record.required_readers) {
    entry.required.emplace(program, Required{});
  }
}

// The name has a newer incarnation, which no program has opened yet.
void SeriesBook::forget_openings(Entry& entry) {
  for (auto& [peer, reader] : entry.readers) {
    reader.openers = not_opened;
  }
  entry.former_readers.clear();
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
    entry.record = {};
    entry.record.name = claim.name;
    entry.record.incarnation = claim.incarnation;
    entry.description = nullptr;
    entry.described = entry.announced = false;
    entry.announcer_gone = entry.lacks_a_writer = entry.has_closed = false;
    entry.writers.clear();
    forget_openings(entry);
  }
  const bool newest = claim.incarnation == entry.record.incarnation;
  if (claim.writes && newest) {
    entry.writers.insert(peer);
  }
  if (claim.opened > 0) {
    entry.readers[peer] = {peer, program, static_cast<int>(std::min<std::uint32_t>(claim.opened, INT32_MAX)),
                           newest ? claim.openers : OpenerRanks(not_opened)};
    note_opened(entry, entry.readers[peer]);
  } else if (newest && claim.openers.count != not_opened) {
    entry.former_readers[peer] = {peer, program, 0, claim.openers};
    note_opened(entry, entry.former_readers[peer]);
  }
  return newest && !entry.described && !entry.announced && claim.has_record;
}

void SeriesBook::describe(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                          const std::function<bool(channel::PeerId)>& may_write, std::uint64_t now_ns) {
  const auto found = entries_.find(record.name);
  if (found == entries_.end() || found->second.described || found->second.record.incarnation != record.incarnation) {
    return;
  }
  auto& entry = found->second;
  entry.record = record;
  entry.record.parts.clear();
  entry.description = std::move(description);
  entry.described = true;
  for (const auto& part : record.parts) {
    if (may_write(part.writer)) {
      add_writer(entry, part.writer, withdrawals_);
    }
  }
  require(entry);
  for (const auto* readers : {&entry.readers, &entry.former_readers}) {
    for (const auto& [peer, reader] : *readers) {
      note_opened(entry, reader);
    }
  }
  entry.record.closed = false;
  end_if_unwritten(entry, now_ns);
}

std::vector<SeriesBook::Change> SeriesBook::claimed_all(channel::PeerId peer, const std::set<std::string>& written,
                                                        std::uint64_t now_ns) {
  std::vector<Change> changes;
  for (auto& [name, entry] : entries_) {
    const bool over = !entry.announced && !written.contains(name);
    if (over && entry.writers.erase(peer) > 0 && end_if_unwritten(entry, now_ns)) {
      changes.push_back({name, readers_of(entry)});
    }
  }
  return changes;
}

// ---- writers and readers

// If a creation has failed, there is nothing to read. The entry is kept for its incarnation: the next one will be above
// it.
bool SeriesBook::end_if_unwritten(Entry& entry, std::uint64_t now_ns) {
  if (!entry.writers.empty()) {
    return false;
  }
  if (!entry.lacks_a_writer || entry.has_closed) {
    entry.record.closed = true;
    entry.ended_ns = now_ns;
    return true;
  }
  entry.required.clear();
  entry.record.linger_s = 0;
  entry.description = nullptr;
  entry.described = false;
  return false;
}

Result<std::vector<SeriesBook::Change>> SeriesBook::writer_closed(channel::PeerId peer, const std::string& name,
                                                                  std::uint64_t now_ns) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.writers.erase(peer) == 0) {
    return fail(Code::not_found, "universe rank {} does not write series '{}'", peer, name);
  }
  found->second.has_closed = true;
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
  const bool wrote = entry.writers.erase(peer) > 0;
  const bool is_news =
      wrote || !entry.lacks_a_writer;  // a reader may have described it to a hub that was started again
  entry.lacks_a_writer = true;
  std::vector<Change> changes;
  if (is_news && end_if_unwritten(entry, now_ns)) {
    changes.push_back({name, readers_of(entry)});
  }
  return changes;
}

// The others have not heard of its success, and have closed nothing, so that the time does not matter.
void SeriesBook::withdraw(const Announcer& announcer) {
  for (const auto& [name, entry] : entries_) {
    if (entry.announced && entry.announcer == announcer) {
      static_cast<void>(withdraw(announcer.peer, name, entry.record.creation, 0));  // it may have ended by now
    }
  }
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
    const bool wrote = entry.writers.erase(peer) > 0;
    entry.announcer_gone = entry.announcer_gone || (wrote && entry.announced && entry.announcer.peer == peer);
    if (wrote && end_if_unwritten(entry, now_ns)) {
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
    return entry.writers.empty() && std::all_of(entry.required.begin(), entry.required.end(), done);
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
      if (!required.has_come) {
        names.push_back(fmt::format("program '{}' (series '{}')", program, name));
      }
    }
  }
  return names;
}

}  // namespace couplet::universe
