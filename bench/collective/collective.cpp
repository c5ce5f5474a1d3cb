// Couplet's side of bench/run collective: one rank of the program `left` or `right`. What the control calls a send or a
// receive is an allreduce of doubles here, so that half a round trip is one call.   usage: collective PROGRAM PIPES
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../common/control.h"
#include "couplet/couplet.h"

namespace {

couplet_group* group = nullptr;
std::vector<double> result;

void check(couplet_status status, const char* what) {
  if (status == COUPLET_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, couplet_error_text());
  std::exit(1);
}
void allreduce(void* data, std::size_t bytes) {
  check(couplet_allreduce(group, data, result.data(), bytes / sizeof(double), COUPLET_DOUBLE, COUPLET_OPERATION_SUM,
                          nullptr),
        "allreduce");
}
void send(const void* data, std::size_t bytes) {
  allreduce(const_cast<void*>(data), bytes);  // NOLINT: only read
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: collective PROGRAM PIPES\n");
    return 2;
  }
  couplet_universe* universe = nullptr;
  check(couplet_join(arguments[1], nullptr, &universe), "join");
  check(couplet_universe_group(universe, &group), "group");
  result.resize(bench_most_bytes / sizeof(double));
  const bench_transport transport = {send, allreduce};
  bench_serve(arguments[2], std::strcmp(arguments[1], "left") == 0 ? 0 : 1, &transport);
  check(couplet_leave(universe), "leave");
  return 0;
}
