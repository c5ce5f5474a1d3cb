// The protocol between the one writer of a series file and its readers. It consists of atomics, without waiting and
// without system calls, so that each piece is tested and modelled alone (tests/unit/series/protocol_test.cpp,
// tests/model). Slots: the writer makes the stamp odd, writes the data, makes the stamp even, and increments published.
// A reader reads the stamp before and after its copy; the copy is whole if both name the ordinal. Claim and open: the
// writer makes a tentative claim, fences, and reads the holds; a reader announces its hold, fences, and reads the
// claim, so that at least one sees the other. The writer makes the claim definite, or the reader takes it back, by
// compare-and-swap, so that neither waits. Publish and sleep: the writer publishes, fences, and reads wake_at; a reader
// lowers wake_at, fences, and reads published. A writer that sleeps does the same with consumed and wanted. Entries: an
// entry can be given back and taken by another process at any time. So each turn has a generation, which both words of
// the entry carry, and no process changes a word without comparing it.
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
// Returns the first ordinal that is not overwritten if the ordinals below `claimed` are claimed.
[[nodiscard]] constexpr std::uint64_t oldest_retained(std::uint64_t claimed, std::uint64_t slots) noexcept {
  return claimed > slots ? claimed - slots : 0;
}

// ---- slots: writer ----

// Begins to overwrite the slot. Its old step is lost from here on.
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

// Ends a write that is not finished: the slot has no step.
inline void give_up_write(wire::SeriesSlotHeader& slot) noexcept {
  slot.stamp.store(0, std::memory_order_relaxed);
}

// Returns true if some reader sleeps and waits for this. The caller then wakes one sleeper on control.word, which wakes
// the others (take_pass_on), so that the writer pays for one wake-up, however many readers sleep.
[[nodiscard]] inline bool publish(wire::SeriesPublished& control, std::uint64_t published) noexcept {
  control.published.store(published, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (published < control.wake_at.load(std::memory_order_relaxed)) {
    return false;
  }
  control.wake_at.store(nobody_sleeps, std::memory_order_relaxed);  // before the word: see prepare_sleep
  control.word.fetch_add(1, std::memory_order_release);
  // This comes after the word: the reader that takes it wakes all that sleep on the old word, and no reader can begin
  // to sleep on the old word afterwards.
  control.pass_on.store(1, std::memory_order_release);
  return true;
}

// Every reader that has slept on control.word calls this when it is awake again, for whatever reason. If it returns
// true, the reader wakes all others.
[[nodiscard]] inline bool take_pass_on(wire::SeriesPublished& control) noexcept {
  return control.pass_on.load(std::memory_order_relaxed) != 0 &&
         control.pass_on.exchange(0, std::memory_order_acq_rel) != 0;
}

inline void close(wire::SeriesPublished& control) noexcept {
  control.closed.store(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  control.wake_at.store(nobody_sleeps, std::memory_order_relaxed);
  control.word.fetch_add(1, std::memory_order_release);
}

// ---- slots: reader ----

// Checks the stamp before a copy. Returns false if the ordinal is overwritten, or not yet written.
[[nodiscard]] inline bool begin_read(const wire::SeriesSlotHeader& slot, std::uint64_t ordinal) noexcept {
  return slot.stamp.load(std::memory_order_acquire) == stamp_there(ordinal);
}
// Returns true if the ordinal was replaced while a relay sent it into this slot. In slots that no relay fills this does
// not happen: there, a published ordinal is never being written.
[[nodiscard]] inline bool torn_before(const wire::SeriesSlotHeader& slot, std::uint64_t ordinal) noexcept {
  return slot.stamp.load(std::memory_order_relaxed) == stamp_writing(ordinal);
}
// Checks the stamp after the copy. Returns true if the copy is whole.
[[nodiscard]] inline bool end_read(const wire::SeriesSlotHeader& slot, std::uint64_t ordinal) noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  return slot.stamp.load(std::memory_order_relaxed) == stamp_there(ordinal);
}
// The step number and the time that the writer gave to an ordinal.
struct Label {
  std::int64_t step = 0;
  std::uint64_t time_bits = wire::no_time;
  bool operator==(const Label&) const = default;
};
// Returns the label of an ordinal, if it is still there.
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

// To be called before sleeping on control.word until `published` reaches `target`. Returns the word to sleep on, or
// nothing if there is no need to sleep. The word is read before wake_at is lowered: a writer that resets wake_at
// changes the word afterwards, so that a reset that removes this very request also ends this sleep.
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

// ---- holds: the two words of an entry ----

inline constexpr std::uint64_t generation_mask = (std::uint64_t{1} << wire::series_generation_bits) - 1;

struct Owner {
  std::uint32_t peer = 0;
  std::uint16_t incarnation = 0;  // that of the process
  wire::ReaderState state = wire::ReaderState::free;
  std::uint16_t generation = 0;  // which turn of the entry this is
  bool operator==(const Owner&) const = default;
};
[[nodiscard]] constexpr std::uint64_t pack(const Owner& owner) noexcept {
  return std::uint64_t{owner.peer} << 32 | std::uint64_t{owner.incarnation} << 16 |
         (owner.generation & generation_mask) << 4 | static_cast<std::uint64_t>(owner.state);
}
[[nodiscard]] constexpr Owner unpack(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
          static_cast<wire::ReaderState>(word & 0xF), static_cast<std::uint16_t>(word >> 4 & generation_mask)};
}
[[nodiscard]] inline Owner owner_of(const wire::SeriesReaderEntry& entry) noexcept {
  return unpack(entry.owner.load(std::memory_order_acquire));
}
[[nodiscard]] constexpr bool blocks(wire::ReaderState state) noexcept {
  return state == wire::ReaderState::holding || state == wire::ReaderState::reserved;
}
// Returns true if both are the same turn of the entry, whatever its state.
[[nodiscard]] constexpr bool same_turn(const Owner& a, const Owner& b) noexcept {
  return a.peer == b.peer && a.incarnation == b.incarnation && a.generation == b.generation;
}

