// couplet-probe-FLAVOUR: the timings of a design, as lines on standard output (docs/formats/cost.md).
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "probe/design.hpp"
#include "probe/mpi/exchange.hpp"
#include "probe/mpi/loggp.hpp"
#include "probe/mpi/longest.hpp"
#include "probe/mpi/options.hpp"

namespace {

using namespace couplet::probe;

constexpr int max_ping_pong_loops = 200;
constexpr std::size_t ping_pong_bytes = std::size_t{1} << 22U;  // about so many in one timing
constexpr std::size_t host_bytes = MPI_MAX_PROCESSOR_NAME;

struct World {
  int rank = 0;
  int size = 1;
  std::vector<int> node_of_rank;
};

// Rank 0 says what is wrong; all ranks end with the same status.
int refuse(const World& world, const std::string& text) {
  if (world.rank == 0) {
    std::fprintf(stderr, "couplet-probe: %s\n%s", text.c_str(), usage);
  }
  MPI_Finalize();
  return 2;
}

// The core that this process is bound to; -1 if it may move.
int bound_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) != 1) {
    return -1;
  }
  return sched_getcpu();
}

// Fills in the node of each rank, by host if the options do not tell, and prints where everybody is. The return value
// is empty, or says what is wrong.
std::string find_nodes(World& world, const Options& options) {
  std::array<char, host_bytes> host{};
  int length = 0;
  MPI_Get_processor_name(host.data(), &length);
  std::vector<char> hosts(host_bytes * static_cast<std::size_t>(world.size));
  MPI_Allgather(host.data(), host_bytes, MPI_CHAR, hosts.data(), host_bytes, MPI_CHAR, MPI_COMM_WORLD);
  const int core = bound_core();
  std::vector<int> cores(static_cast<std::size_t>(world.size));
  MPI_Gather(&core, 1, MPI_INT, cores.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  const auto host_of = [&](std::size_t rank) { return std::string(hosts.data() + rank * host_bytes); };
  if (options.node_of_rank.empty()) {
    std::vector<std::string> known;
    for (std::size_t rank = 0; rank < cores.size(); ++rank) {
      const auto found = std::find(known.begin(), known.end(), host_of(rank));
      world.node_of_rank.push_back(static_cast<int>(found - known.begin()));
      if (found == known.end()) {
        known.push_back(host_of(rank));
      }
    }
  } else {
    world.node_of_rank = options.node_of_rank;
    if (world.node_of_rank.size() != cores.size()) {
      return "--node-of-rank names " + std::to_string(world.node_of_rank.size()) + " ranks, and there are " +
             std::to_string(world.size);
    }
    const int last = *std::max_element(world.node_of_rank.begin(), world.node_of_rank.end());
    for (int node = 0; node <= last; ++node) {
      if (std::find(world.node_of_rank.begin(), world.node_of_rank.end(), node) == world.node_of_rank.end()) {
        return "--node-of-rank: node " + std::to_string(node) + " has no rank";
      }
    }
  }
  for (std::size_t rank = 0; world.rank == 0 && rank < cores.size(); ++rank) {
    std::printf("process %zu %d %s %d\n", rank, world.node_of_rank[rank], host_of(rank).c_str(), cores[rank]);
  }
  return {};
}

// With 2, there are three cells with messages, and a plane has three coefficients.
constexpr int min_half_star = 3;

// How many pairs the cells go up to: what the options or the cores say, as far as there are partners.
int choose_half_star(const World& world, const Options& options) {
  int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  MPI_Bcast(&cores, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (world.rank == 0) {
    std::printf("cores %d\n", cores);
  }
  if (options.half_star != 0) {
    return options.half_star;
  }
  if (!options.node_of_rank.empty()) {  // a rehearsed node: it has as many pairs as ranks
    return std::max(min_half_star,
                    static_cast<int>(std::count(world.node_of_rank.begin(), world.node_of_rank.end(), 0)));
  }
  return std::max(min_half_star, cores / 2);
}

void print_times(const std::vector<double>& times) {
  for (const double seconds : times) {
    std::printf(" %.9e", seconds);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// How ranks were grouped into nodes.
const char* node_source(const Options& options) {
  if (is_simulated()) {
    return "simulated";
  }
  return options.node_of_rank.empty() ? "hosts" : "given";
}

// What the reader of the lines cannot tell from the times.
void print_options(const Options& options) {
  std::printf("option sub_groups %d\noption partners %s\noption nodes %s\noption warm_up %d\noption repetitions %d\n",
              options.sub_groups, options.partners == Partners::packed ? "packed" : "spread", node_source(options),
              options.warm_up, options.repetitions);
}

// Returns the seconds of each repetition: the time of the hot spot that takes longest.
std::vector<double> measure(Exchange& exchange, bool hot, const Options& options) {
  std::vector<double> times;
  for (int turn = -options.warm_up; turn < options.repetitions; ++turn) {
    const double seconds = exchange.run();
    const double longest = longest_of(hot ? seconds : 0.0);
    if (turn >= 0) {
      times.push_back(longest);
    }
  }
  return times;
}

// The star that a rank belongs to; one without partners for ranks that only wait.
Star star_of(const std::vector<Star>& stars, int rank) {
  for (const Star& star : stars) {
    const auto in = [rank](const std::vector<int>& ranks) {
      return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    if (rank == star.hot_spot || in(star.intra) || in(star.inter)) {
      return star;
    }
  }
  return {};
}

void measure_cells(const World& world, const Options& options, const std::vector<Star>& stars, int half_star) {
  std::size_t max_intra = static_cast<std::size_t>(half_star) - 1;
  std::size_t max_inter = max_intra;
  for (const Star& star : stars) {
    max_intra = std::min(max_intra, star.intra.size());
    max_inter = std::min(max_inter, star.inter.size());
  }
  const auto cells = make_cells(static_cast<int>(max_intra), static_cast<int>(max_inter), options.off_diagonal);
  const Star star = star_of(stars, world.rank);
  const bool hot = star.hot_spot == world.rank;
  const int groups = static_cast<int>(stars.size());
  if (world.rank == 0) {
    std::printf("cells %zu\n", 2 * cells.size() * options.message_bytes.size());
    std::fflush(stdout);
  }
  std::vector<char> memory;
  for (const std::size_t bytes : options.message_bytes) {
    for (const Cell& cell : cells) {
      for (const PostingOrder order : {PostingOrder::intra_first, PostingOrder::inter_first}) {
        const bool taken = hot || !star.intra.empty() || !star.inter.empty();
        Exchange exchange(star, taken ? cell : Cell{}, order, world.rank, bytes, memory);
        const auto times = measure(exchange, hot && taken, options);
        if (world.rank == 0) {
          const char* name = order == PostingOrder::intra_first ? "intra_first" : "inter_first";
          std::printf("cell %s %zu %d %d %d %d", name, bytes, groups * cell.intra_in, groups * cell.intra_out,
                      groups * cell.inter_in, groups * cell.inter_out);
          print_times(times);
        }
      }
    }
  }
}

void measure_curve(const World& world, const Options& options, const char* name, int first, int second) {
  std::vector<char> memory;
  for (const std::size_t bytes : options.curve_bytes) {
    const auto wanted = ping_pong_bytes / std::max<std::size_t>(bytes, 1);
    const int loops = static_cast<int>(std::clamp<std::size_t>(wanted, 1, max_ping_pong_loops));
    std::vector<double> times;
    for (int turn = -options.warm_up; turn < options.repetitions; ++turn) {
      const double longest = longest_of(ping_pong(world.rank, first, second, bytes, loops, memory));
      if (turn >= 0) {
        times.push_back(longest);
      }
    }
    if (world.rank == 0) {
      std::printf("curve %s %zu", name, bytes);
      print_times(times);
    }
  }
}

// What one message costs inside a node and between nodes, as far as there are partners.
void measure_ways(const World& world, const Options& options, const Star& star) {
  if (options.curve_bytes.empty()) {
    return;
  }
  if (!star.intra.empty()) {
    measure_curve(world, options, "intra", star.hot_spot, star.intra.front());
    measure_loggp(world.rank, options, "intra", star.hot_spot, star.intra.front());
  }
  if (!star.inter.empty()) {
    measure_curve(world, options, "inter", star.hot_spot, star.inter.front());
    measure_loggp(world.rank, options, "inter", star.hot_spot, star.inter.front());
  }
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  Options options;
  if (const auto wrong = parse_options(count, words, options); !wrong.empty()) {
    return refuse(world, wrong);
  }
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
  int length = 0;
  MPI_Get_library_version(library.data(), &length);
  if (world.rank == 0) {
    std::printf("couplet-probe 1\nmpi %.*s\n", static_cast<int>(std::strcspn(library.data(), "\n\r")), library.data());
    print_options(options);
  }
  if (const auto wrong = find_nodes(world, options); !wrong.empty()) {
    return refuse(world, wrong);
  }
  const auto stars = make_stars(world.node_of_rank, options.sub_groups, options.partners);
  if (stars.empty()) {
    return refuse(world, "--sub-groups " + std::to_string(options.sub_groups) + ": node 0 has fewer ranks");
  }
  const int half_star = choose_half_star(world, options);
  if (world.rank == 0) {
    std::printf("half_star %d\n", half_star);
    for (const Star& star : stars) {
      std::printf("hot_spot %d\n", star.hot_spot);
    }
  }
  measure_cells(world, options, stars, half_star);
  measure_ways(world, options, stars[0]);
  if (world.rank == 0) {
    std::printf("done\n");
  }
  settle();
  MPI_Finalize();
  return 0;
}
