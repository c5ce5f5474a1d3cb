// Two programs, "left" and "right", of any number of ranks: a series in each direction, and messages between all ranks,
// with each value checked. tests/universe/test_pairs.py uses it without MPI (coupled.cpp) and under each MPI
// (mpi/coupled.cpp).
#ifndef COUPLET_TESTS_COUPLED_HPP
#define COUPLET_TESTS_COUPLED_HPP

#include <couplet/couplet.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace coupled {

constexpr std::int64_t step_count = 30;
inline const std::vector<std::int64_t> shape{6, 5, 7};

inline void require(bool condition, const std::string& what) {
  if (!condition) {
    throw couplet::Error(COUPLET_ERROR_INTERNAL, "not true: " + what);
  }
}

/// Returns the start of the index-th of count blocks of [0, extent). Extents differ if count does not divide it.
inline std::int64_t block_start(std::int64_t extent, std::int64_t index, std::int64_t count) {
  return extent * index / count;
}

inline double value(std::int64_t step, std::int64_t k, std::int64_t j, std::int64_t i) {
  return static_cast<double>(1000 * step + 100 * k + 10 * j + i);
}

/// Calls visit(k, j, i) in the order of the elements of the box.
template <class Visit>
void for_each(const couplet::Box& box, Visit visit) {
  for (std::int64_t k = box.start[0]; k < box.stop[0]; ++k) {
    for (std::int64_t j = box.start[1]; j < box.stop[1]; ++j) {
      for (std::int64_t i = box.start[2]; i < box.stop[2]; ++i) {
        visit(k, j, i);
      }
    }
  }
}

/// Writes a series. The writers divide the middle dimension.
inline void write(couplet::Universe& universe, const std::string& name, const std::string& reader) {
  const couplet::OwnProgram own = universe.program();
  couplet::Box box{{0, block_start(5, own.rank, own.size), 0}, {6, block_start(5, own.rank + 1, own.size), 7}};
  couplet::SeriesOptions options;
  options.slots = 4;
  options.required_readers = reader;
  auto series = universe.create_series<double>(name, shape, box, options);
  for (std::int64_t step = 3; step <= 3 * step_count; step += 3) {
    std::vector<double> data;
    for_each(box, [&](auto k, auto j, auto i) { data.push_back(value(step, k, j, i)); });
    require(series.put(data, step), "put");
  }
  series.close();
}

/// Reads a series. The readers divide the last dimension of the array without its first plane.
inline void read(couplet::Universe& universe, const std::string& name) {
  const couplet::OwnProgram own = universe.program();
  couplet::OpenOptions options;
  options.box =
      couplet::Box{{1, 0, block_start(7, own.rank, own.size)}, {6, 5, block_start(7, own.rank + 1, own.size)}};
  auto series = universe.open_series<double>(name, options);
  std::int64_t steps = 0;
  for (;;) {
    const auto batch = series.read({.at_least = 1, .up_to = 4});
    if (batch.ended()) {
      break;
    }
    require(batch.status() == COUPLET_OK && batch.lost() == 0, "steps, and none lost");
    for (std::size_t n = 0; n < batch.size(); ++n) {
      ++steps;
      require(batch.steps()[n] == 3 * steps, "step " + std::to_string(steps));
      std::size_t at = 0;
      for_each(*options.box, [&](auto k, auto j, auto i) {
        require(batch[n][at++] == value(3 * steps, k, j, i), "content of step " + std::to_string(steps));
      });
    }
  }
  const couplet::Statistics counts = series.statistics();
  require(steps == step_count && counts.delivered == step_count && counts.lost == 0, "all steps");
  require(counts.published - counts.first == counts.delivered + counts.lost + counts.skipped + counts.pending,
          "the equation");
  series.close();
}

/// Writes the output of explain to explain-PROGRAM-RANK.json.
inline void explain(couplet::Universe& universe) {
  const couplet::OwnProgram own = universe.program();
  std::ofstream("explain-" + universe.program(own.program).name + "-" + std::to_string(own.rank) + ".json")
      << universe.explain();
}

/// Each rank sends to and receives from each rank of the other program: nothing, one value, eager and large messages.
inline void talk(couplet::Universe& universe, const std::string& other) {
  const couplet::Group group = universe.group();
  const couplet::OwnProgram own = universe.program();
  const std::int32_t first = universe.find_rank(other, 0);
  const std::int32_t size = universe.program(1 - own.program).size;
  const std::int32_t self = group.rank();
  std::int32_t tag = 10;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{700}, std::size_t{300000}}) {
    std::vector<std::vector<std::int64_t>> sent(static_cast<std::size_t>(size));
    std::vector<std::vector<std::int64_t>> got(sent.size(), std::vector<std::int64_t>(count));
    std::vector<couplet::Request> requests;
    for (std::size_t n = 0; n < sent.size(); ++n) {
      const std::int32_t peer = first + static_cast<std::int32_t>(n);
      for (std::size_t at = 0; at < count; ++at) {
        sent[n].push_back(1000000 * self + 1000 * peer + static_cast<std::int64_t>(at));
      }
      requests.push_back(group.irecv(std::span<std::int64_t>(got[n]), peer, tag));
      requests.push_back(group.isend(std::span<const std::int64_t>(sent[n]), peer, tag));
    }
    static_cast<void>(couplet::wait_all(requests, 60));
    for (std::size_t n = 0; n < got.size(); ++n) {
      const std::int64_t peer = first + static_cast<std::int32_t>(n);
      for (std::size_t at = 0; at < count; ++at) {
        require(got[n][at] == 1000000 * peer + 1000 * self + static_cast<std::int64_t>(at), "content of a message");
      }
    }
    ++tag;
  }
  explain(universe);                         // while no rank has left yet
  for (std::int32_t n = 0; n < size; ++n) {  // and one message from each, in any order
    group.send(static_cast<float>(self), first + n, 99);
  }
  std::vector<int> heard(static_cast<std::size_t>(size));
  for (std::int32_t n = 0; n < size; ++n) {
    float number = -1;
    const couplet::Message message = group.recv(number, couplet::any_source, 99);
    require(number == static_cast<float>(message.source), "who said it");
    heard.at(static_cast<std::size_t>(message.source - first)) += 1;
  }
  require(heard == std::vector<int>(heard.size(), 1), "each was heard once");
}

/// Runs the test. what: "messages", "series" or "both".
inline void run(couplet::Universe& universe, const std::string& program, const std::string& what) {
  const std::string other = program == "left" ? "right" : "left";
  if (what != "messages") {
    if (program == "left") {
      write(universe, "eta", other);
      read(universe, "answer");
    } else {
      read(universe, "eta");
      write(universe, "answer", other);
    }
  }
  if (what != "series") {
    talk(universe, other);
  }
}

/// Joins and runs. Prints one line if all went well, and returns the status of the process.
template <class Join>
int tell(int argc, char** argv, Join join) {
  const std::string program = argc > 1 ? argv[1] : "";
  return outcome::tell(program, join,
                       [&](couplet::Universe& universe) { run(universe, program, argc > 2 ? argv[2] : "both"); });
}

}  // namespace coupled

#endif