[[nodiscard]] constexpr std::uint64_t pack_consumed(std::uint16_t generation, std::uint64_t ordinals) noexcept {
  return std::uint64_t{generation} << wire::series_consumed_bits | (ordinals & wire::series_max_ordinal);
}
[[nodiscard]] constexpr std::uint64_t consumed_ordinals(std::uint64_t word) noexcept {
  return word & wire::series_max_ordinal;
}
[[nodiscard]] constexpr std::uint16_t consumed_generation(std::uint64_t word) noexcept {
  return static_cast<std::uint16_t>(word >> wire::series_consumed_bits);
}
[[nodiscard]] constexpr std::uint16_t generation_after(std::uint16_t generation) noexcept {
  return static_cast<std::uint16_t>((generation + 1U) & generation_mask);
}
[[nodiscard]] inline std::uint64_t consumed_of(const wire::SeriesReaderEntry& entry) noexcept {
  return consumed_ordinals(entry.consumed.load(std::memory_order_acquire));
}

// ---- holds: the claim word ----

[[nodiscard]] constexpr std::uint64_t tentative_claim(std::uint64_t ordinals) noexcept {
  return ordinals << 1 | 1;
}
[[nodiscard]] constexpr std::uint64_t definite_claim(std::uint64_t ordinals) noexcept {
  return ordinals << 1;
}
[[nodiscard]] constexpr bool is_tentative(std::uint64_t claim) noexcept {
  return (claim & 1) != 0;
}
// The number of ordinals that the writer has certainly claimed, and the number if a tentative claim becomes definite.
[[nodiscard]] constexpr std::uint64_t certainly_claimed(std::uint64_t claim) noexcept {
  return is_tentative(claim) ? (claim >> 1) - 1 : claim >> 1;
}
[[nodiscard]] constexpr std::uint64_t possibly_claimed(std::uint64_t claim) noexcept {
  return claim >> 1;
}

// ---- holds: writer ----

// Returns the first entry that has not consumed `needed` ordinals yet; -1 if there is none.
[[nodiscard]] inline int find_blocker(const wire::SeriesControl& control, const wire::SeriesReaderEntry* entries,
                                      std::uint32_t entry_count, std::uint64_t needed,
                                      std::uint32_t from = 0) noexcept {
  const std::uint32_t used = control.released.entries_used.load(std::memory_order_acquire);
  for (std::uint32_t index = from; index < used && index < entry_count; ++index) {
    if (blocks(owner_of(entries[index]).state) && consumed_of(entries[index]) < needed) {
      return static_cast<int>(index);
    }
  }
  return -1;
}

