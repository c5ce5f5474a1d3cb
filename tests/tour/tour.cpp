// Makes each trip once and prints its way: tour TRIP, with COUPLET_HUB and COUPLET_SECRET_FILE in the environment, and
// with a running hub for the programs "left" and "right" (tests/tour/test_tour.py). There are two processes. The one
// that travels first ends its part before the other one begins, so that no trip contains a wait.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

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

using Part = void(couplet_universe*, const Baton& there, const Baton& back);

struct Trip {
  std::string_view name;
  Part* left;
  Part* right;
  bool two_nodes = false;
};
constexpr Trip trips[] = {
    {"send", send_left, send_right}, {"series", series_left, series_right}, {"relay", relay_left, relay_right, true}};

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
  std::fprintf(stderr, "usage: tour send|series|relay\n");
  return 2;
}
