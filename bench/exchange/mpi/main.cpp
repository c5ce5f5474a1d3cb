// The rounds of a halo exchange by all contenders, in samples, the order rotated in each turn.
//   usage: exchange KIND NEIGHBORS TURNS SAMPLE_MS
// Rank 0 prints one line, {"name": [microseconds of a round, by turn], ...}. A sample is that of the slowest rank.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "contenders.hpp"
#include "exchange/mpi/methods.hpp"
#include "os/clock.hpp"
#include "os/host.hpp"

namespace couplet::bench {

void give_up(const std::string& text) {
  std::fprintf(stderr, "bench: %s\n", text.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

bool must_yield() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size > os::usable_cores();
}

namespace {

// Returns the microseconds of one round.
double sample(ExchangeContender& contender, long rounds) {
  MPI_Barrier(MPI_COMM_WORLD);
  const std::uint64_t start_ns = os::now_ns();
  for (long round = 0; round < rounds; ++round) {
    contender.round();
  }
  double us = static_cast<double>(os::now_ns() - start_ns) / 1e3 / static_cast<double>(rounds);
  MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return us;
}

void check(ExchangeContender& contender, Halo& halo) {
  for (int round = 0; round < 3; ++round) {
    halo.clear();
    contender.round();
    if (!halo.is_right()) {
      give_up(contender.name() + " has moved wrong values");
    }
  }
}

void run(Halo& halo, const std::shared_ptr<exchange::Job>& job, int turns, double sample_ms) {
  Contenders all;
  add_baselines(all, halo);
  add_methods(all, halo, job);
  std::vector<long> rounds;
  std::vector<std::vector<double>> samples(all.size());
  for (const auto& contender : all) {
    check(*contender, halo);
    sample(*contender, 20);
    rounds.push_back(std::max(1L, std::lround(sample_ms * 1e3 / sample(*contender, 20))));
  }
  for (std::size_t turn = 0; turn < static_cast<std::size_t>(turns); ++turn) {
    for (std::size_t place = 0; place < all.size(); ++place) {
      const std::size_t index = (place + turn) % all.size();
      samples[index].push_back(sample(*all[index], rounds[index]));
    }
  }
  std::string line;
  for (std::size_t index = 0; index < all.size(); ++index) {
    check(*all[index], halo);
    line += fmt::format("{}\"{}\": [{:.4f}]", line.empty() ? "" : ", ", all[index]->name(),
                        fmt::join(samples[index], ", "));
    all[index]->close();
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::printf("{%s}\n", line.c_str());
  }
}

}  // namespace
}  // namespace couplet::bench

int main(int count, char** arguments) {
  using couplet::exchange::Job;
  MPI_Init(&count, &arguments);
  if (count != 5) {
    couplet::bench::give_up("usage: exchange KIND NEIGHBORS TURNS SAMPLE_MS");
  }
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  {
    auto job = Job::open(MPI_COMM_WORLD, Job::Threads::one);
    if (!job) {
      couplet::bench::give_up(job.status().text());
    }
    couplet::bench::Halo halo(arguments[1], std::atoi(arguments[2]), rank, size);
    couplet::bench::run(halo, *job, std::atoi(arguments[3]), std::atof(arguments[4]));
  }
  MPI_Finalize();
  return 0;
}
