#include "probe/mpi/longest.hpp"

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace couplet::probe {

bool is_simulated() {
  static const bool simulated = [] {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
    int length = 0;
    MPI_Get_library_version(library.data(), &length);
    return std::strncmp(library.data(), "SMPI", 4) == 0;
  }();
  return simulated;
}

namespace {
constexpr useconds_t nap_us = 200;
constexpr useconds_t meeting_us = 300'000;  // within which all ranks have come out of a meeting
}  // namespace

double longest_of(double own_s) {
  double longest_s = 0.0;
  if (is_simulated()) {  // each rank has a core of its own, and a nap would be an event to simulate
    MPI_Allreduce(&own_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest_s;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&own_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  for (;;) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) {
      return longest_s;
    }
    usleep(nap_us);
  }
}

void settle() {
  if (is_simulated()) {
    return;
  }
  longest_of(0.0);
  usleep(meeting_us);
}

}  // namespace couplet::probe
