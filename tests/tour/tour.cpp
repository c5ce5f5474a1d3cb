// Makes each trip once and prints the way it went: tour TRIP, with COUPLET_HUB and COUPLET_SECRET_FILE in the environment and
// a hub for the programs "left" and "right" running (tests/tour/test_tour.py). Two processes: the one that travels first
// ends its part before the other one begins, so that no trip contains a wait.
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

// "Your turn": one byte through a pipe.
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
  void take() const {
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) {
      std::_Exit(1);
    }
  }
};

constexpr std::int64_t shape[] = {4, 6};
constexpr std::int64_t origin[] = {0, 0};

void send_left(couplet_universe* universe, const Baton& baton) {
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group));
  double value = 1;
  must(couplet_send(group, &value, 1, COUPLET_DOUBLE, 1, 0));
  must(couplet_recv(group, &value, 1, COUPLET_DOUBLE, 1, 0, nullptr));
  tour::start();
  must(couplet_send(group, &value, 1, COUPLET_DOUBLE, 1, 7));
  print("on the sender's side", tour::stop());
  baton.pass();
}

void send_right(couplet_universe* universe, const Baton& baton) {
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group));
  double value = 0;
  must(couplet_recv(group, &value, 1, COUPLET_DOUBLE, 0, 0, nullptr));
  must(couplet_send(group, &value, 1, COUPLET_DOUBLE, 0, 0));
  baton.take();
  tour::start();
  must(couplet_recv(group, &value, 1, COUPLET_DOUBLE, 0, 7, nullptr));
  print("on the receiver's side", tour::stop());
}

void series_left(couplet_universe* universe, const Baton& baton) {
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, "eta", COUPLET_DOUBLE, 2, shape, origin, shape, nullptr, &series));
  const double data[24] = {};
  must(couplet_series_put(series, data, 1));
  tour::start();
  must(couplet_series_put(series, data, 2));
  print("on the writer's side", tour::stop());
  baton.pass();
  must(couplet_series_close(series));
}

void series_right(couplet_universe* universe, const Baton& baton) {
  baton.take();
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, "eta", nullptr, &series));
  double data[24];
  couplet_batch batch{};
  batch.struct_bytes = sizeof batch;
  must(couplet_series_read(series, 1, 1, -1, data, sizeof data, &batch));
  tour::start();
  must(couplet_series_read(series, 1, 1, -1, data, sizeof data, &batch));
  print("on the reader's side", tour::stop());
  must(couplet_series_close(series));
}

struct Trip {
  std::string_view name;
  void (*left)(couplet_universe*, const Baton&);
  void (*right)(couplet_universe*, const Baton&);
};
constexpr Trip trips[] = {{"send", send_left, send_right}, {"series", series_left, series_right}};

int travel(const char* program, void (*part)(couplet_universe*, const Baton&), const Baton& baton) {
  couplet_universe* universe = nullptr;
  must(couplet_join(program, nullptr, &universe));
  part(universe, baton);
  must(couplet_leave(universe));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  for (const Trip& trip : trips) {
    if (count != 2 || trip.name != arguments[1]) {
      continue;
    }
    const Baton baton;
    const pid_t child = fork();
    if (child == 0) {
      std::_Exit(travel("right", trip.right, baton));
    }
    travel("left", trip.left, baton);
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "usage: tour send|series\n");
  return 2;
}
