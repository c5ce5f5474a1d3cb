// Couplet's side of bench/run message. The programs `left` and `right` measure. The programs of `others` send hello to
// left and keep their connection open. If left and right have several ranks, those of the same number are a pair.
// usage: message_couplet PROGRAM RANK SIZE PIPES
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/control.h"
#include "couplet/couplet.h"

namespace {

couplet_group* group = nullptr;
std::int32_t peer = 0;

void check(couplet_status status, const char* what) {
  if (status == COUPLET_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, couplet_error_text());
  std::exit(1);
}
void send(const void* data, std::size_t bytes) {
  check(couplet_send(group, data, bytes, COUPLET_BYTE, peer, 0), "send");
}
void receive(void* data, std::size_t bytes) {
  check(couplet_recv(group, data, bytes, COUPLET_BYTE, peer, 0, nullptr), "recv");
}

void greet(couplet_universe* universe, const char* program, int rank) {
  std::int32_t count = 0;
  check(couplet_universe_program(universe, &count, nullptr, nullptr, nullptr), "program");
  std::int32_t left = 0;
  check(couplet_universe_find_rank(universe, "left", 0, &left), "left");
  std::int32_t others = 0;
  std::int32_t first = 0;
  for (std::int32_t id = 0; id < count; ++id) {
    const char* name = nullptr;
    std::int32_t size = 0;
    std::int32_t first_rank = 0;
    check(couplet_universe_describe_program(universe, id, &name, &size, &first_rank), "info");
    if (std::strcmp(name, "others") == 0) {
      others = size;
      first = first_rank;
    }
  }
  std::int32_t number = rank;
  if (std::strcmp(program, "others") == 0) {
    check(couplet_send(group, &number, 1, COUPLET_INT32, left, 7), "hello");
    check(couplet_recv(group, &number, 1, COUPLET_INT32, left, 7, nullptr), "hello");
  } else if (std::strcmp(program, "left") == 0) {
    for (std::int32_t other = 0; rank == 0 && other < others; ++other) {
      check(couplet_recv(group, &number, 1, COUPLET_INT32, first + other, 7, nullptr), "hello");
      check(couplet_send(group, &number, 1, COUPLET_INT32, first + other, 7), "hello");
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: message_couplet PROGRAM RANK SIZE PIPES\n");
    return 2;
  }
  const char* program = arguments[1];
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.rank = std::atoi(arguments[2]);
  options.size = std::atoi(arguments[3]);
  couplet_universe* universe = nullptr;
  check(couplet_join(program, &options, &universe), "join");
  check(couplet_universe_group(universe, &group), "group");
  greet(universe, program, options.rank);
  if (std::strcmp(program, "others") == 0) {
    FILE* in = bench_pipe(arguments[4], 2 + options.rank, "in", "r");
    while (std::fgetc(in) != EOF) {
    }
    std::fclose(in);
  } else {
    const int role = std::strcmp(program, "left") == 0 ? 0 : 1;
    check(couplet_universe_find_rank(universe, role == 0 ? "right" : "left", options.rank, &peer), "peer");
    const bench_transport transport = {send, receive};
    bench_serve(arguments[4], 2 * options.rank + role, &transport);
  }
  check(couplet_leave(universe), "leave");
  return 0;
}
