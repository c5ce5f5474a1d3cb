// A proxy of the coalesced rounds of a lattice-Boltzmann solver, under SimGrid. There are three clients: the kernel (18
// neighbours on a periodic 3-D grid), a monitor (a reduction that climbs a tree of the ranks, one level in each round),
// and the images (the same tree, one image each `period` rounds, one level in each round). The coalesce folder needs
// the core, so only the calls of MPI that it makes are here: MPI_Irecv, MPI_Isend, and MPI_Waitall at each
// synchronisation point. Prints messages and synchronisation points in a round, and seconds, for each way of merging.
#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "pattern.hpp"

namespace {

constexpr int kernel_neighbors = 18;
constexpr int face_doubles = 100;
constexpr int monitor_doubles = 4;
constexpr int image_doubles = 1000;
constexpr double kernel_seconds = 200e-6;
constexpr double image_seconds = 20e-6;
constexpr double imbalance = 0.1;  // the largest part by which a rank's kernel takes longer in a round

enum class Merge { nothing, waits, messages };  // messages: and so the waits

// What one client sends and receives in one round: doubles by peer.
struct Part {
  std::map<int, int> out;
  std::map<int, int> in;
};

struct Totals {
  double communication_s = 0.0;
  long messages = 0;
  long waits = 0;
};

class Rank {
 public:
  Rank(int rank, int size, int period) : rank_(rank), size_(size), period_(period), memory_(1 << 16) {
    scale::Pattern pattern;
    pattern.kind = "3d";
    pattern.neighbors = kernel_neighbors;
    pattern.min_doubles = pattern.max_doubles = face_doubles;
    for (const auto& one : scale::neighbors_of(pattern, rank, size)) {
      kernel_.out[one.rank] = static_cast<int>(one.out_doubles);
      kernel_.in[one.rank] = static_cast<int>(one.in_doubles);
    }
    while ((2 << depth_) - 1 < size) {
      ++depth_;
    }
  }

  void round(int number, Merge merge) {
    couplet::Random random(static_cast<std::uint64_t>(number) * 65536 + static_cast<std::uint64_t>(rank_));
    smpi_execute(kernel_seconds * (1.0 + imbalance * static_cast<double>(random.below(1000)) / 1000.0));
    const std::array<Part, 3> parts = {kernel_, climb(monitor_doubles, [](int) { return true; }), image(number)};
    if (!parts[2].out.empty()) {
      smpi_execute(image_seconds);
    }
    const double start = MPI_Wtime();
    if (merge == Merge::nothing) {
      for (const Part& part : parts) {
        post(part);
        wait();
      }
    } else if (merge == Merge::waits) {
      for (const Part& part : parts) {
        post(part);
      }
      wait();
    } else {
      post(merged(parts));
      wait();
    }
    totals_.communication_s += MPI_Wtime() - start;
  }
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  static int level_of(int rank) {
    int level = 0;
    while ((2 << level) - 1 <= rank) {
      ++level;
    }
    return level;
  }
  // From each rank whose level is active to its parent in a binary tree.
  template <typename Active>
  Part climb(int doubles, const Active& is_active) const {
    Part part;
    if (rank_ > 0 && is_active(level_of(rank_))) {
      part.out[(rank_ - 1) / 2] = doubles;
    }
    for (int child = 2 * rank_ + 1; child <= std::min(2 * rank_ + 2, size_ - 1); ++child) {
      if (is_active(level_of(child))) {
        part.in[child] = doubles;
      }
    }
    return part;
  }
  // An image begins each `period` rounds at the deepest level; several may be on their way.
  Part image(int round) const {
    return climb(image_doubles, [&](int level) {
      const int begun = round - (depth_ - level);
      return begun >= 0 && begun % period_ == 0;
    });
  }
  static Part merged(const std::array<Part, 3>& parts) {
    Part all;
    for (const Part& part : parts) {
      for (const auto& [peer, doubles] : part.out) {
        all.out[peer] += doubles;
      }
      for (const auto& [peer, doubles] : part.in) {
        all.in[peer] += doubles;
      }
    }
    return all;
  }
  void post(const Part& part) {
    for (const auto& [peer, doubles] : part.in) {
      MPI_Irecv(place(doubles), doubles, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests_.emplace_back());
    }
    for (const auto& [peer, doubles] : part.out) {
      MPI_Isend(place(doubles), doubles, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests_.emplace_back());
      ++totals_.messages;
    }
  }
  // A client that has nothing to exchange in a round does not wait.
  void wait() {
    totals_.waits += requests_.empty() ? 0 : 1;
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
    used_ = 0;
  }
  double* place(int doubles) {
    used_ += static_cast<std::size_t>(doubles);
    if (used_ > memory_.size()) {
      std::fprintf(stderr, "coalesce: too many doubles in a round\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory_.data() + used_ - doubles;
  }

  int rank_;
  int size_;
  int period_;
  int depth_ = 0;  // the deepest level of the tree
  Part kernel_;
  std::vector<MPI_Request> requests_;
  std::vector<double> memory_;
  std::size_t used_ = 0;
  Totals totals_;
};

void play(const char* name, Merge merge, int rank, int size, int rounds, int period) {
  Rank one(rank, size, period);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    one.round(round, merge);
  }
  const Totals own = one.totals();
  const double numbers[] = {own.communication_s, static_cast<double>(own.messages), static_cast<double>(own.waits)};
  const double total = MPI_Wtime() - start;
  double sums[3];
  double longest = 0.0;
  MPI_Reduce(numbers, sums, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&total, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    const double each = 1.0 / (static_cast<double>(size) * rounds);
    std::printf("merged %s messages %.6f waits %.6f communication_s %.9e total_s %.9e\n", name, sums[1] * each,
                sums[2] * each, sums[0] * each, longest / rounds);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = count == 3 ? std::atoi(words[1]) : 0;
  const int period = count == 3 ? std::atoi(words[2]) : 0;
  if (rounds < 1 || period < 1) {
    std::fprintf(stderr, "usage: coalesce ROUNDS PERIOD\n");
    MPI_Finalize();
    return 2;
  }
  play("nothing", Merge::nothing, rank, size, rounds, period);
  play("waits", Merge::waits, rank, size, rounds, period);
  play("messages", Merge::messages, rank, size, rounds, period);
  MPI_Finalize();
  return 0;
}
