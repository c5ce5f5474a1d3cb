// What a reader hears at the end of a series whose writer ranks do not end together.
#include "series/series_end.hpp"

#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

TEST(CommonOutlook, OfRanksThatSeeDifferentThings) {
  constexpr std::int64_t none = INT64_MAX;
  struct Case {
    const char* what;
    CommonSight sight;
    Outlook outlook;
  };
  const Case cases[] = {
      {"all have steps", {3, none, none, false, false}, Outlook::steps},
      {"one waits", {3, none, none, true, false}, Outlook::waiting},
      {"all have ended", {3, 3, none, false, true}, Outlook::ended},
      {"one has ended, and another one checked earlier", {2, 3, none, false, true}, Outlook::steps},
      {"one has ended, and another one waits", {3, 3, none, true, true}, Outlook::waiting},
      {"the same after the patience", {3, 3, none, true, false}, Outlook::ended},
      {"one has a lost writer", {3, none, 3, false, false}, Outlook::lost},
      {"a lost writer has more steps than all have seen", {3, none, 5, false, false}, Outlook::steps},
      {"a lost writer has more, and another rank waits", {3, none, 5, true, false}, Outlook::lost},
      {"a lost writer has more, and another one has ended", {3, 3, 5, false, true}, Outlook::lost},
      {"a lost writer and one that has ended", {3, 3, 3, false, true}, Outlook::lost},
  };
  for (const Case& each : cases) EXPECT_EQ(common_outlook(each.sight), each.outlook) << each.what;
}

// Two writer ranks, and a reader of what both write.
class UnevenEnd : public Series {
 protected:
  static constexpr std::int64_t slots = 8;

  void SetUp() override {
    testing::TeamRoom room(2);
    std::vector<std::thread> threads;
    for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
      threads.emplace_back([&, rank] {
        testing::ThreadTeam both(room, static_cast<int>(rank));
        WriterOptions options;
        options.slots = slots;
        options.wait_timeout_s = 5;
        auto made = Writer::create(rank == 0 ? writer_environment : second_environment, both,
                                   {"eta", COUPLET_INT32, {rows, columns}, boxes[rank]}, options, soon());
        EXPECT_TRUE(made.ok()) << made.status().text();
        writers[rank] = std::move(made).value();
      });
    }
    for (auto& thread : threads) thread.join();
  }
  void put(std::size_t rank, std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto values = field(next[rank]);
      const auto begin = static_cast<std::size_t>(boxes[rank].start[0] * columns);
      ASSERT_TRUE(writers[rank]->put(values.data() + begin, next[rank]).ok());
      ++next[rank];
    }
  }
  // Puts steps with their numbers as physical times.
  void put_timed(std::size_t rank, std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      ASSERT_TRUE(writers[rank]->claim(step).ok());
      ASSERT_TRUE(writers[rank]->set_time(static_cast<double>(step)).ok());
      ASSERT_TRUE(writers[rank]->publish().ok());
    }
  }
  // Each of two reader ranks reads what one writer rank writes. The first writer rank closes the series after two
  // steps, and the second one after four.
  void expect_told_to_both(ReaderOptions options) {
    testing::TeamRoom room(2);
    std::vector<Code> heard[2];
    std::vector<std::thread> threads;
    for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
      threads.emplace_back([&, rank, options]() mutable {
        testing::ThreadTeam both(room, static_cast<int>(rank));
        FakeEnvironment environment(world, static_cast<channel::PeerId>(10 + rank), "nowcast");
        options.box = boxes[rank];
        auto reader = Reader::open(environment, both, "eta", options, soon());
        ASSERT_TRUE(reader.ok()) << reader.status().text();
        put_timed(rank, rank == 0 ? 2 : 4);
        EXPECT_TRUE(writers[rank]->close(soon()).ok());
        Batch own;
        for (Code code = Code::ok; code != Code::end && heard[rank].size() < 10;) {
          code = (*reader)->read(1, 1, os::deadline_after(1), {}, own).code();
          heard[rank].push_back(code);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(heard[0], heard[1]);
    ASSERT_GE(heard[0].size(), 2U);
    EXPECT_EQ(heard[0].back(), Code::end);
    EXPECT_EQ(heard[0][heard[0].size() - 2], Code::mismatch);
  }
  // Both put `steps`, which are read. Then the second one puts the surplus, and the first one has closed.
  std::unique_ptr<Reader> end_first(std::int64_t steps, std::int64_t surplus, ReaderOptions options = {}) {
    auto reader = open(options);
    put(0, steps);
    put(1, steps);
    while (read(*reader, 1, 8, batch, 0).ok()) {
    }
    put(1, surplus);
    EXPECT_TRUE(writers[0]->close(soon()).ok());
    return reader;
  }
  // The second rank dies, and the next read names it.
  void expect_death_told(Reader& reader) {
    second_environment.die();
    const Status told = read(reader, 1, 8, batch);
    EXPECT_EQ(told.code(), Code::peer_lost);
    EXPECT_NE(told.text().find("peer 2"), std::string::npos) << told.text();
  }

  FakeEnvironment second_environment{world, 2, "ocean"};
  layout::Box boxes[2] = {box_of(0, 3, 0, columns), box_of(3, rows, 0, columns)};
  std::unique_ptr<Writer> writers[2];
  std::int64_t next[2] = {0, 0};
  Batch batch;
};

// One that goes on was told of again and again, also after the end.
TEST_F(UnevenEnd, IsToldOnceAndThenTheEndAlsoIfTheOtherRankGoesOn) {
  auto reader = end_first(3, 2);
  EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::not_yet);
  const Status told = read(*reader, 1, 8, batch);
  EXPECT_EQ(told.code(), Code::mismatch);
  EXPECT_EQ(
      told.text(),
      "series 'eta': writer rank 0 has ended it after 3 steps, and writer rank 1 has published 5; the 2 steps that "
      "are not whole are lost");
  put(1, 1);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::end);
  put(1, 1);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::end);
  EXPECT_EQ(reader->count().lost, 4U);
  expect_equation(reader->count());
}

