// One writer rank's slots in the window of an MPI job. On the writer's own node they are mapped, where MPI can, and
// read like any others. From elsewhere, what a reader looks at often (control lines, slot headers) is mirrored here,
// and the slots themselves are fetched: stamps, data, stamps.
//
// Every rank of the job has an entry of its own in the reader table, the last ones, by its rank in the job: a reader
// that fetches writes only that one, and nobody else does, so that no entry has to be taken by compare-and-swap, which
// MPI and the processor do not share. A holder writes consumed and then owner.
#pragma once

#include <memory>
#include <vector>

#include "os/memory_block.hpp"
#include "series/part.hpp"
#include "series/window.hpp"

namespace couplet::series {

// Index of a rank's entry in a table of so many.
[[nodiscard]] constexpr std::uint32_t window_entry(std::uint32_t reader_entries, int size, int rank) noexcept {
  return reader_entries - static_cast<std::uint32_t>(size) + static_cast<std::uint32_t>(rank);
}

// unsupported: this process was joined without a window, or is of another job; limit: this rank holds it already.
Result<std::unique_ptr<Part>> open_window_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part, const PartWish& wish, std::uint64_t deadline_ns);

}  // namespace couplet::series
