// Waiting for holders: finds the readers that block the next slot; releases those that are dead, evicts those that have
// held the writer up for too long, and reports required readers that are overdue.
#include <algorithm>
#include <utility>

#include "base/counted.hpp"
#include "series/slot_protocol.hpp"
#include "series/writer.hpp"

namespace couplet::series {

using wire::ReaderState;

namespace {
constexpr std::uint64_t examination_interval_ns = 20'000'000;
constexpr std::uint64_t window_interval_ns = 500'000;  // readers on other nodes cannot wake the writer
constexpr std::uint64_t window_nap_ns = 50'000;
// How long a reader that was opening when the hub was last heard may still need, besides the time for which calls wait
// for a hub.
constexpr std::uint64_t half_open_ns = 500'000'000;
}  // namespace

std::string Writer::required_name(std::uint64_t hash) const {
  for (const auto& name : settings_.required_readers) {
    if (name_hash(name) == hash) {
      return name;
    }
  }
  return "?";
}

std::string Writer::describe_blocker(std::uint32_t index) const {
  const auto& entry = file_->readers()[index];
  const Owner owner = owner_of(entry);
  if (owner.state == ReaderState::reserved) {
    return fmt::format("required reader program '{}' has not opened it", required_name(entry.program.load()));
  }
  return fmt::format("{} holds it and has read {} of {}", environment_.peer_name(owner.peer), consumed_of(entry),
                     counted(ordinal_, "step"));
}

// The hub keeps the set of ranks that have opened the series, and tells this process when all have.
bool Writer::has_opened(const wire::SeriesReaderEntry& reservation) const {
  const auto& geometry = file_->geometry();
  const auto news = environment_.registry().news(geometry.name);
  const std::uint64_t incarnation = file_->control().claimed.incarnation.load(std::memory_order_relaxed);
  const std::uint64_t program = reservation.program.load(std::memory_order_relaxed);
  return news.incarnation == static_cast<std::int64_t>(incarnation) &&
         std::any_of(news.opened.begin(), news.opened.end(),
                     [&](const std::string& name) { return name_hash(name) == program; });
}

Status Writer::examine_reservation(wire::SeriesReaderEntry& entry) {
  const Owner seen = owner_of(entry);
  // A caller that never waits has not received the messages of the hub yet.
  if (const auto heard = environment_.between_slices(); !heard) {
    return heard.status();
  }
  if (has_opened(entry)) {
    static_cast<void>(replace_owner(entry, seen, 0));
    return {};
  }
  const std::string name = required_name(entry.program.load(std::memory_order_relaxed));
  const Status known = environment_.program_alive(name);
  if (known.code() == Code::peer_lost) {  // it has ended without opening the series: no steps are kept for it
    static_cast<void>(replace_owner(entry, seen, 0));
    return {};
  }
  const std::uint64_t now = os::now_ns();
  if (known.code() != Code::hub_lost) {
    hub_missed_ = {};
  } else {
    hub_missed_.look(now);
    if (hub_missed_.total_ns() >= half_open_ns) {
      static_cast<void>(replace_owner(entry, seen, 0));
      return fail(Code::hub_lost, "required reader program '{}' has not opened series '{}', and never will: {}", name,
                  file_->geometry().name, known.text());
    }
  }
  if (now < settings_.required_deadline_ns) {
    return {};
  }
  static_cast<void>(replace_owner(entry, seen, 0));
  return fail(
      Code::timeout,
      "required reader program '{}' has not opened series '{}' within {} s; from now on its steps are not kept for it",
      name, file_->geometry().name, settings_.required_timeout_s);
}

// Returns for how long the entry's owner has blocked the slot for which the writer waits now.
std::uint64_t Writer::held_up_ns(std::uint32_t index, const Owner& owner, std::uint64_t now_ns) {
  held_up_.resize(file_->reader_entries());
  HeldUp& known = held_up_[index];
  if (known.owner != pack(owner) || known.ordinal != ordinal_) {
    known = {pack(owner), ordinal_, now_ns};
  }
  return now_ns - known.since_ns;
}

Status Writer::examine_blocker(std::uint32_t index) {
  auto& entry = file_->readers()[index];
  const Owner seen = owner_of(entry);
  if (seen.state == ReaderState::reserved) {
    return examine_reservation(entry);
  }
  if (seen.state != ReaderState::holding) {
    return {};
  }
  if (!environment_.alive(seen.peer, seen.incarnation).ok()) {
    static_cast<void>(replace_owner(entry, seen, 0));
    return {};
  }
  const std::uint64_t held_ns = held_up_ns(index, seen, os::now_ns());
  if (settings_.evict_after_held_s >= 0 && static_cast<double>(held_ns) * 1e-9 >= settings_.evict_after_held_s) {
    Owner evicted = seen;
    evicted.state = ReaderState::evicted;
    static_cast<void>(replace_owner(entry, seen, pack(evicted)));
  }
  return {};
}

// Examines all blockers, so that the time of each counts from the moment at which it began to block, and not from the
// moment at which the blocker before it was released.
Status Writer::examine_blockers(std::uint64_t needed) {
  const auto find = [&](std::uint32_t from) {
    return find_blocker(file_->control(), file_->readers(), file_->reader_entries(), needed, from);
  };
  for (int index = find(0); index >= 0; index = find(static_cast<std::uint32_t>(index) + 1)) {
    COUPLET_TRY(examine_blocker(static_cast<std::uint32_t>(index)));
  }
  return {};
}

std::string Writer::name_of(const Blocker& blocker) const {
  const Owner owner = unpack(blocker.owner);
  if (blocker.owner == 0) {
    return {};
  }
  return owner.state == ReaderState::reserved
             ? fmt::format("required reader program '{}'", required_name(blocker.program))
             : environment_.peer_name(owner.peer);
}

std::int32_t rank_of(const Blocker& blocker) {
  const Owner owner = unpack(blocker.owner);
  return blocker.owner == 0 || owner.state == ReaderState::reserved ? -1 : static_cast<std::int32_t>(owner.peer);
}

void Writer::note_wait(const Blocker& blocker, std::uint64_t waited_ns) {
  ++waits_.count;
  waits_.total_ns += waited_ns;
  waits_.last_ns = waited_ns;
  waits_.last = blocker;
  auto& counts = file_->control().counts;
  if (waited_ns >= waits_.longest_ns) {
    waits_.longest_ns = waited_ns;
    waits_.longest = blocker;
    counts.longest_ns.store(waited_ns, std::memory_order_relaxed);
    counts.longest_for.store(blocker.owner, std::memory_order_relaxed);
    counts.longest_program.store(blocker.program, std::memory_order_relaxed);
  }
  counts.waits.store(waits_.count, std::memory_order_relaxed);
}

Status Writer::wait_for_holders(std::int64_t step, std::uint64_t deadline_ns) {
  auto& control = file_->control();
  auto* const entries = file_->readers();
  const std::uint32_t entry_count = file_->reader_entries();
  const std::uint64_t needed = ordinal_ - file_->slots() + 1;
  Waiting waiting(environment_, deadline_ns);
  Status status;
  Blocker last;  // the reader for which the writer waited last
  while (status.ok()) {
    const int blocker = try_claim(control, entries, entry_count, ordinal_, file_->slots());
    if (blocker < 0) {
      break;
    }
    const auto index = static_cast<std::uint32_t>(blocker);
    last = {entries[index].owner.load(std::memory_order_relaxed),
            entries[index].program.load(std::memory_order_relaxed)};
    const std::uint64_t now = os::now_ns();
    if (unpack(last.owner).state == ReaderState::reserved && has_opened(entries[index])) {
      static_cast<void>(replace_owner(entries[index], unpack(last.owner), 0));
    } else if (now >= next_examination_ns_) {
      // This is done even if the caller never waits: otherwise a dead holder would block it for ever.
      next_examination_ns_ = now + (settings_.far_entries > 0 ? window_interval_ns : examination_interval_ns);
      status = examine_blockers(needed);
    } else if (waiting.over()) {
      status = waiting.interrupted() ? Status(Code::interrupted)
               : settings_.wait_timeout_s == 0
                   ? Status(Code::full)
                   : fail(Code::timeout, "series '{}' step {}: no slot was free within {} s: {}",
                          file_->geometry().name, step, settings_.wait_timeout_s, describe_blocker(index));
    } else if (!waiting.spin()) {
      if (const auto word = prepare_writer_sleep(control, entries, entry_count, needed)) {
        const std::uint64_t look_ns = settings_.far_entries > 0 ? now + window_nap_ns : os::never;
        status = waiting.sleep(control.released.word, *word, std::min(settings_.required_deadline_ns, look_ns));
      }
    }
  }
  control.released.wanted.store(0, std::memory_order_relaxed);
  const std::uint64_t waited_ns = waiting.waited_ns();
  statistics_.held_ns += waited_ns;
  if (last.owner != 0 && status.code() != Code::full) {
    note_wait(last, waited_ns);
  }
  return status;
}

}  // namespace couplet::series
