// The part for one writer rank's slots in the window of an MPI job. On the writer's own node they are mapped, if MPI
// can do it, and read like a file. On other nodes, what a reader reads often (control lines, slot headers) is mirrored
// in its own memory, and the slots themselves are fetched: stamps, data, and stamps again.
//
// The last entries of the reader table belong to the ranks of the job, in their order. A reader that fetches writes
// only the entry of its rank, which no other process writes. So no entry has to be taken by compare-and-swap: that of
// MPI and that of the processor do not work together. A holder writes consumed before owner.
#pragma once

#include <memory>
#include <vector>

#include "os/memory_block.hpp"
#include "series/part.hpp"
#include "series/window.hpp"

namespace couplet::series {

// Returns the index of a rank's entry in a table with this number of entries.
[[nodiscard]] constexpr std::uint32_t window_entry(std::uint32_t reader_entries, int size, int rank) noexcept {
  return reader_entries - static_cast<std::uint32_t>(size) + static_cast<std::uint32_t>(rank);
}

// Opens the part. Returns unsupported if this process has joined without a window, or belongs to another job, and limit
// if this rank holds the series already.
Result<std::unique_ptr<Part>> open_window_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part, const PartSelection& selection,
                                               std::uint64_t deadline_ns);

}  // namespace couplet::series
