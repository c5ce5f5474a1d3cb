// One of four programs that work until they are told to stop, or until another one is killed; see
// tests/universe/test_kills.py. ocean writes a series, nowcast reads it (usage: endure nowcast hold|follow), ping and
// pong exchange messages. It prints "running" once it works. It answers "count" with "count N", with N turns so far. It
// ends on "stop" with "stopped", or with "error NAME TEXT". The status is 0 in both cases.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <couplet/couplet.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t elements = 4096;
constexpr std::int32_t stop_tag = 2;

void say(const std::string& line) {
  std::cout << (line + "\n") << std::flush;
}

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw couplet::Error(COUPLET_ERROR_INTERNAL, "not true: " + what);
  }
}

/// The orders that this process gets, line by line, without waiting.
class Orders {
 public:
  /// Called after each turn of the work. worked: it was a turn, and not only a wait that has ended. Returns false to
  /// stop.
  bool go_on(bool worked = true) {
    if (worked && ++turns_ == 1) {
      say("running");
    }
    for (pollfd input{STDIN_FILENO, POLLIN, 0}; poll(&input, 1, 0) > 0;) {
      std::array<char, 256> bytes{};
      const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (count <= 0) {
        return false;
      }
      text_.append(bytes.data(), static_cast<std::size_t>(count));
    }
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      if (text_.substr(0, end) == "stop") {
        return false;
      }
      say("count " + std::to_string(turns_));
    }
    return true;
  }

 private:
  std::uint64_t turns_ = 0;
  std::string text_;
};

void write(couplet::Universe& universe) {
  couplet::SeriesOptions options;
  options.slots = 8;
  options.required_readers = "nowcast";
  auto series = universe.create_series<std::int64_t>("eta", {elements}, {{0}, {elements}}, options);
  Orders orders;
  std::vector<std::int64_t> data(static_cast<std::size_t>(elements));
  std::int64_t step = 0;
  do {
    std::fill(data.begin(), data.end(), ++step);
    require(series.put(data, step), "put");
  } while (orders.go_on());
  series.close();
}

void read(couplet::Universe& universe, bool hold) {
  couplet::OpenOptions options;
  options.mode = hold ? couplet::Mode::hold : couplet::Mode::follow;
  options.timeout_s = 3;
  auto series = universe.open_series<std::int64_t>("eta", options);
  Orders orders;
  std::int64_t last = 0;
  for (;;) {
    const auto batch = series.read({.at_least = 1, .up_to = 3, .timeout_s = 1});
    if (batch.ended()) {
      break;
    }
    for (std::size_t n = 0; n < batch.size(); ++n) {
      const std::int64_t step = batch.steps()[n];
      require(hold ? step == last + 1 : step > last, "the next step");
      last = step;
      require(std::all_of(batch[n].begin(), batch[n].end(), [&](std::int64_t each) { return each == step; }),
              "step " + std::to_string(step) + " is whole");
    }
    static_cast<void>(orders.go_on(batch.size() > 0));  // ends with the series
  }
  const couplet::Statistics counts = series.statistics();
  require(counts.published - counts.first == counts.delivered + counts.lost + counts.skipped + counts.pending,
          "the equation");
  require(!hold || (counts.delivered == counts.published - counts.first && counts.lost == 0), "nothing is lost");
}

void ping(couplet::Universe& universe) {
  const couplet::Group group = universe.group();
  const std::int32_t pong = universe.find_rank("pong", 0);
  Orders orders;
  std::vector<std::int64_t> data;
  std::vector<std::int64_t> echo(200000);
  std::int64_t turn = 0;
  do {
    const std::size_t count = turn % 50 == 49 ? 200000 : turn % 7 == 6 ? 5000 : 3;
    data.assign(count, ++turn);
    group.send(data, pong, 1);
    const couplet::Message message = group.recv(echo, pong, 1);
    require(message.count == data.size() && std::equal(data.begin(), data.end(), echo.begin()), "the echo");
  } while (orders.go_on());
  group.send(turn, pong, stop_tag);
}

void pong(couplet::Universe& universe) {
  const couplet::Group group = universe.group();
  const std::int32_t ping = universe.find_rank("ping", 0);
  Orders orders;
  std::vector<std::int64_t> data(200000);
  for (;;) {
    const couplet::Message message = group.recv(data, ping);
    if (message.tag == stop_tag) {
      return;
    }
    group.send(std::span<const std::int64_t>(data.data(), message.count), ping, message.tag);
    static_cast<void>(orders.go_on());  // ends when ping does
  }
}

void work(couplet::Universe& universe, const std::string& program, bool hold) {
  if (program == "ocean") {
    write(universe);
  } else if (program == "nowcast") {
    read(universe, hold);
  } else if (program == "ping") {
    ping(universe);
  } else {
    pong(universe);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program = argc > 1 ? argv[1] : "";
  try {
    couplet::Universe universe = couplet::join(program);
    std::string ended = "stopped";
    try {
      work(universe, program, argc < 3 || std::string(argv[2]) == "hold");
    } catch (const couplet::Error& error) {
      ended = std::string("error ") + error.name() + " " + error.what();
    }
    say(ended);
    universe.leave();
    return 0;
  } catch (const couplet::Error& error) {
    say(std::string("error ") + error.name() + " " + error.what());
    return 0;
  }
}
