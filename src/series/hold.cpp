#include "series/hold.hpp"

#include <algorithm>

#include "os/futex.hpp"

namespace couplet::series {

using wire::ReaderState;

namespace {

void wake_writer(SeriesFile& file, std::uint64_t consumed) {
  if (release_wakes(file.control().released, consumed)) {
    os::futex_wake(file.control().released.word);
  }
}

void free_the_dead(SeriesFile& file, const Lives& lives) {
  for (std::uint32_t index = 0; index < file.near_entries(); ++index) {
    auto& entry = file.readers()[index];
    const Owner seen = owner_of(entry);
    if (seen.state != ReaderState::free && seen.state != ReaderState::reserved && !lives(seen)) {
      static_cast<void>(replace_owner(entry, seen, 0));
    }
  }
}

}  // namespace

int find_reservation(const SeriesFile& file, std::uint64_t program) {
  const std::uint32_t used = file.control().released.entries_used.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < std::min(used, file.reader_entries()); ++index) {
    const auto& entry = file.readers()[index];
    if (owner_of(entry).state == ReaderState::reserved && entry.program.load(std::memory_order_relaxed) == program) {
      return static_cast<int>(index);
    }
  }
  return -1;
}

Hold take_hold_entry(SeriesFile& file, const Owner& owner, std::uint64_t program, const Lives& lives) {
  Hold hold = take_entry(file.control(), file.readers(), file.near_entries(), owner);
  if (!hold.taken()) {
    free_the_dead(file, lives);
    hold = take_entry(file.control(), file.readers(), file.near_entries(), owner);
  }
  if (hold.taken()) {
    auto& entry = file.readers()[hold.entry];
    entry.program.store(program, std::memory_order_relaxed);
    entry.subscription.store(0, std::memory_order_relaxed);
  }
  return hold;
}

std::uint64_t wanted_start(const SeriesFile& file, From from) {
  const std::uint64_t published = file.control().published.published.load(std::memory_order_acquire);
  const std::uint64_t oldest = std::min(
      oldest_retained(file.control().claimed.claimed.load(std::memory_order_acquire), file.slots()), published);
  switch (from) {
    case From::newest:
      return published > 0 ? std::max(published - 1, oldest) : 0;
    case From::next:
      return published;
    case From::oldest:
    case From::step:
      break;
  }
  return oldest;
}

Result<std::uint64_t> hold_from(SeriesFile& file, const Hold& hold, std::uint64_t program, From from) {
  auto& entry = file.readers()[hold.entry];
  if (state_of(entry, hold.owner) ==
      HoldState::held) {  // an opening that is tried again because another rank's has failed
    return settle_hold(file.control(), consumed_of(entry), file.slots());
  }
  std::uint64_t wanted = wanted_start(file, from);
  const int reservation = find_reservation(file, program);
  if (reservation >= 0 && (from == From::oldest || from == From::step)) {
    wanted = std::min(wanted, consumed_of(file.readers()[reservation]));
  }
  if (!begin_hold(entry, hold.owner, wanted)) {
    return fail(Code::evicted, "its hold was released before it took effect");
  }
  return settle_hold(file.control(), wanted, file.slots());
}

HoldState look_at_hold(const SeriesFile& file, const Hold& hold) {
  return state_of(file.readers()[hold.entry], hold.owner);
}

std::uint64_t find_step(const SeriesFile& file, std::uint64_t first, std::int64_t from_step) {
  const std::uint64_t published = file.control().published.published.load(std::memory_order_acquire);
  while (first < published) {
    const auto step = read_step(file.slot_header(first), first);
    if (step && *step >= from_step) {
      break;
    }
    ++first;
  }
  return first;
}

bool consume(SeriesFile& file, const Hold& hold, std::uint64_t consumed) {
  if (!move_consumed(file.readers()[hold.entry], hold.owner, consumed)) {
    return false;
  }
  wake_writer(file, consumed);
  return true;
}

void give_up_hold(SeriesFile& file, const Hold& hold) {
  if (hold.taken() && free_entry(file.readers()[hold.entry], hold.owner)) {
    wake_writer(file, UINT64_MAX);
  }
}

}  // namespace couplet::series