TEST_F(UnevenEnd, IsNoneForAReaderThatHasWantedNoneOfTheSteps) {
  ReaderOptions options;
  options.every = 2;
  auto reader = end_first(3, 1, options);  // it wants the ordinals 0, 2 and 4
  ASSERT_TRUE(writers[1]->close(soon()).ok());
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::end);
  EXPECT_EQ(reader->count().lost, 0U);
  EXPECT_EQ(reader->count().skipped, 2U);
  expect_equation(reader->count());
}

// Each rank counted for itself what was lost: one had seen the times of the partial steps, or their numbers, and the
// other one had not. Then only one was told, and they were out of step.
TEST_F(UnevenEnd, IsToldToAllRanksOfAReaderWithAnInterval) {
  ReaderOptions options;
  options.interval = 10;
  expect_told_to_both(options);
}

TEST_F(UnevenEnd, IsToldToAllRanksOfAReaderFromAStepThatOneHasSeen) {
  ReaderOptions options;
  options.from = From::step;
  options.from_step = 3;
  expect_told_to_both(options);
}

// It was told as a good end.
TEST_F(UnevenEnd, ARankThatHasDiedBeforeItClosedIsLost) {
  auto reader = end_first(3, 0);
  expect_death_told(*reader);
}

TEST_F(UnevenEnd, ARankThatHasDiedAfterMoreStepsIsLost) {
  auto reader = end_first(3, 2);
  expect_death_told(*reader);
}

// The put of the rank that went on waited for the reader for ever.
TEST_F(UnevenEnd, AReaderThatWasToldThatOneRankIsLostHoldsNoStepsOfAnother) {
  auto reader = open();
  put(0, 2);
  put(1, 2);
  second_environment.die();
  for (int reads = 0; reads < 2; ++reads) {
    ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  }
  ASSERT_EQ(read(*reader, 1, 1, batch).code(), Code::peer_lost);
  put(0, 3 * slots);
  EXPECT_EQ(read(*reader, 1, 1, batch).code(), Code::peer_lost);
  EXPECT_EQ(reader->count().delivered, 2U);
  expect_equation(reader->count());
}

TEST_F(UnevenEnd, AReaderThatWasToldTheEndHoldsNoStepsOfARankThatGoesOn) {
  auto reader = end_first(3, 1);
  ASSERT_EQ(read(*reader, 1, 8, batch).code(), Code::mismatch);
  ASSERT_EQ(read(*reader, 1, 8, batch).code(), Code::end);
  put(1, 3 * slots);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::end);
  EXPECT_EQ(reader->count().delivered, 3U);
  expect_equation(reader->count());
}

// The rank that lives may still publish its part of a step that the lost one has published.
TEST_F(UnevenEnd, AReaderKeepsTheStepsThatAreWholeUntilItHasReadThem) {
  auto reader = open();
  put(0, 1);
  put(1, 2);
  second_environment.die();
  ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  EXPECT_EQ(read(*reader, 1, 1, batch, 0.1).code(), Code::not_yet);
  put(0, slots);
  ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  EXPECT_EQ(batch.steps[0], 1);
  EXPECT_EQ(read(*reader, 1, 1, batch).code(), Code::peer_lost);
}

}  // namespace
}  // namespace couplet::series
