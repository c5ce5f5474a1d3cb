// tile_io: an array of tiles, one for each rank, is written into a file and read again, twice: by the exchange in
// two_phase.hpp, which is timed and counted apart from the file phase, and by MPI-IO's collective calls, of which only
// the total can be timed. The contents are checked each time.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "options.hpp"
#include "two_phase.hpp"

namespace {

using namespace tile_io;

constexpr Element unread = -1.0;

struct Seconds {
  double exchange = 0.0;
  double file = 0.0;
};

// Ends all ranks if a call on a file fails: the others would wait for this one.
void require(int code, const char* call, const std::string& path) {
  if (code == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::fprintf(stderr, "tile_io: %s of %s: %.*s\n", call, path.c_str(), length, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

class File {
 public:
  File(const std::string& path, int mode, MPI_Info info) : path_(path) {
    require(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, info, &file_), "MPI_File_open", path);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { MPI_File_close(&file_); }
  [[nodiscard]] MPI_File get() const noexcept { return file_; }
  void check(int code, const char* call) const { require(code, call, path_); }

 private:
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

double longest(double seconds) {
  double all = 0.0;
  MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

// The value of an element is its place in the file.
std::vector<Element> make_tile(const Tiles& tiles, int rank) {
  std::vector<Element> tile(static_cast<std::size_t>(tiles.tile_count()));
  for (const Run& run : tiles.overlap(rank, {0, tiles.file_count()})) {
    std::iota(tile.begin() + run.in_tile, tile.begin() + run.in_tile + run.count, static_cast<Element>(run.in_file));
  }
  return tile;
}

Seconds write_two_phase(TwoPhase& exchange, const std::vector<Element>& tile, const std::string& path) {
  Seconds seconds;
  const File file(path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL);
  for (int iteration = 0; iteration < exchange.iteration_count(); ++iteration) {
    seconds.exchange += longest(exchange.collect(iteration, tile));
    const Range part = exchange.part(iteration);
    const double start = MPI_Wtime();
    if (part.count() > 0) {
      file.check(MPI_File_write_at(file.get(), part.start * element_bytes, exchange.buffer().data(),
                                   static_cast<int>(part.count()), MPI_DOUBLE, MPI_STATUS_IGNORE),
                 "MPI_File_write_at");
    }
    seconds.file += longest(MPI_Wtime() - start);
  }
  return seconds;
}

Seconds read_two_phase(TwoPhase& exchange, std::vector<Element>& tile, const std::string& path) {
  Seconds seconds;
  const File file(path, MPI_MODE_RDONLY, MPI_INFO_NULL);
  for (int iteration = 0; iteration < exchange.iteration_count(); ++iteration) {
    const Range part = exchange.part(iteration);
    const double start = MPI_Wtime();
    if (part.count() > 0) {
      file.check(MPI_File_read_at(file.get(), part.start * element_bytes, exchange.buffer().data(),
                                  static_cast<int>(part.count()), MPI_DOUBLE, MPI_STATUS_IGNORE),
                 "MPI_File_read_at");
    }
    seconds.file += longest(MPI_Wtime() - start);
    seconds.exchange += longest(exchange.distribute(iteration, tile));
  }
  return seconds;
}

// MPI-IO with as many aggregators and the same buffer. Hints are only hints: another implementation may do otherwise.
class Collective {
 public:
  Collective(const Options& options, int rank, const std::string& path) : path_(path) {
    const Tiles& tiles = options.tiles;
    const int whole[] = {static_cast<int>(tiles.rows * tiles.tile_rows), static_cast<int>(tiles.width())};
    const int part[] = {static_cast<int>(tiles.tile_rows), static_cast<int>(tiles.tile_columns)};
    const int start[] = {(rank / tiles.columns) * part[0], (rank % tiles.columns) * part[1]};
    MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &view_);
    MPI_Type_commit(&view_);
    MPI_Info_create(&hints_);
    const std::string nodes = std::to_string(options.node_set.size());
    MPI_Info_set(hints_, "cb_nodes", nodes.c_str());
    MPI_Info_set(hints_, "cb_config_list", ("*:" + nodes).c_str());
    MPI_Info_set(hints_, "cb_buffer_size", std::to_string(options.buffer_bytes).c_str());
    MPI_Info_set(hints_, "romio_cb_write", "enable");
    MPI_Info_set(hints_, "romio_cb_read", "enable");
  }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective() {
    MPI_Info_free(&hints_);
    MPI_Type_free(&view_);
  }

  double write(const std::vector<Element>& tile) {
    const File file(path_, MPI_MODE_CREATE | MPI_MODE_WRONLY, hints_);
    const double start = begin(file);
    file.check(
        MPI_File_write_all(file.get(), tile.data(), static_cast<int>(tile.size()), MPI_DOUBLE, MPI_STATUS_IGNORE),
        "MPI_File_write_all");
    return longest(MPI_Wtime() - start);
  }
  double read(std::vector<Element>& tile) {
    const File file(path_, MPI_MODE_RDONLY, hints_);
    const double start = begin(file);
    file.check(MPI_File_read_all(file.get(), tile.data(), static_cast<int>(tile.size()), MPI_DOUBLE, MPI_STATUS_IGNORE),
               "MPI_File_read_all");
    return longest(MPI_Wtime() - start);
  }

 private:
  double begin(const File& file) {
    char native[] = "native";
    file.check(MPI_File_set_view(file.get(), 0, MPI_DOUBLE, view_, native, hints_), "MPI_File_set_view");
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
  }

  std::string path_;
  MPI_Datatype view_ = MPI_DATATYPE_NULL;
  MPI_Info hints_ = MPI_INFO_NULL;
};

// The messages of each node, by the rule of `couplet predict`: one from a rank to an aggregator counts once in the
// node (ca), or once in the node of either (ce), in however many iterations it is sent.
struct NodeCounts {
  std::vector<std::int64_t> inside;
  std::vector<std::int64_t> outside;
  std::int64_t messages = 0;
};

NodeCounts add_up(const Counts& own, int node, std::size_t node_count) {
  NodeCounts all{std::vector<std::int64_t>(node_count), std::vector<std::int64_t>(node_count), own.messages};
  all.inside[static_cast<std::size_t>(node)] = static_cast<std::int64_t>(own.inside.size());
  all.outside[static_cast<std::size_t>(node)] =
      static_cast<std::int64_t>(own.sent_outside.size() + own.received_from_outside.size());
  const auto add = [](std::int64_t* numbers, std::size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, numbers, static_cast<int>(count), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  };
  add(all.inside.data(), node_count);
  add(all.outside.data(), node_count);
  add(&all.messages, 1);
  return all;
}

// Prints "name": [...] of numbers.
template <typename Number>
void print_list(const char* name, const std::vector<Number>& numbers) {
  std::printf(", \"%s\": [", name);
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    std::printf("%s%.9g", index == 0 ? "" : ", ", static_cast<double>(numbers[index]));
  }
  std::printf("]");
}

// The seconds of each repetition.
struct Times {
  std::vector<double> write_exchange, write_file, write_mpi_io;
  std::vector<double> read_exchange, read_file, read_mpi_io;
};

void print_result(const Options& options, const TwoPhase& exchange, const NodeCounts& written, const NodeCounts& read,
                  const Times& times) {
  const std::int64_t file_bytes = options.tiles.file_count() * element_bytes;
  std::printf("{\"tiles\": \"%dx%d\", \"file_bytes\": %lld, \"cb_buffer_size\": %lld, \"iterations\": %d",
              options.tiles.rows, options.tiles.columns, static_cast<long long>(file_bytes),
              static_cast<long long>(options.buffer_bytes), exchange.iteration_count());
  print_list("node_set", options.node_set);
  print_list("ca", written.inside);
  print_list("ce", written.outside);
  print_list("read_ca", read.inside);
  print_list("read_ce", read.outside);
  std::printf(", \"messages\": %lld", static_cast<long long>(written.messages));
  print_list("write_exchange_s", times.write_exchange);
  print_list("write_file_s", times.write_file);
  print_list("write_mpi_io_s", times.write_mpi_io);
  print_list("read_exchange_s", times.read_exchange);
  print_list("read_file_s", times.read_file);
  print_list("read_mpi_io_s", times.read_mpi_io);
  std::printf("}\n");
}

// Returns how many elements differ at all ranks, and says so.
std::int64_t compare(const std::vector<Element>& tile, const std::vector<Element>& found, const char* way, int rank) {
  std::int64_t wrong = 0;
  for (std::size_t index = 0; index < tile.size(); ++index) {
    wrong += tile[index] == found[index] ? 0 : 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (wrong != 0 && rank == 0) {
    std::fprintf(stderr, "tile_io: %s: %lld elements are not what was written\n", way, static_cast<long long>(wrong));
  }
  return wrong;
}

// Both files are read by both ways, so that each way is checked by the other one.
int run(const Options& options, int rank) {
  const std::string ours = options.folder + "/two_phase.dat";
  const std::string theirs = options.folder + "/mpi_io.dat";
  const std::vector<Element> tile = make_tile(options.tiles, rank);
  TwoPhase exchange(MPI_COMM_WORLD, options.tiles, options.node_set, options.buffer_bytes / element_bytes,
                    options.order);
  Collective write_collective(options, rank, theirs);
  Collective read_collective(options, rank, ours);
  Times times;
  NodeCounts written;
  NodeCounts read;
  std::int64_t wrong = 0;
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    const Seconds writing = write_two_phase(exchange, tile, ours);
    written = add_up(exchange.take_counts(), exchange.node(), options.node_set.size());
    times.write_exchange.push_back(writing.exchange);
    times.write_file.push_back(writing.file);
    times.write_mpi_io.push_back(write_collective.write(tile));
    std::vector<Element> found(tile.size(), unread);
    const Seconds reading = read_two_phase(exchange, found, theirs);
    read = add_up(exchange.take_counts(), exchange.node(), options.node_set.size());
    times.read_exchange.push_back(reading.exchange);
    times.read_file.push_back(reading.file);
    wrong += compare(tile, found, "written by MPI-IO, read in two phases", rank);
    std::fill(found.begin(), found.end(), unread);
    times.read_mpi_io.push_back(read_collective.read(found));
    wrong += compare(tile, found, "written in two phases, read by MPI-IO", rank);
  }
  if (rank == 0) {
    print_result(options, exchange, written, read, times);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Options options;
  std::string wrong = parse_options(count, words, options);
  if (wrong.empty() && size != options.tiles.rank_count()) {
    wrong = "there are " + std::to_string(size) + " ranks, and " + std::to_string(options.tiles.rank_count()) +
            " tiles: start one rank for each";
  }
  if (!wrong.empty() && rank == 0) {
    std::fprintf(stderr, "tile_io: %s\n%s", wrong.c_str(), usage);
  }
  const int status = wrong.empty() ? run(options, rank) : 2;
  MPI_Finalize();
  return status;
}
