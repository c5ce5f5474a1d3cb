// A program of two ranks that are killed and started again together; see tests/universe/test_returning.py.
// Usage: return_together host LIVES, or return_together guest RANK LIFE LIVES. In each life, rank 0 of guest greets the
// host as soon as it has joined. The host then sends to rank 1, and receives its answer: join returns when all ranks of
// the program are there, so that rank 1 must neither count as lost for the host any longer, nor be the one before. All
// print "life N", and the host "done" at the end.
#include <chrono>
#include <couplet/couplet.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace {

constexpr std::int32_t greeting_tag = 1;
constexpr std::int32_t question_tag = 2;
constexpr std::int32_t answer_tag = 3;

void say(const std::string& line) {
  std::cout << (line + "\n") << std::flush;
}

void require(bool condition, const std::string& what) {
  if (!condition) throw couplet::Error(COUPLET_ERROR_INTERNAL, "not true: " + what);
}

template <typename Call>
bool is_lost(const Call& call) {
  try {
    call();
  } catch (const couplet::Error& error) {
    if (error.code() != COUPLET_ERROR_PEER_LOST) throw;
    return true;
  }
  return false;
}

void host(const couplet::Universe& universe, std::int64_t lives) {
  const couplet::Group group = universe.group();
  const std::int32_t first = universe.find_rank("guest", 0);
  const std::int32_t second = universe.find_rank("guest", 1);
  for (std::int64_t life = 0; life < lives; ++life) {
    std::int64_t greeting = -1;
    while (is_lost([&] { group.recv(greeting, first, greeting_tag); })) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    require(greeting == life, "greeted by life " + std::to_string(greeting));
    std::int64_t answer = -1;
    group.send(life, second, question_tag);
    group.recv(answer, second, answer_tag);
    require(answer == life, "the answer of life " + std::to_string(answer));
    say("life " + std::to_string(life));
  }
  say("done");
}

void guest(const couplet::Universe& universe, std::int32_t rank, std::int64_t life, bool is_last) {
  const couplet::Group group = universe.group();
  const std::int32_t host = universe.find_rank("host", 0);
  std::int64_t question = life;
  if (rank == 0) group.send(life, host, greeting_tag);
  if (rank == 1) {
    group.recv(question, host, question_tag);
    require(question == life, "the question of life " + std::to_string(question));
    group.send(life, host, answer_tag);
  }
  say("life " + std::to_string(life));
  if (!is_last) group.recv(question, host, question_tag);  // until it is killed
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program = argc > 1 ? argv[1] : "";
  const std::int64_t number = argc > 2 ? std::atoll(argv[2]) : 0;
  try {
    const bool is_guest = program == "guest" && argc > 4;
    const auto rank = static_cast<std::int32_t>(is_guest ? number : 0);
    couplet::Universe universe = couplet::join(program, {.rank = rank, .size = is_guest ? 2 : 1});
    if (is_guest) {
      const std::int64_t life = std::atoll(argv[3]);
      guest(universe, rank, life, life + 1 == std::atoll(argv[4]));
    } else {
      host(universe, number);
    }
    universe.leave();
    return 0;
  } catch (const couplet::Error& error) {
    say(std::string("error ") + error.name() + " " + error.what());
    return 1;
  }
}
