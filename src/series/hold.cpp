#include "series/hold.hpp"

#include <algorithm>
#include <thread>

#include "os/clock.hpp"
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

int take_hold_entry(SeriesFile& file, Owner owner, std::uint64_t program, const Lives& lives) {
  owner.state = ReaderState::opening;
  int index = take_entry(file.control(), file.readers(), file.near_entries(), owner);
  if (index < 0) {
    free_the_dead(file, lives);
    index = take_entry(file.control(), file.readers(), file.near_entries(), owner);
  }
  if (index >= 0) {
    auto& entry = file.readers()[index];
    entry.program.store(program, std::memory_order_relaxed);
    entry.subscription.store(0, std::memory_order_relaxed);
    entry.last_read_ns.store(os::now_ns(), std::memory_order_relaxed);
  }
  return index;
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

Result<std::uint64_t> hold_from(SeriesFile& file, int entry, const Owner& owner, std::uint64_t program, From from,
                                std::uint64_t deadline_ns) {
  Owner holding = owner;
  holding.state = ReaderState::holding;
  std::uint64_t wish = wanted_start(file, from);
  const int reservation = find_reservation(file, program);
  if (reservation >= 0 && (from == From::oldest || from == From::step)) {
    wish = std::min(wish, file.readers()[reservation].consumed.load(std::memory_order_acquire));
  }
  std::uint64_t sure = announce_hold(file.control(), file.readers()[entry], holding, wish, file.slots());
  while (sure > wish && reservation >= 0 && owner_of(file.readers()[reservation]).state == ReaderState::reserved) {
    if (os::now_ns() > deadline_ns) {
      return fail(Code::timeout, "the writer does not answer to a hold (is it stopped?)");
    }
    std::this_thread::yield();
    sure = settle_hold(file.control(), wish, file.slots());
  }
  return sure;
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

void consume(SeriesFile& file, int index, std::uint64_t consumed) {
  auto& entry = file.readers()[index];
  entry.last_read_ns.store(os::now_ns(), std::memory_order_relaxed);
  if (release(file.control().released, entry, consumed)) {
    os::futex_wake(file.control().released.word);
  }
}

void give_up_hold(SeriesFile& file, int index, const Owner& owner) {
  auto& entry = file.readers()[index];
  const Owner seen = owner_of(entry);
  if (seen.peer == owner.peer && seen.incarnation == owner.incarnation && replace_owner(entry, seen, 0)) {
    wake_writer(file, UINT64_MAX);
  }
}

void count_opened(SeriesFile& file, std::uint64_t program, std::uint32_t opened, std::uint32_t needed) {
  const int index = find_reservation(file, program);
  if (index < 0) {
    return;
  }
  auto& entry = file.readers()[index];
  const Owner seen = owner_of(entry);
  const std::uint32_t all = entry.opened.fetch_add(opened, std::memory_order_acq_rel) + opened;
  if (all >= needed && replace_owner(entry, seen, 0)) {
    wake_writer(file, UINT64_MAX);
  }
}

}  // namespace couplet::series