// Claims `ordinal`, unless a reader holds what it would overwrite. Returns -1 if the slot is the writer's. Otherwise
// nothing is claimed, and the index of an entry that holds is returned.
[[nodiscard]] inline int try_claim(wire::SeriesControl& control, const wire::SeriesReaderEntry* entries,
                                   std::uint32_t entry_count, std::uint64_t ordinal, std::uint64_t slots) noexcept {
  auto& claimed = control.claimed;
  if (claimed.claimed.load(std::memory_order_relaxed) > ordinal) {
    return -1;  // the ordinal was claimed before, and abandoned
  }
  if (ordinal >= slots) {  // otherwise the slot was never used
    for (bool definite = false; !definite;) {
      claimed.claim.store(tentative_claim(ordinal + 1), std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      const int blocker = find_blocker(control, entries, entry_count, ordinal - slots + 1);
      if (blocker >= 0) {
        claimed.claim.store(definite_claim(ordinal), std::memory_order_release);
        return blocker;
      }
      // This fails if a reader that has come meanwhile has taken the claim back. Then that reader holds, and the next
      // attempt sees it.
      std::uint64_t expected = tentative_claim(ordinal + 1);
      definite =
          claimed.claim.compare_exchange_strong(expected, definite_claim(ordinal + 1), std::memory_order_acq_rel);
    }
  }
  claimed.claimed.store(ordinal + 1, std::memory_order_release);
  return -1;
}

// To be called before the writer sleeps on released.word until holders have consumed `needed` ordinals. Returns the
// word to sleep on, or nothing if the slot is free.
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

// One turn of an entry of the reader table, as the process that has taken the entry knows it.
struct Hold {
  int entry = -1;  // -1: none
  Owner owner;     // holding, with the generation of this turn
  [[nodiscard]] bool taken() const noexcept { return entry >= 0; }
};
// What has become of a hold. evicted: the writer waited too long for it; released: another process has given it back
// for its owner, and the entry may belong to a third one.
enum class HoldState : std::uint8_t { held, evicted, released };

[[nodiscard]] inline HoldState state_of(const wire::SeriesReaderEntry& entry, const Owner& owner) noexcept {
  const std::uint64_t word = entry.owner.load(std::memory_order_acquire);
  if (word == pack(owner)) {
    return HoldState::held;
  }
  const Owner now = unpack(word);
  return same_turn(now, owner) && now.state == wire::ReaderState::evicted ? HoldState::evicted : HoldState::released;
}

// Returns true if the writer sleeps and waits for this; the caller then wakes it on released.word.
[[nodiscard]] inline bool release_wakes(wire::SeriesReleased& released, std::uint64_t consumed) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t wanted = released.wanted.load(std::memory_order_relaxed);
  if (wanted == 0 || consumed < wanted) {
    return false;
  }
  released.word.fetch_add(1, std::memory_order_release);
  return true;
}

// Raises the owner's number of consumed ordinals to `consumed`; a lower value changes nothing. Returns false if the
// entry is no longer this owner's; then nothing was changed.
[[nodiscard]] inline bool move_consumed(wire::SeriesReaderEntry& entry, const Owner& owner,
                                        std::uint64_t consumed) noexcept {
  if (entry.owner.load(std::memory_order_acquire) != pack(owner)) {
    return false;
  }
  consumed = consumed < wire::series_max_ordinal ? consumed : wire::series_max_ordinal;
  std::uint64_t word = entry.consumed.load(std::memory_order_relaxed);
  do {
    if (consumed_generation(word) != owner.generation) {
      return false;  // it was released, and taken by another process, after it was read above
    }
    if (consumed_ordinals(word) >= consumed) {
      return true;
    }
  } while (!entry.consumed.compare_exchange_weak(word, pack_consumed(owner.generation, consumed),
                                                 std::memory_order_release, std::memory_order_relaxed));
  return true;
}

