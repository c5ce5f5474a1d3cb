// Part of couplet.hpp, which programs include: how a series is created, and what the options of a reader are made of.
#ifndef COUPLET_COUPLET_SERIES_OPTIONS_HPP
#define COUPLET_COUPLET_SERIES_OPTIONS_HPP

#include <couplet/couplet_message.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace couplet {

/// Says how a series is created. The members are those of couplet_series_create_options.
struct SeriesOptions {
  std::uint64_t slots = 0;            ///< steps that are kept; 0: as many as fit into memory_bytes, at least 2
  std::uint64_t memory_bytes = 0;     ///< size for each rank, if slots is 0; 0: 256 MiB, at most 4096 slots
  std::string required_readers = {};  ///< comma separated; empty: the setting of the series, else none
  double required_timeout_s = for_ever;
  double wait_timeout_s = for_ever;
  double evict_after_held_s = for_ever;
  Group group = {};           ///< writers; empty: all ranks of the program
  std::uint64_t holders = 0;  ///< readers that can hold at once, on each writer rank; 0: the library's default
  bool collective = false;    ///< put and claim are collective over the writers; all ranks get the slot, or none
};

enum class Mode : std::int32_t { hold = COUPLET_SERIES_HOLD, follow = COUPLET_SERIES_FOLLOW };
enum class From : std::int32_t {
  oldest = COUPLET_SERIES_FROM_OLDEST,
  newest = COUPLET_SERIES_FROM_NEWEST,
  next = COUPLET_SERIES_FROM_NEXT,
  step = COUPLET_SERIES_FROM_STEP
};

/// A sparse matrix of weights in compressed rows, which turns points of the whole array into target points of this rank
/// while a step is read: row r is element r of what is delivered, an array of one dimension.
struct Weights {
  std::int64_t source_points = 0;         ///< elements of the whole array
  std::vector<std::int64_t> row_offsets;  ///< one more than rows, from 0 on: row r has the entries [r-th, (r + 1)-th)
  std::vector<std::int64_t> sources;      ///< for each entry a flat index in the whole array, in C order, from 0 on
  std::vector<double> weights;            ///< for each entry its weight
  std::vector<std::uint8_t> source_mask = {};  ///< for each element of the whole array, 0: masked; empty: none is
  double fill = std::numeric_limits<double>::quiet_NaN();  ///< value of a row without entries or with a masked source

  /// Returns the struct of the C call, which points into this object. Throws Error if the lengths do not fit.
  [[nodiscard]] couplet_series_weights c_weights() const {
    const bool fits = !row_offsets.empty() && sources.size() == weights.size() && row_offsets.back() >= 0 &&
                      static_cast<std::size_t>(row_offsets.back()) == sources.size() &&
                      (source_mask.empty() || source_mask.size() == static_cast<std::size_t>(source_points));
    if (!fits) {
      throw Error(COUPLET_ERROR_ARGUMENT, "weights: row_offsets must end with the number of entries (" +
                                              std::to_string(sources.size()) + " sources, " +
                                              std::to_string(weights.size()) +
                                              " weights), and source_mask must be empty or have source_points marks");
    }
    couplet_series_weights c;
    couplet_series_weights_init(&c);
    c.rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
    c.source_points = source_points;
    c.row_offsets = row_offsets.data();
    c.sources = sources.data();
    c.weights = weights.data();
    c.source_mask = source_mask.empty() ? nullptr : source_mask.data();
    c.fill = fill;
    return c;
  }
};

/// What a read at physical times does about a time past the newest step.
enum class BeyondNewest : std::int32_t { wait = COUPLET_SERIES_BEYOND_WAIT, error = COUPLET_SERIES_BEYOND_ERROR };

}  // namespace couplet

#endif
