// The evaluation of the paper on the time-series buffer. Process 0 fills a 900 x 900 array for 100 N steps, and process
// 1 takes the box (150,150)-(750,750) of each. All ways of handing steps over run in turn, and each round begins with
// another one, so that the figures of a round can be compared. Both processes are ranks of one MPI job. If they are on
// different nodes, the ways that need common memory are left out. It prints one JSON object for each run.
// usage: COUPLET_HUB=... COUPLET_RUN_DIR=... mpirun -n 2 paper.<flavour> SLOTS ROUNDS N...
#include <couplet/couplet_mpi.h>
#include <mpi.h>

#include <algorithm>

#include "bench/series_paper/way.hpp"

namespace couplet::bench {
namespace {

constexpr std::uint64_t steps_of_n = 100;

struct Figures {
  double fill = 0;   // seconds for all steps
  double added = 0;  // seconds in calls of the way, including the wait for the reader
  double read = 0;   // seconds in taking steps, without the wait for them
  // Seconds from the first step's filling to the last step's check.
  double end = 0;
  std::uint64_t largest_batch = 0;
};

std::int32_t element(std::int64_t step, std::int64_t index) {
  return static_cast<std::int32_t>(step * 8191 + index);
}

void fill(std::byte* memory, std::int64_t step) {
  auto* const values = reinterpret_cast<std::int32_t*>(memory);
  for (std::int64_t index = 0; index < extent * extent; ++index) {
    values[index] = element(step, index);
  }
}

// Reads one element of each page and the last one, as a user does first.
void check(const std::byte* data, std::int64_t step, const std::string& way) {
  const auto* const values = reinterpret_cast<const std::int32_t*>(data);
  for (std::int64_t at = 0; at < box_extent * box_extent; at = at + 1024) {
    const std::int64_t row = at / box_extent + box_start;
    const std::int64_t column = at % box_extent + box_start;
    if (values[at] != element(step, row * extent + column)) {
      give_up(way + ": wrong content at step " + std::to_string(step));
    }
  }
}

void write_steps(Way& way, std::int64_t first, std::uint64_t steps, Figures& figures) {
  for (std::uint64_t number = 0; number < steps; ++number) {
    std::byte* memory = nullptr;
    figures.added += timed([&] { memory = way.begin(); });
    figures.fill += timed([&] { fill(memory, first + static_cast<std::int64_t>(number)); });
    figures.added += timed([&] { way.end(); });
  }
}

void read_steps(Way& way, std::int64_t first, std::uint64_t steps, Destinations& destinations, Figures& figures) {
  for (std::uint64_t done = 0; done < steps;) {
    const std::uint64_t count = std::min(way.wait(), steps - done);
    std::byte* const out = destinations.next(count);
    figures.read += timed([&] { way.take(count, out); });
    for (std::uint64_t number = 0; number < count; ++number) {
      check(out + number * box_bytes, first + static_cast<std::int64_t>(done + number), way.name());
    }
    done += count;
    figures.largest_batch = std::max(figures.largest_batch, count);
  }
}

void run(Way& way, std::uint64_t n, std::int64_t& step, const Setting& setting, Destinations* destinations) {
  const std::uint64_t steps = n * steps_of_n;
  Figures figures;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = seconds();
  if (setting.rank == 0) {
    write_steps(way, step, steps, figures);
  } else {
    read_steps(way, step, steps, *destinations, figures);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  figures.end = seconds() - start;
  step += static_cast<std::int64_t>(steps);
  if (setting.rank == 1) {
    MPI_Send(&figures, sizeof figures, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    return;
  }
  Figures reader;
  MPI_Recv(&reader, sizeof reader, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double scale = 1e3 / static_cast<double>(steps);
  std::printf(
      R"({"way": "%s", "n": %d, "fill": %.6g, "added": %.6g, "read": %.6g, "end_to_end": %.6g, "largest_batch": %d})"
      "\n",
      way.name().c_str(), static_cast<int>(n), figures.fill * scale, figures.added * scale, reader.read * scale,
      figures.end * scale, static_cast<int>(reader.largest_batch));
  std::fflush(stdout);
}

// Returns true if the two processes are on different nodes.
bool are_apart() {
  MPI_Comm node = MPI_COMM_NULL;
  int size = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  return size == 1;
}

void run_all(std::uint64_t slots, int rounds, const std::vector<std::uint64_t>& sizes) {
  Setting setting;
  MPI_Comm_rank(MPI_COMM_WORLD, &setting.rank);
  const std::uint64_t most = steps_of_n * *std::max_element(sizes.begin(), sizes.end());
  setting.slots = slots;
  setting.waits = slots < most;
  setting.apart = are_apart();
  setting.field = touched_memory(step_bytes);
  couplet_universe* universe = nullptr;
  if (setting.rank != 0 && !setting.apart) {  // apart, no rank has a window
    setenv("COUPLET_MPI_WINDOW_BYTES", "0", 1);
  }
  must(couplet_join_mpi(setting.rank == 0 ? "ocean" : "nowcast", MPI_COMM_SELF, nullptr, &universe), "join");
  {
    std::unique_ptr<Destinations> destinations;
    if (setting.rank == 1) {
      destinations = std::make_unique<Destinations>(std::min(most, slots));
    }
    Ways ways;
    add_mapped_ways(setting, universe, ways);
    add_mpi_ways(setting, ways);
    std::int64_t step = 0;
    std::size_t first = 0;
    for (int round = 0; round < rounds; ++round) {
      for (const std::uint64_t n : sizes) {
        for (std::size_t index = 0; index < ways.size(); ++index) {
          run(*ways[(first + index) % ways.size()], n, step, setting, destinations.get());
        }
        ++first;
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    while (!ways.empty()) {
      ways.pop_back();
    }
  }
  must(couplet_leave(universe), "leave");
}

}  // namespace
}  // namespace couplet::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 4) {
    couplet::bench::give_up("usage: paper SLOTS ROUNDS N...");
  }
  std::vector<std::uint64_t> sizes;
  for (int index = 3; index < argc; ++index) {
    sizes.push_back(std::strtoull(argv[index], nullptr, 10));
  }
  couplet::bench::run_all(std::strtoull(argv[1], nullptr, 10), std::atoi(argv[2]), sizes);
  MPI_Finalize();
  return 0;
}
