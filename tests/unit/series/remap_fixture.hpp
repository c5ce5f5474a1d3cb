// Weights between two grids, and the product that a reader has to deliver. Its neighbour: fixture.hpp.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "unit/series/fixture.hpp"

namespace couplet::series::testing_fixture {

// Conservative weights from a regular grid of `ny` x `nx` cells to one of `my` x `mx` over the same square: which
// share of each target cell a source cell covers. Rows [first, last) of the target's cells in C order.
inline Weights conservative(std::int64_t ny, std::int64_t nx, std::int64_t my, std::int64_t mx, std::int64_t first,
                            std::int64_t last) {
  const auto shared = [](std::int64_t a, std::int64_t of, std::int64_t b, std::int64_t other) {
    const double begin = std::max(double(a) / double(of), double(b) / double(other));
    const double end = std::min(double(a + 1) / double(of), double(b + 1) / double(other));
    return std::max(0.0, end - begin) * double(other);
  };
  Weights weights;
  weights.source_points = ny * nx;
  weights.row_offsets.push_back(0);
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t y = row / mx;
    const std::int64_t x = row % mx;
    for (std::int64_t j = y * ny / my; j <= std::min(ny - 1, (y + 1) * ny / my); ++j) {
      for (std::int64_t i = x * nx / mx; i <= std::min(nx - 1, (x + 1) * nx / mx); ++i) {
        const double value = shared(j, ny, y, my) * shared(i, nx, x, mx);
        if (value > 1e-14) {
          weights.sources.push_back(j * nx + i);
          weights.values.push_back(value);
        }
      }
    }
    weights.row_offsets.push_back(static_cast<std::int64_t>(weights.sources.size()));
  }
  return weights;
}

inline std::vector<double> product(const Weights& weights, const std::vector<double>& field) {
  std::vector<double> values;
  for (std::size_t row = 0; row < static_cast<std::size_t>(weights.rows()); ++row) {
    double sum = weights.row_offsets[row] == weights.row_offsets[row + 1] ? weights.fill : 0.0;
    for (auto entry = static_cast<std::size_t>(weights.row_offsets[row]);
         entry < static_cast<std::size_t>(weights.row_offsets[row + 1]); ++entry) {
      if (!weights.source_mask.empty() && weights.source_mask[static_cast<std::size_t>(weights.sources[entry])] == 0) {
        sum = weights.fill;
        break;
      }
      sum += weights.values[entry] * field[static_cast<std::size_t>(weights.sources[entry])];
    }
    values.push_back(sum);
  }
  return values;
}

inline std::vector<double> smooth_field(std::int64_t points, std::int64_t step) {
  std::vector<double> values;
  for (std::int64_t point = 0; point < points; ++point) {
    values.push_back(std::sin(double(point) * 0.37 + double(step)) + double(step));
  }
  return values;
}

inline std::shared_ptr<const Weights> shared(Weights weights) {
  return std::make_shared<const Weights>(std::move(weights));
}

inline void expect_rows(const Batch& batch, std::size_t at, const std::vector<double>& wanted) {
  ASSERT_EQ(batch.step_bytes, wanted.size() * sizeof(double));
  const auto* value = reinterpret_cast<const double*>(batch.data) + at * wanted.size();
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    if (std::isnan(wanted[row])) {
      EXPECT_TRUE(std::isnan(value[row])) << "row " << row;
    } else {
      EXPECT_NEAR(value[row], wanted[row], 1e-13 * std::max(1.0, std::abs(wanted[row]))) << "row " << row;
    }
  }
}

}  // namespace couplet::series::testing_fixture