// Frees the entry if it still is in this turn, in whatever state. Returns false if it is not.
[[nodiscard]] inline bool free_entry(wire::SeriesReaderEntry& entry, const Owner& owner) noexcept {
  std::uint64_t word = entry.owner.load(std::memory_order_acquire);
  while (same_turn(unpack(word), owner) && word != 0) {
    if (entry.owner.compare_exchange_weak(word, 0, std::memory_order_acq_rel, std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

// Takes a free entry for owner.peer and owner.incarnation; the result has entry -1 if there is none. The entry does not
// hold yet.
[[nodiscard]] inline Hold take_entry(wire::SeriesControl& control, wire::SeriesReaderEntry* entries,
                                     std::uint32_t entry_count, Owner owner) noexcept {
  for (std::uint32_t index = 0; index < entry_count;) {
    auto& entry = entries[index];
    std::uint64_t expected = 0;
    std::uint64_t before = entry.consumed.load(std::memory_order_acquire);
    owner.state = wire::ReaderState::opening;
    owner.generation = generation_after(consumed_generation(before));
    if (entry.owner.load(std::memory_order_relaxed) != 0 ||
        !entry.owner.compare_exchange_strong(expected, pack(owner), std::memory_order_acq_rel)) {
      ++index;
      continue;
    }
    // This fails if another process has had the entry since it was read above, or has taken it from this process: then
    // the entry is read again. If it succeeds, earlier owners can no longer change consumed.
    if (!entry.consumed.compare_exchange_strong(before, pack_consumed(owner.generation, 0),
                                                std::memory_order_acq_rel)) {
      static_cast<void>(free_entry(entry, owner));
      continue;
    }
    std::uint32_t used = control.released.entries_used.load(std::memory_order_relaxed);
    while (used <= index &&
           !control.released.entries_used.compare_exchange_weak(used, index + 1, std::memory_order_acq_rel)) {
    }
    owner.state = wire::ReaderState::holding;
    return {static_cast<int>(index), owner};
  }
  return {};
}

// Checks whether a hold from `ordinal` on, which was announced before, came in time. Returns the first ordinal that is
// safe: it is `ordinal`, unless the writer has claimed beyond it. A claim that is still tentative is taken back.
[[nodiscard]] inline std::uint64_t settle_hold(wire::SeriesControl& control, std::uint64_t ordinal,
                                               std::uint64_t slots) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto& word = control.claimed.claim;
  std::uint64_t claim = word.load(std::memory_order_acquire);
  while (is_tentative(claim) && oldest_retained(possibly_claimed(claim), slots) > ordinal) {
    const std::uint64_t taken_back = definite_claim(certainly_claimed(claim));
    if (word.compare_exchange_weak(claim, taken_back, std::memory_order_acq_rel, std::memory_order_acquire)) {
      claim = taken_back;
    }
  }
  const std::uint64_t oldest = oldest_retained(certainly_claimed(claim), slots);
  return ordinal > oldest ? ordinal : oldest;
}

// Lets an entry that was taken hold from `ordinal` on. Returns false if it was released before it held.
[[nodiscard]] inline bool begin_hold(wire::SeriesReaderEntry& entry, const Owner& owner,
                                     std::uint64_t ordinal) noexcept {
  std::uint64_t consumed = pack_consumed(owner.generation, 0);
  if (!entry.consumed.compare_exchange_strong(consumed, pack_consumed(owner.generation, ordinal),
                                              std::memory_order_acq_rel)) {
    return false;
  }
  Owner opening = owner;
  opening.state = wire::ReaderState::opening;
  std::uint64_t expected = pack(opening);
  return entry.owner.compare_exchange_strong(expected, pack(owner), std::memory_order_acq_rel);
}

// Changes the owner word only if it is still what the caller saw: for a process that releases another one's entry.
[[nodiscard]] inline bool replace_owner(wire::SeriesReaderEntry& entry, const Owner& seen,
                                        std::uint64_t replacement) noexcept {
  std::uint64_t expected = pack(seen);
  return entry.owner.compare_exchange_strong(expected, replacement, std::memory_order_acq_rel);
}

}  // namespace couplet::series
