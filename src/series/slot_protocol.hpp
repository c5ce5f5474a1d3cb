// The protocol between the one writer of a series file and its readers: atomics only, no waiting, no system call, so that
// each piece can be tested and modelled alone (tests/unit/series/protocol_test.cpp, tests/model).
//
// Slots. Writer: stamp odd; release fence; data; stores ordered; stamp even with release; published + 1. Reader: stamp;
// copy; acquire fence; stamp again: the copy is whole when both looks found the ordinal.
// Claim against open. The writer announces the claim, fences, looks at the holds; a reader announces its hold, fences,
// looks at the claims: at least one of them sees the other. A writer that finds itself held takes its announcement back.
// Publish against sleep. The writer publishes, fences, looks at wake_at; a reader lowers wake_at, fences, looks at
// published. Release against sleep of the writer: the same with consumed and wanted.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "layout/copy.hpp"
#include "wire/series_format.hpp"

namespace couplet::series {

inline constexpr std::uint64_t nobody_sleeps = UINT64_MAX;

[[nodiscard]] constexpr std::uint64_t stamp_writing(std::uint64_t ordinal) noexcept {
  return 2 * ordinal + 1;
}
[[nodiscard]] constexpr std::uint64_t stamp_there(std::uint64_t ordinal) noexcept {
  return 2 * ordinal + 2;
}
// The first ordinal that a claim up to `claimed` leaves alone.
[[nodiscard]] constexpr std::uint64_t oldest_retained(std::uint64_t claimed, std::uint64_t slots) noexcept {
  return claimed > slots ? claimed - slots : 0;
}

// ---- slots: writer ----

// From here on the slot's old step is gone.
inline void begin_write(wire::SeriesSlotHeader& slot, std::uint64_t ordinal) noexcept {
  slot.stamp.store(stamp_writing(ordinal), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  layout::store_fence();  // also before non-temporal stores, which the fence above does not order
}

inline void end_write(wire::SeriesSlotHeader& slot, std::uint64_t ordinal, std::int64_t step,
                      std::uint64_t time_bits = wire::no_time) noexcept {
  layout::store_fence();  // also behind non-temporal stores, ours or of the user's compiler
  slot.step.store(step, std::memory_order_relaxed);
  slot.time_bits.store(time_bits, std::memory_order_relaxed);
  slot.stamp.store(stamp_there(ordinal), std::memory_order_release);
}

// True: somebody sleeps who waits for this; the caller then wakes all sleepers on control.word.
[[nodiscard]] inline bool publish(wire::SeriesPublished& control, std::uint64_t published) noexcept {
  control.published.store(published, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (published < control.wake_at.load(std::memory_order_relaxed)) {
    return false;
  }
  control.wake_at.store(nobody_sleeps, std::memory_order_relaxed);  // before the word: see prepare_sleep
  control.word.fetch_add(1, std::memory_order_release);
  return true;
}

inline void close(wire::SeriesPublished& control) noexcept {
  control.closed.store(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  control.wake_at.store(nobody_sleeps, std::memory_order_relaxed);
  control.word.fetch_add(1, std::memory_order_release);
}

// ---- slots: reader ----

// The first look: is this ordinal there? (false: overwritten, or not yet written)
[[nodiscard]] inline bool begin_read(const wire::SeriesSlotHeader& slot, std::uint64_t ordinal) noexcept {
  return slot.stamp.load(std::memory_order_acquire) == stamp_there(ordinal);
}
// It was replaced while it was on its way into this slot (slots that a relay fills only: elsewhere what is published is never
// being written).
[[nodiscard]] inline bool torn_before(const wire::SeriesSlotHeader& slot, std::uint64_t ordinal) noexcept {
  return slot.stamp.load(std::memory_order_relaxed) == stamp_writing(ordinal);
}
// The second look, after the copy.
[[nodiscard]] inline bool end_read(const wire::SeriesSlotHeader& slot, std::uint64_t ordinal) noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  return slot.stamp.load(std::memory_order_relaxed) == stamp_there(ordinal);
}
// What the writer calls a step.
struct Label {
  std::int64_t step = 0;
  std::uint64_t time_bits = wire::no_time;
  bool operator==(const Label&) const = default;
};
// Of an ordinal, if it is still there.
[[nodiscard]] inline std::optional<Label> read_label(const wire::SeriesSlotHeader& slot,
                                                     std::uint64_t ordinal) noexcept {
  if (!begin_read(slot, ordinal)) {
    return std::nullopt;
  }
  const Label label{slot.step.load(std::memory_order_relaxed), slot.time_bits.load(std::memory_order_relaxed)};
  return end_read(slot, ordinal) ? std::optional(label) : std::nullopt;
}
[[nodiscard]] inline std::optional<std::int64_t> read_step(const wire::SeriesSlotHeader& slot,
                                                           std::uint64_t ordinal) noexcept {
  const auto label = read_label(slot, ordinal);
  return label ? std::optional(label->step) : std::nullopt;
}

// Before sleeping on control.word until `published` reaches `target`: returns the word to sleep on, or nothing when there
// is no need to sleep any more. The word is read before wake_at is lowered: whoever resets wake_at changes the word after
// that, so that a reset that hits this very request also ends this sleep.
[[nodiscard]] inline std::optional<std::uint32_t> prepare_sleep(wire::SeriesPublished& control,
                                                                std::uint64_t target) noexcept {
  const std::uint32_t word = control.word.load(std::memory_order_acquire);
  std::uint64_t at = control.wake_at.load(std::memory_order_relaxed);
  while (at > target && !control.wake_at.compare_exchange_weak(at, target, std::memory_order_relaxed)) {
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (control.published.load(std::memory_order_acquire) >= target ||
      control.closed.load(std::memory_order_acquire) != 0) {
    return std::nullopt;
  }
  return word;
}

// ---- holds: the owner word of an entry ----

struct Owner {
  std::uint32_t peer = 0;
  std::uint16_t incarnation = 0;  // of the process
  wire::ReaderState state = wire::ReaderState::free;
};
[[nodiscard]] constexpr std::uint64_t pack(const Owner& owner) noexcept {
  return std::uint64_t{owner.peer} << 32 | std::uint64_t{owner.incarnation} << 16 |
         static_cast<std::uint64_t>(owner.state);
}
[[nodiscard]] constexpr Owner unpack(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
          static_cast<wire::ReaderState>(word & 0xFF)};
}
[[nodiscard]] inline Owner owner_of(const wire::SeriesReaderEntry& entry) noexcept {
  return unpack(entry.owner.load(std::memory_order_acquire));
}
[[nodiscard]] constexpr bool blocks(wire::ReaderState state) noexcept {
  return state == wire::ReaderState::holding || state == wire::ReaderState::reserved;
}

// ---- holds: writer ----

// The first entry that has not consumed `needed` ordinals yet; -1: none.
[[nodiscard]] inline int find_blocker(const wire::SeriesControl& control, const wire::SeriesReaderEntry* entries,
                                      std::uint32_t entry_count, std::uint64_t needed) noexcept {
  const std::uint32_t used = control.released.entries_used.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < used && index < entry_count; ++index) {
    if (blocks(owner_of(entries[index]).state) && entries[index].consumed.load(std::memory_order_acquire) < needed) {
      return static_cast<int>(index);
    }
  }
  return -1;
}

// Announces the claim of `ordinal` and looks at the holds. -1: the slot is the writer's. Otherwise the announcement is
// taken back and the index of an entry that holds is returned.
[[nodiscard]] inline int try_claim(wire::SeriesControl& control, const wire::SeriesReaderEntry* entries,
                                   std::uint32_t entry_count, std::uint64_t ordinal, std::uint64_t slots) noexcept {
  control.claimed.claimed.store(ordinal + 1, std::memory_order_release);
  if (ordinal < slots) {
    return -1;  // a slot that was never used
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const int blocker = find_blocker(control, entries, entry_count, ordinal - slots + 1);
  if (blocker >= 0) {
    control.claimed.claimed.store(ordinal, std::memory_order_release);
  }
  return blocker;
}

// Before the writer sleeps on released.word until holders have consumed `needed`: the word, or nothing when it is free.
[[nodiscard]] inline std::optional<std::uint32_t> prepare_writer_sleep(wire::SeriesControl& control,
                                                                       const wire::SeriesReaderEntry* entries,
                                                                       std::uint32_t entry_count,
                                                                       std::uint64_t needed) noexcept {
  const std::uint32_t word = control.released.word.load(std::memory_order_acquire);
  control.released.wanted.store(needed, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (find_blocker(control, entries, entry_count, needed) < 0) {
    return std::nullopt;
  }
  return word;
}

// ---- holds: reader ----

// True: the writer sleeps and waits for this; the caller then wakes it on released.word.
[[nodiscard]] inline bool release_wakes(wire::SeriesReleased& released, std::uint64_t consumed) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t wanted = released.wanted.load(std::memory_order_relaxed);
  if (wanted == 0 || consumed < wanted) {
    return false;
  }
  released.word.fetch_add(1, std::memory_order_release);
  return true;
}
[[nodiscard]] inline bool release(wire::SeriesReleased& released, wire::SeriesReaderEntry& entry,
                                  std::uint64_t consumed) noexcept {
  entry.consumed.store(consumed, std::memory_order_release);
  return release_wakes(released, consumed);
}

// Takes a free entry; -1: there is none. The entry does not hold yet.
[[nodiscard]] inline int take_entry(wire::SeriesControl& control, wire::SeriesReaderEntry* entries,
                                    std::uint32_t entry_count, Owner owner) noexcept {
  owner.state = wire::ReaderState::opening;
  for (std::uint32_t index = 0; index < entry_count; ++index) {
    std::uint64_t expected = 0;
    if (entries[index].owner.load(std::memory_order_relaxed) == 0 &&
        entries[index].owner.compare_exchange_strong(expected, pack(owner), std::memory_order_acq_rel)) {
      std::uint32_t used = control.released.entries_used.load(std::memory_order_relaxed);
      while (used <= index &&
             !control.released.entries_used.compare_exchange_weak(used, index + 1, std::memory_order_acq_rel)) {
      }
      return static_cast<int>(index);
    }
  }
  return -1;
}

// Holds from `ordinal` on, and looks whether that came in time: returns the first ordinal that is safe, which is `ordinal`
// unless the writer has claimed beyond it. A later call of settle_hold() with the same entry looks again (a writer that is
// held by somebody else takes its claim back).
[[nodiscard]] inline std::uint64_t settle_hold(const wire::SeriesControl& control, std::uint64_t ordinal,
                                               std::uint64_t slots) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t oldest = oldest_retained(control.claimed.claimed.load(std::memory_order_acquire), slots);
  return ordinal > oldest ? ordinal : oldest;
}
[[nodiscard]] inline std::uint64_t announce_hold(const wire::SeriesControl& control, wire::SeriesReaderEntry& entry,
                                                 Owner owner, std::uint64_t ordinal, std::uint64_t slots) noexcept {
  owner.state = wire::ReaderState::holding;
  entry.consumed.store(ordinal, std::memory_order_relaxed);
  entry.owner.store(pack(owner), std::memory_order_release);
  return settle_hold(control, ordinal, slots);
}

// Changes the owner word only if it is still what the caller saw; for whoever releases somebody else's entry.
[[nodiscard]] inline bool replace_owner(wire::SeriesReaderEntry& entry, const Owner& seen,
                                        std::uint64_t replacement) noexcept {
  std::uint64_t expected = pack(seen);
  return entry.owner.compare_exchange_strong(expected, replacement, std::memory_order_acq_rel);
}

}  // namespace couplet::series
