// The methods of src/exchange/mpi under SimGrid: each is made, and carries out rounds of one pattern. Prints a line for
// each method: its name and the seconds of a round, or why it is left out.
//
// The methods are the project's own code. What the library has above them is replaced: messages that are packed by a
// plan by a fill, the members' talk by calls of MPI, and the engine's waiting by polls, each of which takes the time
// that SimGrid has for a test.
#include "exchange/mpi/methods.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>

#include "exchange/mpi/job.hpp"
#include "mpi_talk.hpp"
#include "pattern.hpp"

namespace {

using namespace couplet;
using namespace couplet::exchange;

struct Options {
  scale::Pattern pattern;
  int rounds = 10;
  int warm_up = 2;
  std::vector<std::string> methods;
};

double stamp(int sender, int receiver, int round) {
  return sender * 1e6 + receiver + round * 1e-3;
}

// Carries out the rounds of one method, and checks what arrives.
class Player {
 public:
  Player(Method& method, std::span<const scale::Neighbor> neighbors, int rank)
      : method_(method), neighbors_(neighbors), rank_(rank), ports_(neighbors.size()) {
    std::iota(ports_.begin(), ports_.end(), 0U);
  }

  Status round(int number) {
    COUPLET_TRY(method_.begin(ports_, ports_));
    for (const std::uint32_t port : ports_) {
      std::byte* memory = nullptr;
      while ((memory = method_.outgoing(port)) == nullptr) {
        COUPLET_TRY(method_.poll());
      }
      const auto& neighbor = neighbors_[port];
      auto* const values = reinterpret_cast<double*>(memory);
      std::fill_n(values, neighbor.out_doubles, stamp(rank_, neighbor.rank, number));
      COUPLET_TRY(method_.send(port, static_cast<std::uint64_t>(neighbor.out_doubles) * sizeof(double)));
    }
    COUPLET_TRY(method_.all_sent());
    while (!is_over()) {
      COUPLET_TRY(method_.poll());
    }
    for (const std::uint32_t port : ports_) {
      COUPLET_TRY(check(port, number));
    }
    return method_.end();
  }

 private:
  bool is_over() const {
    return method_.is_complete() &&
           std::all_of(ports_.begin(), ports_.end(), [this](std::uint32_t port) { return method_.has_arrived(port); });
  }
  Status check(std::uint32_t port, int number) const {
    const auto& neighbor = neighbors_[port];
    const auto bytes = method_.incoming(port);
    const auto* const values = reinterpret_cast<const double*>(bytes.data());
    const double expected = stamp(neighbor.rank, rank_, number);
    const bool is_right =
        bytes.size() == static_cast<std::uint64_t>(neighbor.in_doubles) * sizeof(double) &&
        std::all_of(values, values + neighbor.in_doubles, [expected](double value) { return value == expected; });
    return is_right ? Status()
                    : fail(Code::protocol, "round {}: what rank {} has got from rank {} is wrong", number, rank_,
                           neighbor.rank);
  }

  Method& method_;
  std::span<const scale::Neighbor> neighbors_;
  int rank_;
  std::vector<std::uint32_t> ports_;
};

// Returns the seconds of a round at the rank for which they are most.
Result<double> measure(Method& method, std::span<const scale::Neighbor> neighbors, int rank, const Options& options) {
  Player player(method, neighbors, rank);
  double start = 0.0;
  for (int round = -options.warm_up; round < options.rounds; ++round) {
    if (round == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
    }
    COUPLET_TRY(player.round(round));
  }
  const double own = (MPI_Wtime() - start) / options.rounds;
  double longest = 0.0;
  MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  while (true) {
    COUPLET_TRY_VALUE(const bool is_closed, method.close());
    if (is_closed) {
      return longest;
    }
  }
}

Result<double> play(Maker& maker, int rank, int size, const Options& options) {
  const auto neighbors = scale::neighbors_of(options.pattern, rank, size);
  std::vector<Port> ports;
  std::vector<int> peers;
  for (const auto& neighbor : neighbors) {
    ports.push_back({neighbor.rank, static_cast<std::uint64_t>(neighbor.out_doubles) * sizeof(double),
                     static_cast<std::uint64_t>(neighbor.in_doubles) * sizeof(double), true, true, true});
    peers.push_back(neighbor.rank);
  }
  MpiTalk talk(MPI_COMM_WORLD, peers);
  Setting setting;
  setting.rank = rank;
  setting.size = size;
  setting.ports = ports;
  setting.name = "scale";
  COUPLET_TRY_VALUE(const auto method, maker.make(setting, talk));
  return measure(*method, neighbors, rank, options);
}

bool parse(int count, char** words, Options& options) {
  for (int index = 1; index + 1 < count; index += 2) {
    const std::string name = words[index];
    std::istringstream value(words[index + 1]);
    std::string one;
    if (name == "--pattern") {
      options.pattern.kind = value.str();
    } else if (name == "--neighbors") {
      value >> options.pattern.neighbors;
    } else if (name == "--doubles") {
      value >> options.pattern.min_doubles;
      value.ignore();
      value >> options.pattern.max_doubles;
    } else if (name == "--seed") {
      value >> options.pattern.seed;
    } else if (name == "--rounds") {
      value >> options.rounds;
    } else if (name == "--warm-up") {
      value >> options.warm_up;
    } else if (name == "--methods") {
      while (std::getline(value, one, ',')) {
        options.methods.push_back(one);
      }
    } else {
      return false;
    }
  }
  return count % 2 == 1;
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Options options;
  int status = parse(count, words, options) ? 0 : 2;
  if (status == 0) {
    auto job = Job::open(MPI_COMM_WORLD, Job::Threads::one, 1);
    for (const auto& maker : mpi_methods(*job)) {
      const std::string name(maker->name());
      if (std::find(options.methods.begin(), options.methods.end(), name) == options.methods.end()) {
        continue;
      }
      const auto seconds = play(*maker, rank, size, options);
      if (!seconds && seconds.code() == Code::protocol) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), seconds.status().text().c_str());
        status = 1;
      }
      if (rank == 0 && seconds) {
        std::printf("method %s %.9e\n", name.c_str(), *seconds);
      } else if (rank == 0) {
        std::printf("left_out %s %s\n", name.c_str(), seconds.status().text().c_str());
      }
      std::fflush(stdout);
    }
  }
  MPI_Finalize();
  return status;
}
