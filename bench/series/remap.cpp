// Remapping inside the read, beside the plain read of the same source points and the sparse product alone. Program
// ocean writes and program nowcast reads, on one node; ocean puts a burst of steps when it is told to. Prints one JSON
// object a case with all samples, out of which bench/suite_series.py makes the figures. usage: COUPLET_HUB=...
// series_remap {ocean|nowcast}
#include <algorithm>
#include <string>
#include <vector>

#include "bench/series/measure.hpp"

namespace couplet::bench {
namespace {

constexpr std::uint64_t slots = 16;
constexpr std::uint64_t burst = 8;  // steps
constexpr int rounds = 60;
constexpr std::int64_t target_extent = 540;  // 900 x 900 cells onto 540 x 540

struct Matrix {
  std::vector<std::int64_t> row_offsets = {0};
  std::vector<std::int64_t> sources;
  std::vector<double> weights;
};

// Conservative weights of cells of one square: the share of a target cell that each source cell covers.
Matrix conservative() {
  const auto share = [](std::int64_t source, std::int64_t target) {
    const double begin = std::max(double(source) / extent, double(target) / target_extent);
    const double end = std::min(double(source + 1) / extent, double(target + 1) / target_extent);
    return std::max(0.0, end - begin) * target_extent;
  };
  Matrix matrix;
  for (std::int64_t row = 0; row < target_extent * target_extent; ++row) {
    const std::int64_t y = row / target_extent;
    const std::int64_t x = row % target_extent;
    for (std::int64_t j = y * extent / target_extent; j <= std::min(extent - 1, (y + 1) * extent / target_extent);
         ++j) {
      for (std::int64_t i = x * extent / target_extent; i <= std::min(extent - 1, (x + 1) * extent / target_extent);
           ++i) {
        if (const double weight = share(j, y) * share(i, x); weight > 1e-12) {
          matrix.sources.push_back(j * extent + i);
          matrix.weights.push_back(weight);
        }
      }
    }
    matrix.row_offsets.push_back(static_cast<std::int64_t>(matrix.sources.size()));
  }
  return matrix;
}

// The product as anybody would write it, with indices of 32 bits as SciPy has them.
void multiply(const Matrix& matrix, const std::vector<std::int32_t>& columns, const float* source, float* target) {
  for (std::size_t row = 0; row + 1 < matrix.row_offsets.size(); ++row) {
    double sum = 0;
    for (auto entry = static_cast<std::size_t>(matrix.row_offsets[row]);
         entry < static_cast<std::size_t>(matrix.row_offsets[row + 1]); ++entry) {
      sum += matrix.weights[entry] * static_cast<double>(source[columns[entry]]);
    }
    target[row] = static_cast<float>(sum);
  }
}

couplet_series* open(couplet_universe* universe, const couplet_series_weights* weights) {
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.weights = weights;
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, "eta", &options, &series), "open");
  return series;
}

// Milliseconds a step.
double read_burst(couplet_series* series, std::byte* out, std::uint64_t bytes) {
  couplet_series_batch batch{};
  batch.struct_bytes = sizeof batch;
  const double time = timed([&] { must(couplet_series_read(series, burst, burst, -1, out, bytes, &batch), "read"); });
  return 1e3 * time / double(burst);
}

void read_all(couplet_universe* universe, couplet_group* group, std::int32_t ocean) {
  const Matrix matrix = conservative();
  const std::vector<std::int32_t> columns(matrix.sources.begin(), matrix.sources.end());
  couplet_series_weights weights;
  couplet_series_weights_init(&weights);
  weights.rows = target_extent * target_extent;
  weights.source_points = extent * extent;
  weights.row_offsets = matrix.row_offsets.data();
  weights.sources = matrix.sources.data();
  weights.weights = matrix.weights.data();
  couplet_series* const remapped = open(universe, &weights);
  couplet_series* const plain = open(universe, nullptr);
  const std::uint64_t row_bytes = target_extent * target_extent * sizeof(float);
  std::byte* const rows = touched_memory(burst * row_bytes);
  std::byte* const arrays = touched_memory(burst * step_bytes);
  Samples samples;
  for (int round = 0; round < rounds; ++round) {
    std::int32_t word = 1;
    must(couplet_send(group, &word, 1, COUPLET_INT32, ocean, 0), "send");
    must(couplet_recv(group, &word, 1, COUPLET_INT32, ocean, 0, nullptr), "recv");
    double plain_ms = 0;
    const auto read_plain = [&] { return plain_ms = read_burst(plain, arrays, burst * step_bytes); };
    const auto product = [&] {
      const double time = timed([&] {
        for (std::uint64_t step = 0; step < burst; ++step) {
          multiply(matrix, columns, reinterpret_cast<const float*>(arrays + step * step_bytes),
                   reinterpret_cast<float*>(rows + step * row_bytes));
        }
      });
      return 1e3 * time / double(burst);
    };
    const bool first = round % 2 == 0;
    double ours = first ? read_burst(remapped, rows, burst * row_bytes) : 0;
    samples["plain_read"].push_back(read_plain());
    const double product_ms = product();
    ours = first ? ours : read_burst(remapped, rows, burst * row_bytes);
    samples["ours"].push_back(ours);
    samples["product_alone"].push_back(product_ms);
    samples["limit_read_and_product"].push_back(plain_ms + product_ms);
  }
  std::int32_t word = 0;
  must(couplet_send(group, &word, 1, COUPLET_INT32, ocean, 0), "send");
  print("remap", "ms", samples);
  must(couplet_series_close(remapped), "close");
  must(couplet_series_close(plain), "close");
}

void write_all(couplet_universe* universe, couplet_group* group, std::int32_t nowcast) {
  const std::int64_t shape[2] = {extent, extent};
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = slots;
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, "eta", COUPLET_FLOAT, 2, shape, nullptr, nullptr, &options, &series), "create");
  std::byte* const field = touched_memory(step_bytes);
  std::fill_n(reinterpret_cast<float*>(field), extent * extent, 1.0F);
  std::int64_t step = 0;
  for (std::int32_t word = 1;;) {
    must(couplet_recv(group, &word, 1, COUPLET_INT32, nowcast, 0, nullptr), "recv");
    if (word == 0) {
      break;
    }
    for (std::uint64_t count = 0; count < burst; ++count) {
      must(couplet_series_put(series, field, step++), "put");
    }
    must(couplet_send(group, &word, 1, COUPLET_INT32, nowcast, 0), "send");
  }
  must(couplet_series_close(series), "close");
}

}  // namespace
}  // namespace couplet::bench

int main(int argc, char** argv) {
  using namespace couplet::bench;
  const std::string program = argc > 1 ? argv[1] : "";
  couplet_universe* const universe = join(program.c_str());
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group), "group");
  std::int32_t other = 0;
  must(couplet_universe_find_rank(universe, program == "ocean" ? "nowcast" : "ocean", 0, &other), "find_rank");
  if (program == "ocean") {
    write_all(universe, group, other);
  } else {
    read_all(universe, group, other);
  }
  must(couplet_leave(universe), "leave");
}
