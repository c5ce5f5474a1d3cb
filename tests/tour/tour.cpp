// Makes each trip once and prints its way: tour TRIP, with COUPLET_HUB and COUPLET_SECRET_FILE in the environment, and
// with a running hub for the programs "left" and "right" (tests/tour/test_tour.py). There are two processes. The one
// that travels first ends its part before the other one begins, so that no trip contains a wait.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/couplet.h"
#include "recorder.hpp"

namespace {

void must(couplet_status status) {
  if (status != COUPLET_OK) {
    std::fprintf(stderr, "tour: %s: %s\n", couplet_status_name(status), couplet_error_text());
    std::_Exit(1);
  }
}

void print(const char* title, const std::vector<std::string>& lines) {
  std::printf("%s\n", title);
  for (const auto& line : lines) {
    std::printf("  %s\n", line.c_str());
  }
  std::fflush(stdout);
}

// Says "your turn" by one byte through a pipe.
struct Baton {
  int ends[2];
  Baton() {
    if (pipe(ends) != 0) {
      std::_Exit(1);
    }
  }
  void pass() const {
    if (write(ends[1], "x", 1) != 1) {
      std::_Exit(1);
    }
  }
  [[nodiscard]] bool passed() const {
    pollfd end{ends[0], POLLIN, 0};
    return ::poll(&end, 1, 1) > 0;
  }
  void take() const {
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) {
      std::_Exit(1);
    }
  }
};

constexpr std::int64_t shape[] = {4, 6};
constexpr std::int64_t origin[] = {0, 0};

void send_left(couplet_universe* universe, const Baton& there, const Baton& /*back*/) {
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group));
  double value = 1;
  must(couplet_send(group, &value, 1, COUPLET_DOUBLE, 1, 0));
  must(couplet_recv(group, &value, 1, COUPLET_DOUBLE, 1, 0, nullptr));
  tour::start();
  must(couplet_send(group, &value, 1, COUPLET_DOUBLE, 1, 7));
  print("on the sender's side", tour::stop());
  there.pass();
}

void send_right(couplet_universe* universe, const Baton& there, const Baton& /*back*/) {
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group));
  double value = 0;
  must(couplet_recv(group, &value, 1, COUPLET_DOUBLE, 0, 0, nullptr));
  must(couplet_send(group, &value, 1, COUPLET_DOUBLE, 0, 0));
  there.take();
  tour::start();
  must(couplet_recv(group, &value, 1, COUPLET_DOUBLE, 0, 7, nullptr));
  print("on the receiver's side", tour::stop());
}

void series_left(couplet_universe* universe, const Baton& there, const Baton& /*back*/) {
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, "eta", COUPLET_DOUBLE, 2, shape, origin, shape, nullptr, &series));
  const double data[24] = {};
  must(couplet_series_put(series, data, 1));
  tour::start();
  must(couplet_series_put(series, data, 2));
  print("on the writer's side", tour::stop());
  there.pass();
  must(couplet_series_close(series));
}

void series_right(couplet_universe* universe, const Baton& there, const Baton& /*back*/) {
  there.take();
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, "eta", nullptr, &series));
  double data[24];
  couplet_series_batch batch{};
  batch.struct_bytes = sizeof batch;
  must(couplet_series_read(series, 1, 1, -1, data, sizeof data, &batch));
  tour::start();
  must(couplet_series_read(series, 1, 1, -1, data, sizeof data, &batch));
  print("on the reader's side", tour::stop());
  must(couplet_series_close(series));
}

// The relay is in the writer here (relay = in_calls), so that it works when it is told to.
void relay_left(couplet_universe* universe, const Baton& there, const Baton& back) {
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, "eta", COUPLET_DOUBLE, 2, shape, origin, shape, nullptr, &series));
  const double data[24] = {};
  must(couplet_series_put(series, data, 1));
  while (!back.passed()) {  // the reader opens, and reads the first step
    must(couplet_universe_progress(universe));
  }
  back.take();
  tour::start();
  must(couplet_series_put(series, data, 2));
  print("on the writer's node: the writer, then its relay", tour::stop());
  there.pass();
  back.take();
  must(couplet_series_close(series));
}

void relay_right(couplet_universe* universe, const Baton& there, const Baton& back) {
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, "eta", nullptr, &series));
  double data[24];
  couplet_series_batch batch{};
  batch.struct_bytes = sizeof batch;
  must(couplet_series_read(series, 1, 1, -1, data, sizeof data, &batch));
  back.pass();
  there.take();
  tour::start();
  must(couplet_series_read(series, 1, 1, -1, data, sizeof data, &batch));
  print("on the reader's node", tour::stop());
  back.pass();
  must(couplet_series_close(series));
}

