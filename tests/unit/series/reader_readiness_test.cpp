// When a read would give something: beside each look, the read that follows it.
#include "series/reader_readiness.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

class ReaderReadinessTest : public testing_fixture::Series {
 protected:
  // Looks, and reads without waiting: the read answers not_yet exactly if nothing is ready.
  static bool look_and_read(Reader& reader, std::uint64_t at_least = 1) {
    const bool ready = ReaderReadiness::look(reader, at_least, false);
    EXPECT_EQ(ReaderReadiness::look(reader, at_least, false), ready);
    Batch batch;
    const Status status = read(reader, at_least, 64, batch, 0);
    EXPECT_EQ(status.code() != Code::not_yet, ready) << status.text();
    return ready;
  }
};

TEST_F(ReaderReadinessTest, TheLookAgreesWithTheReadForEachChoice) {
  for (const ReaderOptions& options :
       {ReaderOptions{}, ReaderOptions{.mode = Mode::follow}, ReaderOptions{.every = 3},
        ReaderOptions{.mode = Mode::follow, .latest = true}, ReaderOptions{.from = From::step, .from_step = 5}}) {
    const auto writer = create(8);
    const auto reader = open(options);
    for (std::int64_t step = 1; step <= 12; ++step) {
      look_and_read(*reader);
      put(*writer, step);
      look_and_read(*reader);
    }
    ASSERT_TRUE(writer->close(testing_fixture::soon()).ok());
    EXPECT_TRUE(look_and_read(*reader));
    ASSERT_TRUE(reader->close(testing_fixture::soon()).ok());
  }
}

TEST_F(ReaderReadinessTest, TheLookAgreesWithTheReadByTime) {
  const auto writer = create(8);
  const auto reader = open({.interval = 1});
  for (std::int64_t step = 1; step <= 12; ++step) {
    ASSERT_TRUE(writer->set_time(0.4 * static_cast<double>(step)).ok());
    put(*writer, step);
    look_and_read(*reader);
  }
}

TEST_F(ReaderReadinessTest, ALookTakesNothingAndAccountsForNothing) {
  const auto writer = create(8);
  const auto reader = open();
  put(*writer, 1);
  put(*writer, 2);
  EXPECT_TRUE(ReaderReadiness::look(*reader, 2, true));
  const Statistics counts = reader->count();
  EXPECT_EQ(counts.pending, 2U);
  EXPECT_EQ(counts.delivered + counts.lost + counts.skipped, 0U);
}

TEST_F(ReaderReadinessTest, AReadThatIsAnErrorIsReady) {
  const auto writer = create(4);
  const auto reader = open();
  EXPECT_TRUE(ReaderReadiness::look(*reader, 5, false));  // more steps than slots
  EXPECT_FALSE(ReaderReadiness::look(*reader, 4, false));
  ASSERT_TRUE(reader->close(testing_fixture::soon()).ok());
  EXPECT_TRUE(ReaderReadiness::look(*reader, 1, false));
}

TEST_F(ReaderReadinessTest, WhatIsAwaitedIsTheFileWhoseNextStepIsMissing) {
  const auto writer = create(4);
  const auto reader = open();
  put(*writer, 1);
  const ReaderReadiness::Awaited awaited = ReaderReadiness::awaited(*reader, 3);
  ASSERT_NE(awaited.file, nullptr);
  EXPECT_EQ(awaited.file->geometry().name, "eta");
  EXPECT_EQ(awaited.target, 3U);
  EXPECT_FALSE(ReaderReadiness::unannounced(*reader));
}

}  // namespace
}  // namespace couplet::series
