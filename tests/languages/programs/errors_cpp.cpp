// Provokes errors in C++ and prints "case<TAB>code<TAB>sentence"; see test_errors.py.
// Usage: errors_cpp provoke WRONG_SECRET | errors_cpp mapping CODE...
#include <sys/wait.h>
#include <unistd.h>

#include <couplet/couplet.hpp>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void print(const std::string& name, couplet_status code, const char* text = "") {
  std::printf("%s\t%d\t%s\n", name.c_str(), code, text);
}

/// Prints the code of the Error that call throws, 0 where it throws none.
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
  if (std::strcmp(arguments[1], "mapping") == 0) {
    for (const char* code : arguments.subspan(2)) {
      provoke_join(code, code, {});
    }
    return 0;
  }
  provoke_join("not_found", "nobody", {.timeout_s = 2});
  provoke_join("authentication", "solo", {.secret_file = arguments[2], .timeout_s = 2});
  provoke_join("hub_lost", "solo", {.hub = "127.0.0.1:1", .timeout_s = 2});
  provoke_join("config", "solo", {.hub = "nonsense", .timeout_s = 2});
  couplet::Universe universe = couplet::join("solo");
  provoke_series(universe);
  provoke_message(universe.group());
  provoke_fork(universe);
  universe.leave();
  return 0;
}
