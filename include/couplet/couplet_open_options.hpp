// Part of couplet.hpp, which programs include: the options of a reader.
// Written by tools/generate from include/couplet/couplet_series.h: do not edit (make generate).
#ifndef COUPLET_COUPLET_OPEN_OPTIONS_HPP
#define COUPLET_COUPLET_OPEN_OPTIONS_HPP

#include <couplet/couplet_series_options.hpp>
#include <cstdint>
#include <optional>

namespace couplet {

/// Says how a series is opened. The members are those of couplet_series_open_options.
struct OpenOptions {
  /// This rank's box; none: the whole array.
  std::optional<Box> box = std::nullopt;
  /// COUPLET_SERIES_HOLD (default): the writer waits for this reader; COUPLET_SERIES_FOLLOW: it never does.
  Mode mode = Mode::hold;
  /// The first step: COUPLET_SERIES_FROM_OLDEST (default) retained one, ..._NEWEST, ..._NEXT, ..._STEP.
  From from = From::oldest;
  /// false (default): reads are collective over the group; true: every rank reads for itself.
  bool local = false;
  /// With COUPLET_SERIES_FROM_STEP: begin with the first step that is at least this.
  std::int64_t from_step = 0;
  /// How long the series may take to exist; default 60; 0: it has to exist.
  double timeout_s = 60;
  /// Size of the local slots for a series of another node; 0 (default): 256 MiB.
  std::uint64_t buffer_bytes = 0;
  /// n: the first step and then every n-th is delivered, the others are skipped; default 1.
  std::uint64_t every = 1;
  /// true: a read gives the at_least newest steps, skips older ones; only with COUPLET_SERIES_FOLLOW.
  bool latest = false;
  /// true: torn steps are delivered with a mark; false (default): they are withheld and count as lost.
  bool torn = false;
  /// Of physical time: the first step of each is delivered, the others are skipped; 0 (default): all.
  double interval = 0;
  /// Of couplet_series_read_at: COUPLET_SERIES_BEYOND_WAIT (default), ..._BEYOND_ERROR.
  BeyondNewest beyond_newest = BeyondNewest::wait;
  /// Size of a batch, all fields together, but at least one step; 0 (default): any size.
  std::uint64_t up_to_bytes = 0;
  /// The readers; empty: all ranks of the program.
  Group group = {};
  /// Used instead of a box; for float and double; copied.
  std::optional<Weights> weights = std::nullopt;
};

namespace detail {

/// Sets those options of the C call that are plain values.
inline void set_plain(couplet_series_open_options& c, const OpenOptions& options) noexcept {
  c.mode = static_cast<std::int32_t>(options.mode);
  c.from = static_cast<std::int32_t>(options.from);
  c.local = options.local ? 1 : 0;
  c.from_step = options.from_step;
  c.timeout_s = options.timeout_s;
  c.buffer_bytes = options.buffer_bytes;
  c.every = options.every;
  c.latest = options.latest ? 1 : 0;
  c.torn = options.torn ? 1 : 0;
  c.interval = options.interval;
  c.beyond_newest = static_cast<std::int32_t>(options.beyond_newest);
  c.up_to_bytes = options.up_to_bytes;
}

}  // namespace detail
}  // namespace couplet

#endif