// A line of cells with a block for each of the two, and the cell of the other one beyond its end. Both have made a
// round before, so that everything is connected.
couplet_halo* open_halo(couplet_universe* universe, std::array<double, 6>& cells) {
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group));
  couplet_grid grid;
  couplet_grid_init(&grid);
  grid.dimensions = 1;
  grid.cells[0] = 8;
  couplet_halo_options options;
  couplet_halo_options_init(&options);
  options.method = "mapped";
  couplet_halo* halo = nullptr;
  must(couplet_halo_create(group, "line", &grid, &options, &halo));
  couplet_halo_field field;
  couplet_halo_field_init(&field);
  field.data = cells.data();
  field.type = COUPLET_DOUBLE;
  field.shape[0] = 6;
  field.below[0] = field.above[0] = 1;
  must(couplet_halo_add(halo, &field));
  must(couplet_halo_freeze(halo));
  must(couplet_halo_begin(halo, -1));
  must(couplet_halo_end(halo, -1));
  return halo;
}

void halo_left(couplet_universe* universe, const Baton& there, const Baton& back) {
  std::array<double, 6> cells{};
  couplet_halo* halo = open_halo(universe, cells);
  tour::start();
  must(couplet_halo_begin(halo, -1));
  print("begin, on the side of the first rank", tour::stop());
  there.pass();
  back.take();
  must(couplet_halo_end(halo, -1));
  must(couplet_halo_close(halo));
}

void halo_right(couplet_universe* universe, const Baton& there, const Baton& back) {
  std::array<double, 6> cells{};
  couplet_halo* halo = open_halo(universe, cells);
  there.take();
  tour::start();
  must(couplet_halo_begin(halo, -1));
  must(couplet_halo_end(halo, -1));
  print("begin and end, on the side of the second rank", tour::stop());
  back.pass();
  must(couplet_halo_close(halo));
}

couplet_status do_nothing(const couplet_coalesce_moment* /*moment*/, void* /*context*/) {
  return COUPLET_OK;
}

// Two clients, each of which sends a number from the left to the right. One round is over, so that all is connected.
couplet_coalesce* open_rounds(couplet_universe* universe, bool sends, std::array<double, 2>& numbers) {
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group));
  couplet_coalesce_options options;
  couplet_coalesce_options_init(&options);
  options.method = "mapped";
  couplet_coalesce* rounds = nullptr;
  must(couplet_coalesce_create(group, "rounds", &options, &rounds));
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    couplet_coalesce_client client;
    couplet_coalesce_client_init(&client);
    client.name = place == 0 ? "kernel" : "monitor";
    client.fill = client.use = do_nothing;
    std::int32_t number = 0;
    must(couplet_coalesce_register(rounds, &client, &number));
    couplet_coalesce_request request;
    couplet_coalesce_request_init(&request);
    request.peer = sends ? 1 : 0;
    constexpr std::int64_t one = 1;
    constexpr std::int64_t zero = 0;
    must(sends ? couplet_coalesce_send_box(rounds, number, &request, &numbers[place], COUPLET_DOUBLE, 1, &one, nullptr,
                                           &zero, &one, nullptr)
               : couplet_coalesce_receive_box(rounds, number, &request, &numbers[place], COUPLET_DOUBLE, 1, &one,
                                              nullptr, &zero, &one, nullptr));
  }
  must(couplet_coalesce_freeze(rounds));
  must(couplet_coalesce_round(rounds, -1));
  return rounds;
}

void round_left(couplet_universe* universe, const Baton& there, const Baton& back) {
  std::array<double, 2> numbers{};
  couplet_coalesce* rounds = open_rounds(universe, true, numbers);
  back.take();
  tour::start();
  must(couplet_coalesce_round(rounds, -1));
  print("on the sender's side", tour::stop());
  there.pass();
  back.take();
  must(couplet_coalesce_close(rounds));
}

void round_right(couplet_universe* universe, const Baton& there, const Baton& back) {
  std::array<double, 2> numbers{};
  couplet_coalesce* rounds = open_rounds(universe, false, numbers);
  back.pass();
  there.take();
  tour::start();
  must(couplet_coalesce_round(rounds, -1));
  print("on the receiver's side", tour::stop());
  back.pass();
  must(couplet_coalesce_close(rounds));
}

using Part = void(couplet_universe*, const Baton& there, const Baton& back);

struct Trip {
  std::string_view name;
  Part* left;
  Part* right;
  bool two_nodes = false;
};
constexpr Trip trips[] = {{"send", send_left, send_right},
                          {"series", series_left, series_right},
                          {"relay", relay_left, relay_right, true},
                          {"halo", halo_left, halo_right},
                          {"round", round_left, round_right}};

int travel(const char* program, Part* part, const Baton& there, const Baton& back, bool own_node) {
  if (own_node) {
    setenv("COUPLET_NODE", program, 1);
    setenv("COUPLET_RELAY", "in_calls", 1);
  }
  couplet_universe* universe = nullptr;
  must(couplet_join(program, nullptr, &universe));
  part(universe, there, back);
  must(couplet_leave(universe));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  for (const Trip& trip : trips) {
    if (count != 2 || trip.name != arguments[1]) {
      continue;
    }
    const Baton there;
    const Baton back;
    const pid_t child = fork();
    if (child == 0) {
      std::_Exit(travel("right", trip.right, there, back, trip.two_nodes));
    }
    travel("left", trip.left, there, back, trip.two_nodes);
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "usage: tour send|series|relay|halo|round\n");
  return 2;
}
