// A call that waits for steps sleeps so that other threads of its process can make calls meanwhile.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace couplet::series
