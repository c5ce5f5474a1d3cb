// A call that waits for steps sleeps so that other threads of its process can make calls meanwhile.
#include "series/waiting.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "os/futex.hpp"
#include "support/child.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

class CountingEnvironment final : public FakeEnvironment {
 public:
  using FakeEnvironment::FakeEnvironment;
  void sleep_elsewhere(const std::function<void()>& sleep) override {
    ++sleeps;
    sleep();
  }
  int sleeps = 0;
};

// Fault: with several threads that take turns, a reader that waited for a step kept its turn while it slept.
TEST(WaitingForSteps, GivesTheTurnAwayInEachSleep) {
  SeriesWorld world;
  SoloTeam alone;
  FakeEnvironment writer_environment(world, 0, "ocean");
  CountingEnvironment reader_environment(world, 1, "nowcast");
  WriterOptions options;
  options.slots = 2;
  auto writer = Writer::create(writer_environment, alone,
                               {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)}, options, soon());
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  auto reader = Reader::open(reader_environment, alone, "eta", {}, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  Batch batch;
  reader_environment.slices = reader_environment.sleeps = 0;
  const Status status = (*reader)->read(1, 1, os::deadline_after(0.2), nullptr, 0, batch);
  EXPECT_EQ(status.code(), Code::not_yet) << status.text();
  EXPECT_GT(reader_environment.sleeps, 0);
  EXPECT_GE(reader_environment.sleeps + 1, reader_environment.slices) << "a sleep kept the turn";
}

// Issue 9, fault 12: a put woke all followers that slept, which took 355 us with 64 of them.
TEST(SleepingFollowers, APutWakesOneOfThem) {
  constexpr int sleepers = 4;
  SeriesWorld world;
  SoloTeam alone;
  FakeEnvironment environment(world, 0, "ocean");
  WriterOptions options;
  options.slots = 2;
  auto writer = Writer::create(environment, alone, {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)},
                               options, soon());
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  auto& published = (*writer)->file().control().published;
  const auto word = prepare_sleep(published, 1);
  ASSERT_TRUE(word);
  std::array<std::atomic<int>, sleepers> number_of{};  // the kernel's number of each thread
  std::atomic<int> awake{0};
  std::vector<std::thread> threads;
  for (auto& number : number_of) {
    threads.emplace_back([&, word] {
      number = static_cast<int>(::gettid());
      static_cast<void>(os::futex_wait(published.word, *word, os::never));
      ++awake;
    });
  }
  const auto sleeps = [](int number) {
    std::ifstream file(fmt::format("/proc/self/task/{}/stat", number));
    std::string line;
    std::getline(file, line);
    const auto end = line.rfind(") ");
    return end != std::string::npos && line[end + 2] == 'S';
  };
  EXPECT_TRUE(test::eventually([&] { return std::all_of(number_of.begin(), number_of.end(), sleeps); }));
  EXPECT_TRUE((*writer)->put(field(1).data(), 1).ok());
  EXPECT_TRUE(test::eventually([&] { return awake > 0; }));
  EXPECT_EQ(std::count_if(number_of.begin(), number_of.end(), sleeps), sleepers - 1) << "the others were woken, too";
  pass_wake_on(published);  // as the one that was woken does
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(awake, sleepers);
}

}  // namespace
}  // namespace couplet::series
