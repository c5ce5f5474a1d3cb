// Remapping inside the read: a sparse matrix of weights turns the source points that a reader rank has copied into its
// target points. The copies bring the source points into one dense array (the landing), in the order of the boxes that
// are read; the product runs on whole steps only. Neighbours: attachment_choice.cpp (which boxes are read),
// batch_copy.cpp (when it runs). Tests: tests/unit/series/remap_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "layout/box.hpp"

namespace couplet::series {

// The weights as the user gives them: compressed rows, one for each target point of this rank.
struct Weights {
  std::int64_t source_points = 0;         // number of elements of the series' whole array
  std::vector<std::int64_t> row_offsets;  // one more than there are rows; from 0 on, ascending
  std::vector<std::int64_t> sources;      // for each entry the flat index in the whole array, in C order, from 0 on
  std::vector<double> values;             // for each entry its weight
  std::vector<std::uint8_t> source_mask;  // for each source point 0 if it is masked; empty: none is
  // The value of a row that has no entries or a masked source.
  double fill = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] std::int64_t rows() const noexcept {
    return row_offsets.empty() ? 0 : static_cast<std::int64_t>(row_offsets.size()) - 1;
  }
};

// Returns argument, with the row or the entry, if the weights are wrong.
[[nodiscard]] Status check_weights(const Weights& weights);

// A box that is copied, and where it goes in the landing.
struct ReadBox {
  layout::Box box;
  std::uint64_t first_element = 0;
  bool operator==(const ReadBox&) const = default;
};

// Returns the source points of all rows that do not get the fill value, ascending and distinct.
[[nodiscard]] std::vector<std::int64_t> needed_points(const Weights& weights);

class Remap {
 public:
  // points: needed_points(); reads: boxes of an array of `shape` that contain them. Returns shape, with `title` in
  // front, if a point lies in none of the boxes, and limit if the boxes have 2^32 elements or more.
  static Result<std::shared_ptr<const Remap>> make(const Weights& weights, std::span<const std::int64_t> points,
                                                   std::span<const std::int64_t> shape,
                                                   const std::vector<ReadBox>& reads, std::string_view title);

  // Turns the landing of one step into the rows, which are written `target_stride` bytes apart. Real is float or
  // double. Sums are computed in double, in the order of the entries, so that they do not depend on the writers' boxes.
  template <typename Real>
  void apply(const std::byte* landing, std::byte* target, std::int64_t target_stride) const noexcept;

 private:
  Remap() = default;

  std::vector<std::uint64_t> row_offsets_;  // a row without entries gets fill_
  std::vector<std::uint32_t> columns_;      // for each entry its element in the landing
  std::vector<double> values_;
  double fill_ = 0;
};

}  // namespace couplet::series
