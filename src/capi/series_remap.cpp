// Weights of a reader, and reading at physical times.
#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/counted.hpp"
#include "capi/options.hpp"
#include "capi/series.hpp"
#include "os/clock.hpp"

namespace couplet::capi {

Result<std::shared_ptr<const series::Weights>> weights_of(const couplet_series_open_options& options,
                                                          const char* function) {
  if (options.weights == nullptr) {
    return std::shared_ptr<const series::Weights>();
  }
  COUPLET_TRY_VALUE(const auto given_weights, complete(options.weights, couplet_series_weights_init, function));
  if (given_weights.rows < 0 || given_weights.source_points < 1) {
    return fail(Code::argument, "{}: weights with {} and {}; at least 0 and 1 are needed", function,
                counted(given_weights.rows, "row"), counted(given_weights.source_points, "source point"));
  }
  constexpr std::int64_t max_numbers = INT64_MAX / static_cast<std::int64_t>(sizeof(double));
  if (given_weights.rows >= max_numbers || given_weights.source_points > max_numbers) {
    return fail(Code::argument, "{}: weights with {} rows and {} source points; less than {} are possible", function,
                given_weights.rows, given_weights.source_points, max_numbers);
  }
  COUPLET_TRY(given(given_weights.row_offsets, function, "weights.row_offsets"));
  auto weights = std::make_shared<series::Weights>();
  weights->source_points = given_weights.source_points;
  weights->row_offsets.assign(given_weights.row_offsets, given_weights.row_offsets + given_weights.rows + 1);
  const std::int64_t entries = weights->row_offsets.back();
  if (entries < 0 || entries >= max_numbers) {
    return fail(Code::argument, "{}: weights.row_offsets ends with {}, which is no number of entries", function,
                entries);
  }
  if (entries > 0) {
    COUPLET_TRY(given(given_weights.sources, function, "weights.sources"));
    COUPLET_TRY(given(given_weights.weights, function, "weights.weights"));
    weights->sources.assign(given_weights.sources, given_weights.sources + entries);
    weights->values.assign(given_weights.weights, given_weights.weights + entries);
  }
  if (given_weights.source_mask != nullptr) {
    weights->source_mask.assign(given_weights.source_mask, given_weights.source_mask + given_weights.source_points);
  }
  weights->fill = given_weights.fill;
  return std::shared_ptr<const series::Weights>(std::move(weights));
}

namespace {

Status read_at(couplet_series& series, std::span<const double> times, double timeout_s,
               const couplet_series_array* outs, std::int32_t out_count, couplet_series_batch* batch) {
  constexpr auto function = "couplet_series_read_at";
  std::vector<series::Out> arrays;
  Status room;
  try {
    arrays.reserve(static_cast<std::size_t>(out_count));
  } catch (const std::bad_alloc&) {
    room = fail(Code::memory, "{}: no memory for {} arrays", function, out_count);
  }
  for (std::int32_t index = 0; room.ok() && index < out_count; ++index) {
    arrays.push_back({outs[index].data, outs[index].bytes, outs[index].strides});
  }
  series::Batch got;
  COUPLET_TRY(series.interpolation->read(times, os::deadline_after(timeout_s), arrays, got, room));
  return give_batch(series, got, batch, function);
}

}  // namespace

}  // namespace couplet::capi

namespace capi = couplet::capi;

extern "C" {

void couplet_series_weights_init(couplet_series_weights* weights) {
  *weights = couplet_series_weights{};
  weights->struct_bytes = sizeof *weights;
  weights->fill = std::numeric_limits<double>::quiet_NaN();
}

couplet_status couplet_series_read_at(couplet_series* series, const double* times, int32_t time_count, double timeout_s,
                                      const couplet_series_array* outs, int32_t out_count,
                                      couplet_series_batch* batch) {
  constexpr auto function = "couplet_series_read_at";
  return capi::call(series, function, [&]() -> couplet::Status {
    if (!series->reader) {
      return capi::wrong_end(function, "writing");
    }
    couplet::Status sound = capi::check_read(batch, timeout_s, function);
    if (sound.ok()) {
      sound = capi::given(times, function, "times");
    }
    if (sound.ok() && (time_count < 1 || out_count < 0 || (out_count > 0 && outs == nullptr))) {
      sound = couplet::fail(couplet::Code::argument, "{}: {} and {}; at least 1 and 0 are needed", function,
                            couplet::counted(time_count, "time"), couplet::counted(out_count, "array"));
    }
    if (!sound.ok()) {
      couplet::series::Batch nothing;
      return series->interpolation->read({}, couplet::os::now_ns(), {}, nothing, sound);
    }
    return capi::read_at(*series, {times, static_cast<std::size_t>(time_count)}, timeout_s, outs, out_count, batch);
  });
}

}  // extern "C"
