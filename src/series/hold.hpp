// Holds in a series file, for whoever reads from it: a reader of this node, or the relay on behalf of one of another node.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.hpp"
#include "series/series.hpp"
#include "series/series_file.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

// The reservation of a required program, by the hash of its name; -1: none.
[[nodiscard]] int find_reservation(const SeriesFile& file, std::uint64_t program);

using Lives = std::function<bool(const Owner&)>;
// Takes an entry in the reader table, state opening; where the table is full, entries of the dead are freed. -1: full.
[[nodiscard]] int take_hold_entry(SeriesFile& file, Owner owner, std::uint64_t program, const Lives& lives);

// Where a reader that wishes `from` would begin now.
[[nodiscard]] std::uint64_t wanted_start(const SeriesFile& file, From from);

// Makes `entry` hold and returns from which ordinal on that is sure. While the own program's reservation stands, the writer
// cannot have passed what that keeps: if it seems so, it is between announcing a claim and taking it back, and is looked at
// again (timeout: it does not go on).
Result<std::uint64_t> hold_from(SeriesFile& file, int entry, const Owner& owner, std::uint64_t program, From from,
                                std::uint64_t deadline_ns);

// The first published ordinal from `first` on whose step is at least from_step, or the end.
[[nodiscard]] std::uint64_t find_step(const SeriesFile& file, std::uint64_t first, std::int64_t from_step);

// `entry` needs ordinals below `consumed` no more; wakes a writer that waits for it.
void consume(SeriesFile& file, int entry, std::uint64_t consumed);

// Frees `entry` if `owner` (whatever its state) still has it.
void give_up_hold(SeriesFile& file, int entry, const Owner& owner);

// Counts `opened` ranks of a required program; its reservation ends when `needed` have opened.
void count_opened(SeriesFile& file, std::uint64_t program, std::uint32_t opened, std::uint32_t needed);

}  // namespace couplet::series
