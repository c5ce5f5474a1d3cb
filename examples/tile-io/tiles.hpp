// The geometry of the example: tiles of a file, file domains, and what they have in common. No MPI.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tile_io {

using Element = double;
constexpr std::int64_t element_bytes = sizeof(Element);

// A half-open range of the elements of the file.
struct Range {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  [[nodiscard]] std::int64_t count() const noexcept { return std::max<std::int64_t>(0, stop - start); }
};

// Consecutive elements of a tile that are also consecutive in the file.
struct Run {
  std::int64_t in_tile = 0;
  std::int64_t in_file = 0;
  std::int64_t count = 0;
};

// An array of rows x columns tiles over a row-major file. Rank r has tile (r / columns, r % columns).
struct Tiles {
  int rows = 4;
  int columns = 4;
  std::int64_t tile_rows = 128;  // elements
  std::int64_t tile_columns = 256;

  [[nodiscard]] std::int64_t width() const noexcept { return columns * tile_columns; }
  [[nodiscard]] std::int64_t tile_count() const noexcept { return tile_rows * tile_columns; }
  [[nodiscard]] std::int64_t file_count() const noexcept { return rows * columns * tile_count(); }
  [[nodiscard]] int rank_count() const noexcept { return rows * columns; }

  // Returns the runs of a rank's tile that lie in a range of the file, in the order of the file.
  [[nodiscard]] std::vector<Run> overlap(int rank, const Range& range) const {
    const std::int64_t first_row = (rank / columns) * tile_rows;
    const std::int64_t first_column = (rank % columns) * tile_columns;
    std::vector<Run> runs;
    const std::int64_t row_stop = std::min(first_row + tile_rows, (range.stop + width() - 1) / width());
    for (std::int64_t row = std::max(first_row, range.start / width()); row < row_stop; ++row) {
      const std::int64_t in_file = row * width() + first_column;
      const Range common{std::max(in_file, range.start), std::min(in_file + tile_columns, range.stop)};
      if (common.count() > 0) {
        runs.push_back({(row - first_row) * tile_columns + common.start - in_file, common.start, common.count()});
      }
    }
    return runs;
  }
};

// Returns file domain `index` of `count` domains, which are equal but for an element.
[[nodiscard]] inline Range file_domain(const Tiles& tiles, int index, int count) noexcept {
  return {tiles.file_count() * index / count, tiles.file_count() * (index + 1) / count};
}

}  // namespace tile_io
