// kill -9 at random moments: the other side answers by name within 5 s or goes on, and what was delivered is whole.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

constexpr int rounds = 15;  // the long version is the fault suite's
constexpr std::uint64_t five_seconds_ns = 5'000'000'000;

class Kill : public Series {
 protected:
  // Runs body(environment) in a process of its own, incarnation after incarnation.
  template <typename Body>
  pid_t start(channel::PeerId peer, const char* program, std::uint16_t incarnation, Body&& body) {
    const pid_t child = fork();
    if (child == 0) {
      FakeEnvironment environment(world, peer, program, incarnation);
      body(environment);
      _exit(0);
    }
    return child;
  }
  static void kill_at_random(pid_t child, std::mt19937& random) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    kill(child, SIGKILL);
    int ignored = 0;
    waitpid(child, &ignored, 0);
  }
};

TEST_F(Kill, AWriterAtAnyMomentAndAgainUnderTheSameName) {
  std::mt19937 random(1);
  ReaderOptions options;
  options.mode = Mode::follow;
  std::unique_ptr<Reader> reader;
  std::uint64_t delivered = 0;
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = start(7, "ocean", static_cast<std::uint16_t>(round), [&](FakeEnvironment& environment) {
      auto writer =
          Writer::create(environment, team, {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)},
                         {.slots = 3}, soon());
      for (std::int64_t step = 0; writer.ok(); ++step) {
        static_cast<void>((*writer)->put(field(step).data(), step));
      }
    });
    ASSERT_GT(child, 0);
    if (round == 0) {
      reader = open(options);
    } else {
      Status status = Code::peer_lost;  // until the register knows of the new writer
      Batch batch;
      for (const auto deadline = soon(); status.code() == Code::peer_lost && os::now_ns() < deadline;) {
        status = read(*reader, 1, 1, batch);
      }
      ASSERT_EQ(status.code(), Code::restarted) << status.text();
    }
    std::thread killer([&] { kill_at_random(child, random); });
    Status status;
    Batch batch;
    while ((status = read(*reader, 1, 3, batch)).ok()) {
      expect_content(batch, box_of(0, rows, 0, columns));
      expect_equation(reader->count());
      delivered += batch.count;
    }
    killer.join();
    EXPECT_EQ(status.code(), Code::peer_lost) << status.text();
    EXPECT_NE(status.text().find("peer 7"), std::string::npos) << status.text();
    expect_equation(reader->count());
  }
  EXPECT_EQ(reader->count().delivered, delivered);
}

TEST_F(Kill, AHolderAtAnyMomentAndTheWriterGoesOn) {
  std::mt19937 random(2);
  auto writer = create(3);
  std::int64_t step = 0;
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = start(8, "nowcast", static_cast<std::uint16_t>(round), [&](FakeEnvironment& environment) {
      auto reader = Reader::open(environment, team, "eta", {}, soon());
      for (Batch batch; reader.ok();) {
        static_cast<void>(read(**reader, 1, 2, batch));
      }
    });
    ASSERT_GT(child, 0);
    std::thread killer([&] { kill_at_random(child, random); });
    const std::uint64_t start_ns = os::now_ns();
    for (std::int64_t end = step + 50; step < end; ++step) {
      put(*writer, step);
    }
    killer.join();
    for (std::int64_t end = step + 5; step < end; ++step) {
      put(*writer, step);  // past whatever the dead one held
    }
    EXPECT_LT(os::now_ns() - start_ns, five_seconds_ns);
  }
}

}  // namespace
}  // namespace couplet::series
