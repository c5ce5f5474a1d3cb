// Holds in a series file, for whoever reads from it: a reader of this node, or the relay on behalf of one of another
// node.
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
// Takes an entry in the reader table, state opening; if the table is full, entries of the dead are freed. No entry:
// full.
[[nodiscard]] Hold take_hold_entry(SeriesFile& file, const Owner& owner, std::uint64_t program, const Lives& lives);

// Where a reader that wishes `from` would begin now.
[[nodiscard]] std::uint64_t wanted_start(const SeriesFile& file, From from);

// Makes the entry hold and returns from which ordinal on that is sure. Does not wait: a claim that the writer has not
// decided yet (it may be stopped, or dead) is taken back, so that a required reader gets all that its reservation
// keeps. evicted: the entry was released before it held.
Result<std::uint64_t> hold_from(SeriesFile& file, const Hold& hold, std::uint64_t program, From from);

// What has become of a hold that was taken. A few loads.
[[nodiscard]] HoldState look_at_hold(const SeriesFile& file, const Hold& hold);

// The first published ordinal from `first` on whose step is at least from_step, or the end.
[[nodiscard]] std::uint64_t find_step(const SeriesFile& file, std::uint64_t first, std::int64_t from_step);

// The holder needs ordinals below `consumed` no longer; wakes a writer that waits for it. False: it holds no longer,
// and nothing was moved.
[[nodiscard]] bool consume(SeriesFile& file, const Hold& hold, std::uint64_t consumed);

// Frees the entry if it still is this hold's.
void give_up_hold(SeriesFile& file, const Hold& hold);

}  // namespace couplet::series
