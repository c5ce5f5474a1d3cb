// Program "ocean" writes an array in a grid of boxes; program "air" reads it with the weights of a file, and leaves the
// rows that it was given in files. Used without MPI (remapping.cpp) and under each MPI (mpi/remapping.cpp), by
// tests/universe/test_remapping.py.
#ifndef COUPLET_TESTS_REMAPPING_HPP
#define COUPLET_TESTS_REMAPPING_HPP

#include <couplet/couplet.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace remapping {

constexpr std::int64_t ny = 60;
constexpr std::int64_t nx = 100;
constexpr std::int64_t step_count = 12;

inline double value(std::int64_t step, std::int64_t flat) {
  return static_cast<double>((flat * 7919 + step * step * 104729) % 1000003) / 1000.0;
}

/// The writers form a grid of two columns, or one if their number is odd. Step s has the time s / 2.
inline void write(couplet::Universe& universe) {
  const couplet::OwnProgram own = universe.program();
  const std::int64_t columns = own.size % 2 == 0 ? 2 : 1;
  const std::int64_t rows = own.size / columns;
  const std::int64_t row = own.rank / columns;
  const std::int64_t column = own.rank % columns;
  couplet::Box box{{row * ny / rows, column * nx / columns}, {(row + 1) * ny / rows, (column + 1) * nx / columns}};
  couplet::SeriesOptions options;
  options.slots = 4;
  options.required_readers = "air";
  auto series = universe.create_series<double>("sst", {ny, nx}, box, options);
  for (std::int64_t step = 0; step < step_count; ++step) {
    std::vector<double> data;
    for (std::int64_t j = box.start[0]; j < box.stop[0]; ++j) {
      for (std::int64_t i = box.start[1]; i < box.stop[1]; ++i) {
        data.push_back(value(step, j * nx + i));
      }
    }
    series.set_time(static_cast<double>(step) / 2);
    if (!series.put(data, step)) {
      throw couplet::Error(COUPLET_ERROR_INTERNAL, "put: full");
    }
  }
  series.close();
}

template <class T>
std::vector<T> take(std::ifstream& file, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file) {
    throw couplet::Error(COUPLET_ERROR_INTERNAL, "the file of weights is too short");
  }
  return values;
}

/// weights-RANK: rows, entries, offsets, sources (int64), weights (double).
inline couplet::Weights load(std::int32_t rank) {
  std::ifstream file("weights-" + std::to_string(rank), std::ios::binary);
  const auto head = take<std::int64_t>(file, 2);
  couplet::Weights weights;
  weights.source_points = ny * nx;
  weights.row_offsets = take<std::int64_t>(file, head[0] + 1);
  weights.sources = take<std::int64_t>(file, head[1]);
  weights.weights = take<double>(file, head[1]);
  weights.fill = -999;
  return weights;
}

/// what: "steps", or "times": at the times 0.25, 0.5, ... Leaves rows-RANK with all rows of all steps, one after the
/// other.
inline void read(couplet::Universe& universe, const std::string& what) {
  const std::int32_t rank = universe.program().rank;
  couplet::OpenOptions options;
  options.weights = load(rank);
  auto series = universe.open_series<double>("sst", options);
  std::ofstream file("rows-" + std::to_string(rank), std::ios::binary);
  const auto keep = [&](std::span<const double> data) {
    file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size_bytes()));
  };
  double time = 0.25;
  for (;;) {
    const std::vector<double> times = {time, time + 0.25};
    const auto batch = what == "times" ? series.read_at(times) : series.read({.at_least = 1, .up_to = 4});
    if (batch.ended()) {
      break;
    }
    if (batch.status() != COUPLET_OK || batch.lost() != 0) {
      throw couplet::Error(COUPLET_ERROR_INTERNAL, "steps were lost");
    }
    time += 0.25 * static_cast<double>(batch.size());
    keep(batch.data());
  }
  std::ofstream("route-" + std::to_string(rank)) << series.describe().route;
  series.close();
}

/// Joins and runs. Prints one line if all went well, and returns the status of the process.
template <class Join>
int tell(int argc, char** argv, Join join) {
  const std::string program = argc > 1 ? argv[1] : "";
  return outcome::tell(program, join, [&](couplet::Universe& universe) {
    if (program == "ocean") {
      write(universe);
    } else {
      read(universe, argc > 2 ? argv[2] : "steps");
    }
  });
}

}  // namespace remapping

#endif
