// A series "sky" that program "sky" writes and program "eye" reads: in one MPI job, through its window, or each in a
// job of its own. Every element of a step says to which step and place it belongs, and a reader checks all of them.
// usage: sky.<flavour> write ROWS COLUMNS EXTENT STEPS PAUSE_US
//        sky.<flavour> read ROWS COLUMNS EXTENT ROUTE hold|follow EVERY TORN AT_ONCE
// ROWS, COLUMNS: grid of the ranks. EXTENT: extent of the first dimension, the other is 22 more; the slots are a
// setting. PAUSE_US: after about every eighth step the writer lets the library work, and sleeps, for a random time up
// to this; 0: never. AT_ONCE: steps of each read; 0: one to five at random. A reader prints what it has counted, and
// the first one prints the output of couplet_universe_explain to stderr. Any error ends the job.
#include <couplet/couplet_mpi.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "sky: %s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}
couplet_status must(couplet_status status, const char* what) {
  if (status < 0) {
    give_up(std::string(what) + ": " + couplet_status_name(status) + ": " + couplet_error_text());
  }
  return status;
}

std::int32_t element(std::int64_t step, std::int64_t row, std::int64_t column) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(step * 1000003 + row * 1009 + column));
}

struct Box {
  std::int64_t start[2];
  std::int64_t stop[2];
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>((stop[0] - start[0]) * (stop[1] - start[1]));
  }
};

// Returns a rank's cell of a grid over [from, to), in unequal parts.
Box cell(int rank, int grid_rows, int grid_columns, const Box& whole) {
  const std::int64_t place[2] = {rank / grid_columns, rank % grid_columns};
  const std::int64_t count[2] = {grid_rows, grid_columns};
  Box box{};
  for (int dimension = 0; dimension < 2; ++dimension) {
    const std::int64_t extent = whole.stop[dimension] - whole.start[dimension];
    box.start[dimension] =
        whole.start[dimension] + extent * place[dimension] * place[dimension] / (count[dimension] * count[dimension]);
    box.stop[dimension] = whole.start[dimension] + extent * (place[dimension] + 1) * (place[dimension] + 1) /
                                                       (count[dimension] * count[dimension]);
  }
  return box;
}

// Pauses for a random time up to the longest.
void pause(couplet_universe* universe, std::minstd_rand& random, unsigned longest_us) {
  if (longest_us == 0 || random() % 8 != 0) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % longest_us);
  do {
    must(couplet_universe_progress(universe), "progress");
    usleep(static_cast<useconds_t>(random() % 20));
  } while (std::chrono::steady_clock::now() < end);
}

void write(couplet_universe* universe, const Box& whole, const Box& box, std::int64_t steps, unsigned pause_us) {
  std::minstd_rand random(7);
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, "sky", COUPLET_INT32, 2, whole.stop, box.start, box.stop, nullptr, &series),
       "create");
  std::vector<std::int32_t> data(box.elements());
  for (std::int64_t step = 0; step < steps; ++step) {
    std::size_t at = 0;
    for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
      for (std::int64_t column = box.start[1]; column < box.stop[1]; ++column) data[at++] = element(step, row, column);
    }
    must(couplet_series_put(series, data.data(), step), "put");
    pause(universe, random, pause_us);
  }
  must(couplet_series_close(series), "close");
}

// Returns false if an element belongs to another step.
bool is_whole(const std::int32_t* data, const Box& box, std::int64_t step) {
  for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
    for (std::int64_t column = box.start[1]; column < box.stop[1]; ++column) {
      if (*data++ != element(step, row, column)) return false;
    }
  }
  return true;
}

struct Wanted {
  std::string route;
  bool hold = true;
  std::uint64_t every = 1;
  bool torn = false;
  std::uint64_t at_once = 0;
};

couplet_series* open(couplet_universe* universe, const Box& box, const Wanted& wanted) {
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.mode = wanted.hold ? COUPLET_SERIES_HOLD : COUPLET_SERIES_FOLLOW;
  options.start = box.start;
  options.stop = box.stop;
  options.dimensions = 2;
  options.every = wanted.every;
  options.torn = wanted.torn ? 1 : 0;
  if (wanted.at_once > 0) {  // slots of the reader's node, if the series is on another one
    options.buffer_bytes = std::max<std::uint64_t>(2, wanted.at_once) * (box.elements() * 4 + 8192);
  }
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, "sky", &options, &series), "open");
  couplet_series_info info{};
  info.struct_bytes = sizeof info;
  must(couplet_series_describe(series, &info), "describe");
  if (wanted.route != info.route) give_up(std::string("read by ") + info.route);
  return series;
}

