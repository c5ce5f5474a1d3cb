// A series in the window of one MPI job: programs "sky" and "eye" of one launch. Every element of a step tells what it is.
// usage: windows.<flavour> write ROWS COLUMNS STEPS PAUSES  grid of the writer ranks; the slots are a setting; PAUSES: 1:
//        the writer pauses at random, and lets the library work meanwhile
//        windows.<flavour> read ROWS COLUMNS hold|follow EVERY TORN
// A reader prints what it counted. Whatever is wrong ends the job.
#include <couplet/couplet_mpi.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t rows = 61;
constexpr std::int64_t columns = 83;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "windows: %s\n", what.c_str());
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

// Rank's cell of a grid over [from, to): unequal parts.
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

void write(couplet_universe* universe, const Box& box, std::int64_t steps, bool pauses) {
  std::minstd_rand random(7);
  const std::int64_t shape[2] = {rows, columns};
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, "sky", COUPLET_INT32, 2, shape, box.start, box.stop, nullptr, &series),
       "create");
  std::vector<std::int32_t> data(box.elements());
  for (std::int64_t step = 0; step < steps; ++step) {
    std::size_t at = 0;
    for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
      for (std::int64_t column = box.start[1]; column < box.stop[1]; ++column) data[at++] = element(step, row, column);
    }
    must(couplet_series_put(series, data.data(), step), "put");
    for (unsigned pause = pauses ? static_cast<unsigned>(random() % 8) : 0; pause > 0; --pause) {
      must(couplet_progress(universe), "progress");
      usleep(static_cast<useconds_t>(random() % 20));
    }
  }
  must(couplet_series_close(series), "close");
}

// False: some element is of another step.
bool is_whole(const std::int32_t* data, const Box& box, std::int64_t step) {
  for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
    for (std::int64_t column = box.start[1]; column < box.stop[1]; ++column) {
      if (*data++ != element(step, row, column)) return false;
    }
  }
  return true;
}

void read(couplet_universe* universe, const Box& box, bool hold, std::uint64_t every, bool torn, int rank) {
  couplet_open_options options;
  couplet_open_options_init(&options);
  options.mode = hold ? COUPLET_HOLD : COUPLET_FOLLOW;
  options.start = box.start;
  options.stop = box.stop;
  options.dimensions = 2;
  options.every = every;
  options.torn = torn ? 1 : 0;
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, "sky", &options, &series), "open");
  couplet_series_info info{};
  info.struct_bytes = sizeof info;
  must(couplet_series_describe(series, &info), "describe");
  if (std::strcmp(info.route, "window") != 0) give_up(std::string("read by ") + info.route);
  std::minstd_rand random(static_cast<unsigned>(rank + 1));
  std::uint64_t marked = 0;
  std::uint64_t mixed = 0;
  for (;;) {
    couplet_batch batch{};
    batch.struct_bytes = sizeof batch;
    if (must(couplet_series_read(series, 1, 1 + random() % 5, -1, nullptr, 0, &batch), "read") == COUPLET_END) break;
    const auto* data = static_cast<const std::int32_t*>(batch.data);
    for (std::uint64_t number = 0; number < batch.count; ++number, data += box.elements()) {
      const bool whole = is_whole(data, box, batch.steps[number]);
      const bool mark = batch.torn != nullptr && batch.torn[number] != 0;
      marked += mark ? 1 : 0;
      mixed += whole ? 0 : 1;
      if (!whole && !mark) {
        give_up("step " + std::to_string(batch.steps[number]) + " is mixed, and has no mark");
      }
    }
    if (!hold && random() % 4 == 0) usleep(static_cast<useconds_t>(random() % 300));
  }
  couplet_series_statistics counted{};
  counted.struct_bytes = sizeof counted;
  must(couplet_series_count(series, &counted), "count");
  std::printf(
      "eye %d published=%llu first=%llu delivered=%llu lost=%llu torn=%llu skipped=%llu pending=%llu marked=%llu "
      "mixed=%llu\n",
      rank, static_cast<unsigned long long>(counted.published), static_cast<unsigned long long>(counted.first),
      static_cast<unsigned long long>(counted.delivered), static_cast<unsigned long long>(counted.lost),
      static_cast<unsigned long long>(counted.lost_torn), static_cast<unsigned long long>(counted.skipped),
      static_cast<unsigned long long>(counted.pending), static_cast<unsigned long long>(marked),
      static_cast<unsigned long long>(mixed));
  std::fflush(stdout);
  must(couplet_series_close(series), "close");
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count < 6) give_up("see the usage");
  const bool writes = std::strcmp(words[1], "write") == 0;
  const int grid_rows = std::atoi(words[2]);
  const int grid_columns = std::atoi(words[3]);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, writes ? 0 : 1, 0, &own);
  int rank = 0;
  MPI_Comm_rank(own, &rank);
  couplet_universe* universe = nullptr;
  must(couplet_join_mpi(writes ? "sky" : "eye", own, nullptr, &universe), "join");
  if (writes) {
    write(universe, cell(rank, grid_rows, grid_columns, {{0, 0}, {rows, columns}}), std::atoll(words[4]),
          std::atoi(words[5]) != 0);
  } else {
    read(universe, cell(rank, grid_rows, grid_columns, {{7, 5}, {rows, columns - 3}}),
         std::strcmp(words[4], "hold") == 0, static_cast<std::uint64_t>(std::atoll(words[5])), std::atoi(words[6]) != 0,
         rank);
  }
  must(couplet_leave(universe), "leave");
  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}
