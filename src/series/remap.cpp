#include "series/remap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/counted.hpp"

namespace couplet::series {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

bool is_filled(const Weights& weights, std::size_t row) {
  const std::int64_t begin = weights.row_offsets[row];
  const std::int64_t end = weights.row_offsets[row + 1];
  const auto masked = [&](std::int64_t source) { return weights.source_mask[static_cast<std::size_t>(source)] == 0; };
  return begin == end || (!weights.source_mask.empty() &&
                          std::any_of(weights.sources.begin() + begin, weights.sources.begin() + end, masked));
}

// Calls `take` with the flat index of the first element of each row of the box, one after the other.
template <typename Take>
void for_each_row(const layout::Box& box, std::span<const std::int64_t> shape, const Take& take) {
  const auto last = static_cast<std::size_t>(box.dimensions) - 1;
  std::array<std::int64_t, layout::max_dimensions> at = box.start;
  const std::uint64_t rows = box.elements() / static_cast<std::uint64_t>(box.extent(box.dimensions - 1));
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::int64_t flat = 0;
    for (std::size_t dimension = 0; dimension <= last; ++dimension) {
      flat = flat * shape[dimension] + at[dimension];
    }
    take(flat);
    for (std::size_t dimension = last; dimension-- > 0;) {
      if (++at[dimension] < box.stop[dimension]) {
        break;
      }
      at[dimension] = box.start[dimension];
    }
  }
}

}  // namespace

Status check_weights(const Weights& weights) {
  const auto& offsets = weights.row_offsets;
  if (weights.source_points < 1) {
    return fail(Code::argument, "weights: source_points must be at least 1, not {}", weights.source_points);
  }
  if (offsets.empty() || offsets.front() != 0) {
    return fail(Code::argument, "weights: row_offsets must begin with 0");
  }
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    if (offsets[row + 1] < offsets[row]) {
      return fail(Code::argument,
                  "weights: row_offsets must not descend: row {} begins at entry {} and ends at entry {}", row,
                  offsets[row], offsets[row + 1]);
    }
  }
  const auto entries = static_cast<std::uint64_t>(offsets.back());
  if (weights.sources.size() != entries || weights.values.size() != entries) {
    return fail(Code::argument, "weights: row_offsets end with {}, but there are {} and {}",
                counted(entries, "entry", "entries"), counted(weights.sources.size(), "source", "sources"),
                counted(weights.values.size(), "weight"));
  }
  for (std::size_t entry = 0; entry < entries; ++entry) {
    if (weights.sources[entry] < 0 || weights.sources[entry] >= weights.source_points) {
      return fail(Code::argument, "weights: source {} of entry {} is outside [0, {})", weights.sources[entry], entry,
                  weights.source_points);
    }
    if (!std::isfinite(weights.values[entry])) {
      return fail(Code::argument, "weights: weight {} of entry {} is not finite", weights.values[entry], entry);
    }
  }
  if (!weights.source_mask.empty() && std::cmp_not_equal(weights.source_mask.size(), weights.source_points)) {
    return fail(Code::argument, "weights: source_mask has {} for {}", counted(weights.source_mask.size(), "mark"),
                counted(weights.source_points, "source point"));
  }
  return {};
}

std::vector<std::int64_t> needed_points(const Weights& weights) {
  std::vector<std::int64_t> points;
  points.reserve(weights.sources.size());
  for (std::size_t row = 0; std::cmp_less(row, weights.rows()); ++row) {
    if (!is_filled(weights, row)) {
      points.insert(points.end(), weights.sources.begin() + weights.row_offsets[row],
                    weights.sources.begin() + weights.row_offsets[row + 1]);
    }
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

Result<std::shared_ptr<const Remap>> Remap::make(const Weights& weights, std::span<const std::int64_t> points,
                                                 std::span<const std::int64_t> shape, const std::vector<ReadBox>& reads,
                                                 std::string_view title) {
  std::vector<std::uint32_t> places(points.size(), nowhere);
  for (const ReadBox& read : reads) {
    if (read.box.empty()) {
      continue;
    }
    if (read.first_element + read.box.elements() > nowhere) {
      return fail(Code::limit, "{}: the weights of this rank need {} source points and more; at most {} are possible",
                  title, read.first_element + read.box.elements(), nowhere);
    }
    const std::int64_t length = read.box.extent(read.box.dimensions - 1);
    auto place = static_cast<std::uint32_t>(read.first_element);
    for_each_row(read.box, shape, [&](std::int64_t first) {
      auto at = std::lower_bound(points.begin(), points.end(), first);
      for (; at != points.end() && *at < first + length; ++at) {
        places[static_cast<std::size_t>(at - points.begin())] = place + static_cast<std::uint32_t>(*at - first);
      }
      place += static_cast<std::uint32_t>(length);
    });
  }
  const auto missing = std::find(places.begin(), places.end(), nowhere);
  if (missing != places.end()) {
    const auto count = std::count(places.begin(), places.end(), nowhere);
    return fail(Code::shape, "{}: {} of the {} that the weights need {} written by no rank; the first one is {}", title,
                count, counted(points.size(), "source point"), count == 1 ? "is" : "are",
                points[static_cast<std::size_t>(missing - places.begin())]);
  }
  std::shared_ptr<Remap> remap(new Remap());
  remap->fill_ = weights.fill;
  remap->row_offsets_.push_back(0);
  for (std::size_t row = 0; std::cmp_less(row, weights.rows()); ++row) {
    const auto begin = static_cast<std::size_t>(weights.row_offsets[row]);
    const auto end = is_filled(weights, row) ? begin : static_cast<std::size_t>(weights.row_offsets[row + 1]);
    for (std::size_t entry = begin; entry < end; ++entry) {
      const auto at = std::lower_bound(points.begin(), points.end(), weights.sources[entry]);
      remap->columns_.push_back(places[static_cast<std::size_t>(at - points.begin())]);
      remap->values_.push_back(weights.values[entry]);
    }
    remap->row_offsets_.push_back(remap->columns_.size());
  }
  return std::shared_ptr<const Remap>(std::move(remap));
}

template <typename Real>
void Remap::apply(const std::byte* landing, std::byte* target, std::int64_t target_stride) const noexcept {
  const Real* const points = reinterpret_cast<const Real*>(landing);
  const std::uint32_t* const columns = columns_.data();
  const double* const values = values_.data();
  const std::size_t rows = row_offsets_.size() - 1;
  for (std::size_t row = 0; row < rows; ++row, target += target_stride) {
    const std::uint64_t end = row_offsets_[row + 1];
    std::uint64_t entry = row_offsets_[row];
    double sum = entry == end ? fill_ : 0.0;
    for (; entry < end; ++entry) {
      sum += values[entry] * static_cast<double>(points[columns[entry]]);
    }
    const Real value = static_cast<Real>(sum);
    std::memcpy(target, &value, sizeof value);
  }
}

template void Remap::apply<float>(const std::byte*, std::byte*, std::int64_t) const noexcept;
template void Remap::apply<double>(const std::byte*, std::byte*, std::int64_t) const noexcept;

}  // namespace couplet::series