struct Seen {
  std::uint64_t steps = 0;
  std::uint64_t marked = 0;
  std::uint64_t mixed = 0;
  std::int64_t last = -1;
};

void look(const couplet_series_batch& batch, const Box& box, Seen& seen) {
  const auto* data = static_cast<const std::int32_t*>(batch.data);
  for (std::uint64_t number = 0; number < batch.count; ++number, data += box.elements()) {
    const std::int64_t step = batch.steps[number];
    const bool whole = is_whole(data, box, step);
    const bool mark = batch.torn != nullptr && batch.torn[number] != 0;
    if (!whole && !mark) give_up("step " + std::to_string(step) + " is mixed, and has no mark");
    if (step <= seen.last) give_up("step " + std::to_string(step) + " after " + std::to_string(seen.last));
    seen.last = step;
    seen.marked += mark ? 1 : 0;
    seen.mixed += whole ? 0 : 1;
    ++seen.steps;
  }
}

void report(couplet_series* series, int rank, const Seen& seen) {
  couplet_series_statistics counted{};
  counted.struct_bytes = sizeof counted;
  must(couplet_series_get_statistics(series, &counted), "count");
  if (counted.delivered != seen.steps) give_up("delivered is not the number of steps that came");
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "eye %d published=%llu first=%llu delivered=%llu lost=%llu torn=%llu skipped=%llu pending=%llu marked=%llu "
      "mixed=%llu\n",
      rank, number(counted.published), number(counted.first), number(counted.delivered), number(counted.lost),
      number(counted.lost_torn), number(counted.skipped), number(counted.pending), number(seen.marked),
      number(seen.mixed));
  std::fflush(stdout);
}

void read(couplet_universe* universe, const Box& box, const Wanted& wanted, int rank) {
  couplet_series* const series = open(universe, box, wanted);
  std::minstd_rand random(static_cast<unsigned>(rank + 1));
  Seen seen;
  for (;;) {
    couplet_series_batch batch{};
    batch.struct_bytes = sizeof batch;
    const std::uint64_t least = wanted.at_once > 0 ? wanted.at_once : 1;
    const std::uint64_t most = wanted.at_once > 0 ? wanted.at_once : 1 + random() % 5;
    if (must(couplet_series_read(series, least, most, -1, nullptr, 0, &batch), "read") == COUPLET_END) break;
    look(batch, box, seen);
    if (random() % (wanted.hold ? 64 : 4) == 0) usleep(static_cast<useconds_t>(random() % 300));
  }
  report(series, rank, seen);
  must(couplet_series_close(series), "close");
}

// It is printed separately from the counts: a launcher may put lines of one rank into a long text of another.
void explain(couplet_universe* universe) {
  std::string text(1 << 16, '\0');
  std::size_t needed = 0;
  must(couplet_universe_explain(universe, text.data(), text.size(), &needed), "explain");
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const bool writes = count == 7 && std::strcmp(words[1], "write") == 0;
  if (!writes && count != 10) give_up("see the usage");
  const int grid_rows = std::atoi(words[2]);
  const int grid_columns = std::atoi(words[3]);
  const std::int64_t extent = std::atoll(words[4]);
  const Box whole = {{0, 0}, {extent, extent + 22}};
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, writes ? 0 : 1, 0, &own);
  int rank = 0;
  MPI_Comm_rank(own, &rank);
  couplet_universe* universe = nullptr;
  must(couplet_join_mpi(writes ? "sky" : "eye", own, nullptr, &universe), "join");
  if (writes) {
    write(universe, whole, cell(rank, grid_rows, grid_columns, whole), std::atoll(words[5]),
          static_cast<unsigned>(std::atoi(words[6])));
  } else {
    const Box part = {{7, 5}, {whole.stop[0], whole.stop[1] - 3}};
    read(universe, cell(rank, grid_rows, grid_columns, part),
         {words[5], std::strcmp(words[6], "hold") == 0, static_cast<std::uint64_t>(std::atoll(words[7])),
          std::atoi(words[8]) != 0, static_cast<std::uint64_t>(std::atoll(words[9]))},
         rank);
    if (rank == 0) explain(universe);
  }
  must(couplet_leave(universe), "leave");
  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}
