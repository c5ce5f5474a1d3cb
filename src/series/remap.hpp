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

// As the user gives them: compressed rows, one for each target point of this rank.
struct Weights {
  std::int64_t source_points = 0;         // elements of the series' whole array
  std::vector<std::int64_t> row_offsets;  // one more than there are rows; from 0 on, ascending
  std::vector<std::int64_t> sources;      // of each entry: flat index in the whole array, C order, from 0 on
  std::vector<double> values;             // of each entry
  std::vector<std::uint8_t> source_mask;  // 0: the source point is masked; empty: none is
  double fill = std::numeric_limits<double>::quiet_NaN();  // of a row without entries, or with a masked source

  [[nodiscard]] std::int64_t rows() const noexcept {
    return row_offsets.empty() ? 0 : static_cast<std::int64_t>(row_offsets.size()) - 1;
  }
};

// argument error that names the row or entry where the weights make no sense.
[[nodiscard]] Status check_weights(const Weights& weights);

// A box that is copied, and where it goes in the landing.
struct ReadBox {
  layout::Box box;
  std::uint64_t first_element = 0;
  bool operator==(const ReadBox&) const = default;
};

// The source points of all rows that are not filled, ascending and distinct.
[[nodiscard]] std::vector<std::int64_t> needed_points(const Weights& weights);

class Remap {
 public:
  // points: needed_points(); reads: boxes of an array of `shape` that contain them. shape error, with `title` in front:
  // a point lies in none of the boxes; limit: the boxes have 2^32 elements or more.
  static Result<std::shared_ptr<const Remap>> make(const Weights& weights, std::span<const std::int64_t> points,
                                                   std::span<const std::int64_t> shape,
                                                   const std::vector<ReadBox>& reads, std::string_view title);

  // From the landing of one step to the rows, `target_stride` bytes apart. Real is float or double; sums are double, in
  // the order of the entries, whatever the writers' boxes are.
  template <typename Real>
  void apply(const std::byte* landing, std::byte* target, std::int64_t target_stride) const noexcept;

 private:
  Remap() = default;

  std::vector<std::uint64_t> row_offsets_;  // a row without entries is filled
  std::vector<std::uint32_t> columns_;      // elements of the landing
  std::vector<double> values_;
  double fill_ = 0;
};

}  // namespace couplet::series
