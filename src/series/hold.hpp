// Holds in a series file: those of readers on this node, and those that the relay takes on behalf of readers on other
// nodes.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.hpp"
#include "series/series.hpp"
#include "series/series_file.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

// Returns the entry that is reserved for a required program, by the hash of its name; -1 if there is none.
[[nodiscard]] int find_reservation(const SeriesFile& file, std::uint64_t program);

using Lives = std::function<bool(const Owner&)>;
// Takes an entry in the reader table, in the state opening. If the table is full, entries of dead readers are freed
// first. If it is still full, the result has no entry.
[[nodiscard]] Hold take_hold_entry(SeriesFile& file, const Owner& owner, std::uint64_t program, const Lives& lives);

// Returns the ordinal with which a reader that asks for `from` would begin now.
[[nodiscard]] std::uint64_t wanted_start(const SeriesFile& file, From from);

// Makes the entry hold, and returns the ordinal from which on the hold is certain. Does not wait: a tentative claim of
// the writer, which may be stopped or dead, is taken back, so that a required reader gets everything that its
// reservation keeps. Returns evicted if the entry was released before it held.
Result<std::uint64_t> hold_from(SeriesFile& file, const Hold& hold, std::uint64_t program, From from);

// Returns what has become of a hold that was taken. It costs a few loads.
[[nodiscard]] HoldState look_at_hold(const SeriesFile& file, const Hold& hold);

// Returns the first published ordinal from `first` on whose step is at least from_step, or the end.
[[nodiscard]] std::uint64_t find_step(const SeriesFile& file, std::uint64_t first, std::int64_t from_step);

// Says that the holder no longer needs ordinals below `consumed`, and wakes a writer that waits for it. Returns false
// if the hold has ended; then nothing was changed.
[[nodiscard]] bool consume(SeriesFile& file, const Hold& hold, std::uint64_t consumed);

// Frees the entry if it still belongs to this hold.
void give_up_hold(SeriesFile& file, const Hold& hold);

}  // namespace couplet::series
