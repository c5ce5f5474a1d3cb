// Provokes errors in C++ and prints "case<TAB>code<TAB>sentence"; see test_errors.py.
// Usage: errors_cpp provoke WRONG_SECRET | errors_cpp join PROGRAM... | errors_cpp meet CASE
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <couplet/couplet.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void print(const std::string& name, couplet_status code, const char* text = "") {
  std::printf("%s\t%d\t%s\n", name.c_str(), code, text);
}

/// Prints the code of the Error that call throws, or 0 if it throws none.
template <class Call>
void provoke(const std::string& name, Call call) {
  try {
    call();
    print(name, COUPLET_OK);
  } catch (const couplet::Error& error) {
    print(name, error.code(), error.what());
  }
}

void provoke_join(const std::string& name, const std::string& program, const couplet::JoinOptions& options) {
  provoke(name, [&] { static_cast<void>(couplet::join(program, options)); });
}

void provoke_series(couplet::Universe& universe) {
  const couplet::SeriesOptions small{.slots = 2, .wait_timeout_s = 0};
  const std::vector<std::int64_t> shape{4, 3};
  const couplet::Box whole{{0, 0}, shape};
  const std::vector<std::int64_t> enormous{1000000000, 1000000};
  const std::vector<double> eta(12);
  auto writer = universe.create_series<double>("eta", shape, whole, small);
  provoke("exists", [&] { static_cast<void>(universe.create_series<double>("eta", shape, whole, small)); });
  provoke("no_space", [&] {
    static_cast<void>(universe.create_series<double>("ocean", enormous, {{0, 0}, enormous}, small));
  });
  provoke("state", [&] { writer.publish(); });
  provoke("type", [&] { static_cast<void>(universe.open_series<std::int32_t>("eta")); });
  provoke("shape", [&] {
    static_cast<void>(universe.open_series<double>("eta", {.box = couplet::Box{{0, 0}, {5, 3}}}));
  });
  provoke("shape", [&] { static_cast<void>(writer.put(std::vector<double>(11), 10)); });
  provoke("timeout", [&] { static_cast<void>(universe.open_series<double>("never", {.timeout_s = 0.2})); });
  auto reader = universe.open_series<double>("eta");
  provoke("argument", [&] { static_cast<void>(reader.read({.at_least = 5, .up_to = 2, .timeout_s = 0})); });
  provoke("limit", [&] { static_cast<void>(reader.read({.at_least = 3, .up_to = 3, .timeout_s = 0})); });
  print("not_yet", reader.read({.timeout_s = 0}).status());
  if (!writer.put(eta, 10)) {
    throw std::runtime_error("put 10");
  }
  provoke("step", [&] { static_cast<void>(writer.put(eta, 10)); });
  if (!writer.put(eta, 20)) {
    throw std::runtime_error("put 20");
  }
  print("full", writer.put(eta, 30) ? COUPLET_OK : COUPLET_FULL);
  writer.close();
  if (reader.read({.timeout_s = 0}).size() != 2) {
    throw std::runtime_error("read");
  }
  print("end", reader.read({.timeout_s = 0}).status());
  writer = universe.create_series<double>("eta", shape, whole, small);
  auto again = reader.read({.timeout_s = 20}).status();  // each look for the new series lasts for at most 0.2 s
  for (int attempt = 0; attempt < 100 && again == COUPLET_END; ++attempt) {
    again = reader.read({.timeout_s = 20}).status();
  }
  print("restarted", again);
}

void provoke_eviction(couplet::Universe& universe) {
  auto writer =
      universe.create_series<double>("tides", {4, 3}, {{0, 0}, {4, 3}}, {.slots = 2, .evict_after_held_s = 0.05});
  auto reader = universe.open_series<double>("tides");
  for (const std::int64_t step : {1, 2, 3}) {
    static_cast<void>(writer.put(std::vector<double>(12), step));
  }
  provoke("evicted", [&] { static_cast<void>(reader.read({.timeout_s = 0})); });
}

/// Limits the memory to what the process has now, and 16 MiB.
void provoke_memory(couplet::Universe& universe) {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit tight = before;
  tight.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{16} << 20);
  setrlimit(RLIMIT_AS, &tight);
  provoke("memory", [&] {
    static_cast<void>(universe.create_series<double>("ocean", {2048, 1024}, {{0, 0}, {2048, 1024}}, {.slots = 2}));
  });
  setrlimit(RLIMIT_AS, &before);
}

struct OtherThread {
  std::atomic<bool> is_waiting = false;
  std::atomic<bool> is_enough = false;
};

void provoke_thread(couplet::Universe& universe) {
  double never = 0;
  couplet::Request request = universe.group().irecv(std::span<double>(&never, 1), 0, 99);
  OtherThread state;
  std::thread other([&] {
    const auto tell = [](void* context) {
      auto& told = *static_cast<OtherThread*>(context);
      told.is_waiting = true;
      return std::int32_t{told.is_enough ? 1 : 0};
    };
    couplet_set_interrupt_check(tell, &state);
    try {
      request.wait();
    } catch (const couplet::Error&) {  // the memory was enough
    }
  });
  while (!state.is_waiting) {
    std::this_thread::yield();
  }
  provoke("thread", [&] { universe.progress(); });
  state.is_enough = true;
  other.join();
}

void provoke_interrupt(const couplet::Group& group) {
  couplet_set_interrupt_check([](void*) { return std::int32_t{1}; }, nullptr);
  std::vector<double> room(1);
  provoke("interrupted", [&] { group.recv(room, 0, 98); });
  couplet_set_interrupt_check(nullptr, nullptr);
}

/// Exchanges messages with a program that is lost, or that cannot be reached.
void meet(const char* name) {
  couplet::Universe universe = couplet::join("solo");
  std::vector<double> data(1);
  provoke(name, [&] {
    universe.group().send(data, 1, 1);
    universe.group().recv(data, 1, 1);
  });
  universe.leave();
}

void provoke_message(const couplet::Group& group) {
  const std::vector<double> data(12);
  std::vector<double> room(5);
  couplet::Request request = group.isend(std::span<const double>(data), 0, 7);
  provoke("truncated", [&] { group.recv(room, 0, 7); });
  request.wait(10);
}

void provoke_fork(const couplet::Universe& universe) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    provoke("forked", [&] { static_cast<void>(universe.rank()); });
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (std::strcmp(arguments[1], "join") == 0) {
    for (const char* code : arguments.subspan(2)) {
      provoke_join(code, code, {});
    }
    return 0;
  }
  if (std::strcmp(arguments[1], "meet") == 0) {
    meet(arguments[2]);
    return 0;
  }
  provoke_join("not_found", "nobody", {.timeout_s = 2});
  provoke_join("authentication", "solo", {.secret_file = arguments[2], .timeout_s = 2});
  provoke_join("hub_lost", "solo", {.hub = "127.0.0.1:1", .timeout_s = 2});
  provoke_join("config", "solo", {.hub = "nonsense", .timeout_s = 2});
  couplet::Universe universe = couplet::join("solo");
  provoke_series(universe);
  provoke_eviction(universe);
  provoke_memory(universe);
  provoke_message(universe.group());
  provoke_thread(universe);
  provoke_interrupt(universe.group());
  provoke_fork(universe);
  universe.leave();
  return 0;
}
