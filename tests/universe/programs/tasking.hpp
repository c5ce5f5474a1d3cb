// Programs that share tasks: "simulation" (requesters), "coupler", "first" (worker id 7, groups of 2) and "second" (id
// 3 or that of the environment, groups of 1). tests/universe/test_tasks.py uses it without MPI (tasking.cpp) and under
// each MPI.
#ifndef COUPLET_TESTS_TASKING_HPP
#define COUPLET_TESTS_TASKING_HPP

#include <unistd.h>

#include <array>
#include <couplet/couplet.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace tasking {

constexpr std::int64_t hang = -999;  // parameter of a task that is never finished
constexpr double patience_s = 400;

inline void require(bool condition, const std::string& what) {
  if (!condition) {
    throw couplet::Error(COUPLET_ERROR_INTERNAL, "not true: " + what);
  }
}

inline void say(const std::string& line) {
  std::cout << (line + "\n") << std::flush;
}

/// Returns the worker id of the n-th request.
inline std::int32_t worker_of(std::int64_t number) {
  constexpr std::array<std::int32_t, 3> ids = {7, 3, couplet::any_worker};
  return ids[static_cast<std::size_t>(number % 3)];
}

/// Each rank submits `requests`, and finds the sum of each payload in its area.
inline void simulate(couplet::Universe& universe, std::int64_t requests) {
  auto results = universe.create_area<double>("results", {requests});
  auto tasks = universe.open_requester("analysis");
  std::vector<couplet::Task> handles;
  std::vector<double> payload(50);
  for (std::int64_t number = 0; number < requests; ++number) {
    std::iota(payload.begin(), payload.end(), static_cast<double>(number));
    const std::array<std::int64_t, 1> parameters = {number};
    auto task = tasks.submit(worker_of(number), couplet::content_of(std::span(parameters), payload), patience_s);
    require(task.has_value(), "the queue grows");
    handles.push_back(std::move(*task));
  }
  for (couplet::Task& task : handles) {
    task.wait(patience_s);
  }
  for (std::int64_t number = 0; number < requests; ++number) {
    const double expected = 50 * static_cast<double>(number) + 49 * 25;
    require(results.memory()[static_cast<std::size_t>(number)] == expected, "result " + std::to_string(number));
  }
  tasks.close();
  results.close();
}

/// Submits one request that hangs, and prints how it ended.
inline void submit_one(couplet::Universe& universe) {
  auto tasks = universe.open_requester("analysis");
  const std::array<std::int64_t, 1> parameters = {hang};
  auto task = tasks.submit(7, couplet::content_of(std::span(parameters)), patience_s);
  try {
    task->wait(patience_s);
    say("it was done");
  } catch (const couplet::Error& error) {
    say(std::string(error.name()) + ": " + error.what());
  }
  tasks.close();
}

inline void couple(couplet::Universe& universe, const std::string& what) {
  couplet::CouplerOptions options;
  options.workers = "first,second";
  options.requesters = "simulation";
  options.on_lost = what == "retry" ? couplet::OnLost::retry : couplet::OnLost::fail;
  auto tasks = universe.open_coupler("analysis", options);
  require(tasks.run(patience_s), "the requesters close");
  tasks.close();
}

/// Sums payloads. The first rank of the group writes the sum into the requester's area. Prints how many tasks it has
/// done.
inline void work(couplet::Universe& universe, const couplet::WorkerOptions& options, const std::string& what) {
  const std::int32_t place = universe.program().rank % options.group_size;
  auto tasks = universe.open_worker("analysis", options);
  std::map<std::int32_t, couplet::Area<double>>
      results;  // opened with a task in hand: its requester is still there then
  int done = 0;
  while (const auto next = tasks.next({}, patience_s)) {
    const std::int64_t number = next->parameters()[0];
    if (number == hang && what != "rescue") {
      say("has it");
      for (;;) {
        pause();
      }
    }
    if (number != hang) {
      require(next->worker() == options.worker_id || worker_of(number) == couplet::any_worker, "whom it is for");
      const auto payload = next->payload<double>();
      const double sum = std::accumulate(payload.begin(), payload.end(), 0.0);
      if (place == 0) {
        auto found = results.find(next->source());
        if (found == results.end()) {
          auto area = universe.open_area<double>("results", next->source(), patience_s);
          found = results.emplace(next->source(), std::move(area)).first;
        }
        found->second.write(static_cast<std::uint64_t>(number), std::span(&sum, 1), patience_s);
      }
    }
    ++done;
    tasks.complete();
  }
  tasks.close();
  say(std::to_string(place == 0 ? done : 0));
}

/// Runs a program. what: a number of requests, "fail" or "retry" (a worker hangs and is killed), or "rescue" (a worker
/// that takes over).
inline void run(couplet::Universe& universe, const std::string& program, const std::string& what) {
  const bool sums = what != "fail" && what != "retry" && what != "rescue";
  if (program == "simulation") {
    sums ? simulate(universe, std::stoll(what)) : submit_one(universe);
  } else if (program == "coupler") {
    couple(universe, what);
  } else {
    const bool seven = program == "first" || !sums;
    work(universe, {seven ? 7 : 3, seven && sums ? 2 : 1}, sums ? "sums" : what);
  }
}

/// Joins and runs. Returns the status of the process.
template <class Join>
int tell(int argc, char** argv, Join join) {
  const std::string program = argc > 1 ? argv[1] : "";
  try {
    couplet::Universe universe = join(program);
    run(universe, program, argc > 2 ? argv[2] : "10");
    universe.leave();
    return 0;
  } catch (const couplet::Error& error) {
    std::cerr << (program + ": " + error.name() + ": " + error.what() + "\n") << std::flush;
    return 1;
  }
}

}  // namespace tasking

#endif
