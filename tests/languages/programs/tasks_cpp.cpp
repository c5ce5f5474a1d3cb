// Tasks and areas in C++; see test_tasks.py and tasks_c.c. Usage: tasks_cpp requester|coupler|worker
#include <array>
#include <couplet/couplet.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace {

constexpr std::int64_t requests = 12;

void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "not true: %s\n", what);
    std::exit(1);
  }
}

// Checks that a call throws an error with this code, and with these words in its sentence.
void expect_error(couplet_status code, const std::string& words, const std::function<void()>& call) {
  try {
    call();
  } catch (const couplet::Error& error) {
    require(error.code() == code, error.what());
    require(std::string(error.what()).find(words) != std::string::npos, error.what());
    return;
  }
  require(false, "an error is thrown");
}

void check_outcome(std::int64_t number, couplet::Task& task) {
  if (number == 3) {
    expect_error(COUPLET_ERROR_UNSUPPORTED, "three is too much", [&] { task.wait(30); });
  } else if (number == 5) {
    expect_error(COUPLET_ERROR_LIMIT, "five is refused", [&] { task.wait(30); });
  } else if (number == 11) {
    expect_error(COUPLET_ERROR_ARGUMENT, "3 parameters", [&] { task.wait(30); });
  } else {
    task.wait(30);
  }
  require(!task.pending() && task.test(), "a task that was waited for is done");
}

void request(couplet::Universe& universe) {
  std::vector<double> memory(36);
  for (int n = 0; n < 36; ++n) {
    memory[static_cast<std::size_t>(n)] = n - (n >= 24 ? 6 : 0);
  }
  auto area = universe.create_area<double>("field", {3, 12}, true, std::span(memory));
  require(area.describe().route == "own" && area.memory().data() == memory.data(), "the area is the array");
  expect_error(COUPLET_ERROR_EXISTS, "field", [&] { (void)universe.create_area<double>("field", {3, 12}); });
  couplet::Requester tasks = universe.open_requester("analysis");
  expect_error(COUPLET_ERROR_NOT_FOUND, "nobody", [&] { (void)universe.open_requester("other", "nobody"); });
  std::vector<couplet::Task> handles;
  for (std::int64_t n = 0; n < requests; ++n) {
    const std::array<std::int64_t, 3> parameters = {n, 2 * n, 0};
    const auto x = static_cast<double>(n);
    const std::vector<double> payload = {x, x + 1, x + 2};
    const auto some = std::span<const std::int64_t>(parameters).first(n == 11 ? 3 : 2);
    auto task = tasks.submit(40, couplet::content_of(some, payload), 30);
    require(task.has_value(), "the queue is not full");
    handles.push_back(std::move(*task));
  }
  for (std::int64_t n = 0; n < requests; ++n) {
    check_outcome(n, handles[static_cast<std::size_t>(n)]);
  }
  require(couplet::wait_any(std::span(handles), 0) == -1, "none is pending");
  area.begin(30);
  for (std::size_t n = 0; n < requests; ++n) {
    const bool failed = n == 3 || n == 5 || n == 9 || n == 11;
    require(memory[n] == static_cast<double>(n) + (failed ? 0 : 70), "what the workers have written");
  }
  area.end();
  tasks.close();
}

void couple(couplet::Universe& universe) {
  couplet::CouplerOptions options;
  options.workers = "worker";
  couplet::Coupler tasks = universe.open_coupler("analysis", options);
  std::int64_t taken = 0;
  while (const auto next = tasks.next(30)) {
    require(next->source() == 0 && next->worker() == 40 && next->payload<double>().size() == 3, "content");
    require(next->parameters()[0] == taken, "order");
    const std::array<std::int64_t, 2> changed = {7, 14};
    const std::vector<double> payload = {7, 8, 9};
    if (taken == 5) {
      tasks.complete(*next, COUPLET_ERROR_LIMIT, "five is refused");
    } else if (taken == 7) {
      tasks.dispatch(*next, 40, couplet::content_of(std::span<const std::int64_t>(changed), payload));
    } else if (taken == 9) {
      tasks.complete(*next);
    } else {
      tasks.dispatch(*next, next->worker());
    }
    ++taken;
  }
  require(taken == requests, "all requests");
  tasks.close();
}

void work(couplet::Universe& universe) {
  couplet::WorkerOptions options;
  options.worker_id = 40;
  couplet::Worker tasks = universe.open_worker("analysis", options);
  expect_error(COUPLET_ERROR_NOT_FOUND, "'field'", [&] { (void)universe.open_area<double>("fields", 0, 0.2); });
  expect_error(COUPLET_ERROR_TYPE, "field", [&] { (void)universe.open_area<float>("field", 0, 30); });
  auto area = universe.open_area<double>("field", 0, 30);
  std::array<double, 4> box{};
  expect_error(COUPLET_ERROR_SHAPE, "36", [&] { area.read(36, std::span(box)); });
  int done = 0;
  int refused = 0;
  for (;;) {
    try {
      const auto next = tasks.next({2, 3, COUPLET_DOUBLE}, 30);
      if (!next) {
        require(next.status() == COUPLET_END, "the end");
        break;
      }
      ++done;
      const std::int64_t n = next->parameters()[0];
      if (n == 3) {
        tasks.complete(COUPLET_ERROR_UNSUPPORTED, "three is too much");
        continue;
      }
      require(next->parameters()[1] == 2 * n && next->payload<double>()[2] == static_cast<double>(n + 2), "content");
      area.read({{1, 2}, {3, 4}}, std::span(box), 30);
      const double sum = box[0] + box[1] + box[2] + box[3] + static_cast<double>(n);
      require(area.write(static_cast<std::uint64_t>(n), std::span(&sum, 1), 30) >= 1, "stamp");
      tasks.complete();
    } catch (const couplet::Error& error) {
      require(error.code() == COUPLET_ERROR_ARGUMENT, error.what());
      ++refused;
    }
  }
  require(done == requests - 3 && refused == 1, "all tasks");
  tasks.close();
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "a role");
  const std::string role = argv[1];
  couplet::Universe universe = couplet::join(role);
  if (role == "requester") {
    request(universe);
  } else if (role == "coupler") {
    couple(universe);
  } else {
    work(universe);
  }
  universe.leave();
  std::printf("cpp %s: done\n", role.c_str());
  return 0;
} catch (const couplet::Error& error) {
  std::fprintf(stderr, "%s: %s\n", error.name(), error.what());
  return 1;
}
