#include "probe/mpi/loggp.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "probe/mpi/exchange.hpp"
#include "probe/mpi/longest.hpp"

namespace couplet::probe {

namespace {

constexpr std::size_t short_bytes = 8;
constexpr std::size_t long_bytes = std::size_t{1} << 20U;
constexpr int round_trips = 100;  // in one timing
constexpr int short_burst = 256;  // messages in one timing
constexpr int long_burst = 8;
constexpr int loggp_tag = 3;
constexpr int answer_tag = 4;
constexpr int end_tag = 5;

struct Overheads {
  double send_s = 0.0;
  double receive_s = 0.0;
};

// What reading the clock adds to each time between two readings.
double clock_seconds() {
  double sum = 0.0;
  for (int turn = 0; turn < round_trips; ++turn) {
    const double before = MPI_Wtime();
    sum += MPI_Wtime() - before;
  }
  return sum / round_trips;
}

// The time that `first` spends in the call that sends, and in the call that receives what has arrived already: it takes
// the second of two answers before the first one.
Overheads overheads(int rank, int first, int second, std::vector<char>& memory) {
  Overheads found;
  MPI_Barrier(MPI_COMM_WORLD);
  const int count = static_cast<int>(short_bytes);
  if (rank == second) {
    for (int turn = 0; turn < round_trips; ++turn) {
      MPI_Recv(memory.data(), count, MPI_BYTE, first, loggp_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(memory.data(), count, MPI_BYTE, first, answer_tag, MPI_COMM_WORLD);
      MPI_Send(memory.data(), 0, MPI_BYTE, first, end_tag, MPI_COMM_WORLD);
    }
  }
  if (rank != first) {
    return found;
  }
  for (int turn = 0; turn < round_trips; ++turn) {
    MPI_Request request = MPI_REQUEST_NULL;
    const double before_send = MPI_Wtime();
    MPI_Isend(memory.data(), count, MPI_BYTE, second, loggp_tag, MPI_COMM_WORLD, &request);
    found.send_s += MPI_Wtime() - before_send;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(memory.data(), 0, MPI_BYTE, second, end_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double before_receive = MPI_Wtime();
    MPI_Recv(memory.data(), count, MPI_BYTE, second, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    found.receive_s += MPI_Wtime() - before_receive;
  }
  const double clock_s = clock_seconds();
  return {std::max(0.0, found.send_s / round_trips - clock_s), std::max(0.0, found.receive_s / round_trips - clock_s)};
}

// The seconds from the first of `count` messages, which are sent as fast as possible, until `first` has the answer to
// the last one. The receives are posted before.
double burst(int rank, int first, int second, std::size_t bytes, int count, std::vector<char>& memory) {
  const bool takes_part = rank == first || rank == second;
  std::vector<MPI_Request> requests(static_cast<std::size_t>(count), MPI_REQUEST_NULL);
  const int length = static_cast<int>(bytes);
  if (takes_part) {
    memory.resize(std::max(memory.size(), bytes * requests.size()));
  }
  if (rank == second) {
    for (std::size_t index = 0; index < requests.size(); ++index) {
      MPI_Irecv(memory.data() + index * bytes, length, MPI_BYTE, first, loggp_tag, MPI_COMM_WORLD, &requests[index]);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!takes_part) {
    return 0.0;
  }
  const double start = MPI_Wtime();
  if (rank == first) {
    for (std::size_t index = 0; index < requests.size(); ++index) {
      MPI_Isend(memory.data() + index * bytes, length, MPI_BYTE, second, loggp_tag, MPI_COMM_WORLD, &requests[index]);
    }
  }
  MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
  char answer = 0;
  if (rank == second) {
    MPI_Send(&answer, 1, MPI_BYTE, first, answer_tag, MPI_COMM_WORLD);
    return 0.0;
  }
  MPI_Recv(&answer, 1, MPI_BYTE, second, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return MPI_Wtime() - start;
}

// The times of the repetitions of one quantity.
struct Timings {
  const char* quantity = "";
  std::size_t bytes = short_bytes;
  int messages = 1;
  std::vector<double> times{};
};

// Adds the time that one of the ranks has measured; the others have 0.
void take(Timings& timings, double own, bool counts) {
  const double longest = longest_of(own);
  if (counts) {
    timings.times.push_back(longest);
  }
}

}  // namespace

void measure_loggp(int rank, const Options& options, const char* name, int first, int second) {
  std::vector<char> memory(short_bytes);
  Timings half{.quantity = "half_round_trip"};
  Timings send{.quantity = "send_overhead"};
  Timings receive{.quantity = "receive_overhead"};
  Timings short_messages{.quantity = "burst", .messages = short_burst};
  Timings long_messages{.quantity = "burst", .bytes = long_bytes, .messages = long_burst};
  for (int turn = -options.warm_up; turn < options.repetitions; ++turn) {
    const bool counts = turn >= 0;
    take(half, ping_pong(rank, first, second, short_bytes, round_trips, memory), counts);
    const Overheads one = overheads(rank, first, second, memory);
    take(send, one.send_s, counts);
    take(receive, one.receive_s, counts);
    for (Timings* const timings : {&short_messages, &long_messages}) {
      take(*timings, burst(rank, first, second, timings->bytes, timings->messages, memory), counts);
    }
  }
  for (const Timings* const timings : {&half, &send, &receive, &short_messages, &long_messages}) {
    if (rank != 0) {
      continue;
    }
    std::printf("loggp %s %s %zu %d", name, timings->quantity, timings->bytes, timings->messages);
    for (const double seconds : timings->times) {
      std::printf(" %.9e", seconds);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace couplet::probe
