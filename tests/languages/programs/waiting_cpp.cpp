// The waiting of tests/languages in C++; see test_waiting.py. Usage: waiting_cpp source|waiter|loop
#include <poll.h>

#include <array>
#include <couplet/couplet.hpp>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int32_t steps = 20;
constexpr std::int32_t numbers_tag = 3;
constexpr std::int32_t last_tag = 4;

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error("not true: " + what);
  }
}

template <class Call>
void refused(Call call, const std::string& words) {
  try {
    call();
  } catch (const couplet::Error& error) {
    require(error.code() == COUPLET_ERROR_ARGUMENT && std::string(error.what()).find(words) != std::string::npos,
            error.what());
    return;
  }
  require(false, "refused: " + words);
}

void be_source(couplet::Universe& universe) {
  auto group = universe.group();
  const couplet::Box whole{{0}, {4}};
  auto fast = universe.create_series<std::int32_t>("fast", {4}, whole, {.slots = 8, .required_readers = "waiter"});
  auto slow = universe.create_series<std::int32_t>("slow", {4}, whole, {.slots = 8, .required_readers = "waiter"});
  refused([&] { static_cast<void>(couplet::wait_any({fast})); }, "series 'fast' is written by this rank");
  for (std::int32_t step = 1; step <= steps; ++step) {
    const std::vector<std::int32_t> values(4, step);
    require(fast.put(values, step), "put");
    if (step % 4 == 0) {
      require(slow.put(values, step), "put");
    }
    if (step % 2 == 0) {
      group.send(std::int64_t{step}, 1, numbers_tag);
    }
  }
  group.send(std::int64_t{99}, 1, last_tag);
  fast.close();
  slow.close();
}

couplet::Ready look(const std::vector<couplet::Awaited>& awaited, int descriptor) {
  if (descriptor < 0) {
    return couplet::wait_any(awaited, 60).value();
  }
  for (;;) {
    if (const auto ready = couplet::arm_any(awaited)) {
      return *ready;
    }
    pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
    require(::poll(&polled, 1, 60000) == 1, "the descriptor can be read");
  }
}

void be_waiter(couplet::Universe& universe, bool loop) {
  auto group = universe.group();
  std::map<std::string, std::optional<couplet::Reader<std::int32_t>>> readers;
  std::map<std::string, std::size_t> counts;
  for (const auto* name : {"fast", "slow"}) {
    readers[name] = universe.open_series<std::int32_t>(name);
  }
  refused([&] { static_cast<void>(couplet::wait_any(std::initializer_list<couplet::Awaited>{})); }, "at least one");
  refused([&] { static_cast<void>(couplet::wait_any({*readers["fast"], *readers["fast"]})); }, "the same as entry 0");
  std::int64_t numbers = 0;
  std::array<std::int64_t, 1> last{};
  couplet::Request request = group.irecv(std::span<std::int64_t>(last), 0, last_tag);
  const int descriptor = loop ? couplet::descriptor_of(universe) : -1;
  while (readers["fast"] || readers["slow"] || numbers < steps / 2 || request.pending()) {
    std::vector<couplet::Awaited> awaited;
    std::vector<std::string> names;
    for (auto& [name, reader] : readers) {
      if (reader) {
        awaited.emplace_back(*reader);
        names.push_back(name);
      }
    }
    if (numbers < steps / 2) {
      awaited.emplace_back(group, couplet::any_source, numbers_tag);
      names.emplace_back("number");
    }
    if (request.pending()) {
      awaited.emplace_back(request);
      names.emplace_back("request");
    }
    const couplet::Ready ready = look(awaited, descriptor);
    const std::string& name = names.at(ready.index);
    if (name == "number") {
      std::int64_t number = 0;
      require(ready.message.source == 0 && ready.message.bytes == 8, "the message is described");
      group.recv(number, ready.message.source, ready.message.tag);
      require(number == 2 * ++numbers, "numbers come in order");
    } else if (name == "request") {
      require(request.test().has_value() && last[0] == 99, "the request is complete");
    } else {
      const auto batch = readers[name]->read({.up_to = 3, .timeout_s = 0});
      require(batch.status() == COUPLET_OK || batch.status() == COUPLET_END, "a ready series can be read");
      counts[name] += batch.size();
      if (batch.status() == COUPLET_END) {
        readers[name].reset();
      }
    }
  }
  std::cout << "cpp: " << counts["fast"] << " fast, " << counts["slow"] << " slow, " << numbers << " numbers\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  try {
    couplet::Universe universe = couplet::join(role == "source" ? "source" : "waiter");
    if (role == "source") {
      be_source(universe);
    } else {
      be_waiter(universe, role == "loop");
    }
    universe.leave();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
