// The exchange of examples/tile-io without its files, which SimGrid does not simulate. Prints the seconds of the rank
// that takes longest.
#include "two_phase.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "options.hpp"

int main(int count, char** words) {
  using namespace tile_io;
  MPI_Init(&count, &words);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Options options;
  const std::string wrong = parse_options(count, words, options);
  if (!wrong.empty() || size != options.tiles.rank_count()) {
    std::fprintf(stderr, "two_phase: %s\n", wrong.empty() ? "as many ranks as tiles are needed" : wrong.c_str());
    MPI_Finalize();
    return 2;
  }
  TwoPhase exchange(MPI_COMM_WORLD, options.tiles, options.node_set, options.buffer_bytes / element_bytes,
                    options.order);
  const std::vector<Element> tile(static_cast<std::size_t>(options.tiles.tile_count()), 1.0);
  double seconds = 0.0;
  for (int iteration = 0; iteration < exchange.iteration_count(); ++iteration) {
    double longest = 0.0;
    const double own = exchange.collect(iteration, tile);
    MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    seconds += longest;
  }
  if (rank == 0) {
    std::printf("seconds %.9e\n", seconds);
  }
  MPI_Finalize();
  return 0;
}
