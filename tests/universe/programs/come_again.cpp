// Two programs that exchange messages, one of which is killed and started again; see tests/universe/test_returning.py.
// Usage: come_again host LIVES [computing], or come_again guest LIFE LIVES [computing] (LIFE from 0). Each life of
// guest greets, and answers `turns` numbers. Each but the last one leaves the next number without an answer. Both print
// "life N" at that point, and "done" at the end.
// computing: after "life N", the host makes no call before it is given a line. A guest says "here" when it has joined,
// and greets when it is given a line. The host may be told for 100 ms that the guest of the life before is lost.
#include <chrono>
#include <couplet/couplet.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::int32_t greeting_tag = 1;
constexpr std::int32_t number_tag = 2;
constexpr std::int32_t answer_tag = 3;
constexpr std::int64_t turns = 20;
// Numbers. They are more than is sent eagerly.
constexpr std::size_t large = 20'000;
// This is longer than the host needs to notice that the guest was started again.
constexpr auto pause = std::chrono::milliseconds(150);

void say(const std::string& line) {
  std::cout << (line + "\n") << std::flush;
}

void wait_for_a_line() {
  std::string line;
  std::getline(std::cin, line);
}

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw couplet::Error(COUPLET_ERROR_INTERNAL, "not true: " + what);
  }
}

std::size_t size_of(std::int64_t turn) {
  return turn % 5 == 4 ? large : 1;
}

// The guest counts as lost until it was started again.
std::int64_t take_greeting(const couplet::Group& group, std::int32_t guest, std::int64_t max_losses) {
  for (std::int64_t losses = 0; losses <= max_losses; ++losses) {
    try {
      std::int64_t greeting = -1;
      group.recv(greeting, guest, greeting_tag);
      return greeting;
    } catch (const couplet::Error& error) {
      if (error.code() != COUPLET_ERROR_PEER_LOST) {
        throw;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw couplet::Error(COUPLET_ERROR_INTERNAL, "lost " + std::to_string(max_losses + 1) + " times, but started again");
}

void host_one(const couplet::Group& group, std::int32_t guest, std::int64_t life, bool last, bool computing) {
  const std::int64_t greeting = take_greeting(group, guest, computing ? 200 : INT64_MAX - 1);
  require(greeting == life, "greeted by life " + std::to_string(greeting) + " instead of " + std::to_string(life));
  std::vector<std::int64_t> data;
  std::vector<std::int64_t> answer(large);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    data.assign(size_of(turn), turn);
    group.send(data, guest, number_tag);
    const couplet::Message message = group.recv(answer, guest, answer_tag);
    require(message.count == data.size() && answer.front() == turn + life && answer[message.count - 1] == turn + life,
            "the answer");
  }
  if (last) {
    return;
  }
  say("life " + std::to_string(life));
  if (computing) {
    wait_for_a_line();
    return;
  }
  try {
    group.recv(answer, guest, answer_tag);
  } catch (const couplet::Error& error) {
    require(error.code() == COUPLET_ERROR_PEER_LOST, error.what());
    return;
  }
  require(false, "an answer of the dead");
}

void visit(const couplet::Group& group, std::int32_t host, std::int64_t life, bool last) {
  group.send(life, host, greeting_tag);
  std::vector<std::int64_t> data(large);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const couplet::Message message = group.recv(data, host, number_tag);
    require(data.front() == turn, "the numbers come in order");
    if (life % 4 == 1 && turn == turns / 2) {
      std::this_thread::sleep_for(pause);
    }
    for (std::int64_t& each : data) {
      each += life;
    }
    group.send(std::span<const std::int64_t>(data.data(), message.count), host, answer_tag);
  }
  if (!last) {
    say("life " + std::to_string(life));
    group.recv(data, host, number_tag);  // until it is killed
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program = argc > 1 ? argv[1] : "";
  const std::int64_t number = argc > 2 ? std::atoll(argv[2]) : 1;
  const std::int64_t lives = program == "guest" && argc > 3 ? std::atoll(argv[3]) : number;
  const bool computing = argc > 1 && argv[argc - 1] == std::string("computing");
  try {
    couplet::Universe universe = couplet::join(program);
    const couplet::Group group = universe.group();
    if (program == "host") {
      for (std::int64_t life = 0; life < lives; ++life) {
        host_one(group, universe.find_rank("guest", 0), life, life == lives - 1, computing);
      }
    } else {
      if (computing) {
        say("here");
        wait_for_a_line();
      }
      visit(group, universe.find_rank("host", 0), number, number == lives - 1);
    }
    say("done");
    universe.leave();
    return 0;
  } catch (const couplet::Error& error) {
    say(std::string("error ") + error.name() + " " + error.what());
    return 1;
  }
}
