// One writer, one reader: what put, claim, read, retained, count and close do.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

TEST_F(Series, DeliversManyStepsInOneCallAndThenTheEnd) {
  auto writer = create(8);
  ReaderOptions options;
  options.box = box_of(2, 6, 3, 9);
  auto reader = open(options);
  for (std::int64_t step = 10; step <= 60; step += 10) {
    put(*writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 4, batch).ok());
  ASSERT_EQ(batch.count, 4U);
  EXPECT_EQ(batch.steps[0], 10);
  EXPECT_EQ(batch.steps[3], 40);
  EXPECT_EQ(batch.ordinals[3], 3U);
  EXPECT_EQ(batch.step_bytes, 4U * 6 * 4);
  expect_content(batch, *options.box);
  expect_equation(reader->count());
  ASSERT_TRUE(read(*reader, 1, 100, batch).ok());
  EXPECT_EQ(batch.count, 2U);
  EXPECT_EQ(read(*reader, 1, 1, batch, 0).code(), Code::not_yet);
  ASSERT_TRUE(writer->close(soon()).ok());
  EXPECT_EQ(read(*reader, 1, 1, batch).code(), Code::end);
  const Statistics statistics = reader->count();
  EXPECT_EQ(statistics.delivered, 6U);
  EXPECT_EQ(statistics.lost, 0U);
  EXPECT_EQ(statistics.calls, 2U);
  EXPECT_EQ(statistics.largest_batch, 4U);
  expect_equation(statistics);
}

TEST_F(Series, ABatchIsBoundedInBytes) {
  auto writer = create(8);
  ReaderOptions options;
  options.box = box_of(2, 6, 3, 9);
  const std::uint64_t step_bytes = 4U * 6 * 4;
  options.up_to_bytes = 3 * step_bytes + step_bytes / 2;
  auto reader = open(options);
  options.up_to_bytes = 1;
  auto narrow = open(options);
  for (std::int64_t step = 10; step <= 60; step += 10) {
    put(*writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 100, batch).ok());
  EXPECT_EQ(batch.count, 3U);
  EXPECT_EQ(batch.steps[2], 30);
  ASSERT_TRUE(read(*reader, 3, 100, batch).ok());
  EXPECT_EQ(batch.steps[2], 60);
  expect_content(batch, *options.box);
  const Status refused = read(*reader, 4, 100, batch);
  EXPECT_EQ(refused.code(), Code::limit);
  EXPECT_NE(refused.text().find("only 3 steps of 96 bytes fit into up_to_bytes (336)"), std::string::npos);
  ASSERT_TRUE(read(*narrow, 1, 100, batch).ok());
  EXPECT_EQ(batch.count, 1U);
  expect_equation(reader->count());
}

TEST_F(Series, WriterAndReaderCountIntoTheProcess) {
  using counters::Counter;
  auto writer = create(4);
  ReaderOptions options;
  options.mode = Mode::follow;
  options.box = box_of(0, 2, 0, 3);
  auto reader = open(options);
  for (std::int64_t step = 0; step < 10; ++step) {
    put(*writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 100, batch).ok());
  const Statistics statistics = reader->count();
  ASSERT_GE(statistics.lost, 6U);
  const auto& written = writer_environment.counters();
  EXPECT_EQ(written.get(Counter::series_steps_written), 10U);
  EXPECT_EQ(written.get(Counter::series_bytes_written), 10U * rows * columns * 4);
  EXPECT_GT(written.get(Counter::series_write_ns), 0U);
  EXPECT_EQ(written.get(Counter::series_steps_delivered), 0U);
  const auto& delivered = reader_environment.counters();
  EXPECT_EQ(delivered.get(Counter::series_steps_delivered), statistics.delivered);
  EXPECT_EQ(delivered.get(Counter::series_bytes_delivered), statistics.delivered * 2 * 3 * 4);
  EXPECT_EQ(delivered.get(Counter::series_steps_lost), statistics.lost);
  EXPECT_EQ(delivered.get(Counter::series_read_wait_ns), 0U);
  EXPECT_EQ(read(*reader, 1, 1, batch, 0.2).code(), Code::not_yet);
  EXPECT_GE(delivered.get(Counter::series_read_wait_ns), 5'000'000U);
  EXPECT_GE(delivered.get(Counter::series_read_ns), delivered.get(Counter::series_read_wait_ns));
}

TEST_F(Series, AWriterCountsHowLongItWasHeld) {
  using counters::Counter;
  WriterOptions options;
  options.wait_timeout_s = 0.2;
  auto writer = create(1, options);
  auto reader = open();
  put(*writer, 0);
  EXPECT_EQ(writer->put(field(1).data(), 1).code(), Code::timeout);
  EXPECT_GE(writer_environment.counters().get(Counter::series_held_ns), 10'000'000U);
  EXPECT_EQ(writer_environment.counters().get(Counter::series_steps_written), 1U);
}

TEST_F(Series, WrittenInOneProcessReadInAnother) {
  constexpr std::int64_t steps = 500;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    FakeEnvironment environment(world, 7, "ocean");
    WriterOptions options;
    options.slots = 4;
    options.required_readers = {{"nowcast"}};
    auto writer = Writer::create(environment, team,
                                 {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)}, options, soon());
    bool fine = writer.ok();
    for (std::int64_t step = 0; fine && step < steps; ++step) {
      fine = (*writer)->put(field(step).data(), step).ok();
    }
    fine = fine && (*writer)->close(soon()).ok();
    _exit(fine ? 0 : 1);
  }
  auto reader = open();
  ASSERT_NE(reader, nullptr);
  std::int64_t expected = 0;
  Batch batch;
  Status status;
  while ((status = read(*reader, 1, 3, batch)).ok()) {
    for (std::uint64_t number = 0; number < batch.count; ++number) {
      ASSERT_EQ(batch.steps[number], expected++);
    }
    expect_content(batch, box_of(0, rows, 0, columns));
  }
  EXPECT_EQ(status.code(), Code::end) << status.text();
  EXPECT_EQ(expected, steps);
  EXPECT_EQ(reader->count().lost, 0U);
  expect_equation(reader->count());
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
}

TEST_F(Series, ClaimGivesPageAlignedSlotsThatFollowEachOther) {
  auto writer = create(3);
  auto reader = open();
  std::byte* before = nullptr;
  for (std::int64_t step = 0; step < 3; ++step) {
    auto slot = writer->claim(step);
    ASSERT_TRUE(slot.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*slot) % 4096, 0U);
    if (before != nullptr) {
      EXPECT_EQ(*slot - before, 4096);
    }
    before = *slot;
    const auto values = field(step);
    std::memcpy(*slot, values.data(), values.size() * sizeof values[0]);
    EXPECT_EQ(reader->count().pending, static_cast<std::uint64_t>(step));  // not there before it is published
    ASSERT_TRUE(writer->publish().ok());
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 3, 3, batch).ok());
  EXPECT_EQ(batch.steps[2], 2);
  expect_content(batch, box_of(0, rows, 0, columns));
}

TEST_F(Series, ReadsIntoTheUsersArray) {
  auto writer = create(4);
  auto reader = open();
  put(*writer, 5);
  std::vector<std::int32_t> out(2 * rows * columns, -1);
  Batch batch;
  ASSERT_TRUE(reader->read(1, 2, soon(), out.data(), out.size() * 4, batch).ok());
  EXPECT_EQ(batch.data, reinterpret_cast<std::byte*>(out.data()));
  expect_content(batch, box_of(0, rows, 0, columns));
  EXPECT_EQ(out[rows * columns], -1);
  const Status small = reader->read(1, 3, soon(), out.data(), out.size() * 4, batch);
  EXPECT_EQ(small.code(), Code::argument);
  EXPECT_NE(small.text().find("eta"), std::string::npos);
}

TEST_F(Series, WithoutHolderNothingKeepsTheWriterAndALateReaderGetsWhatIsRetained) {
  auto writer = create(4);
  for (std::int64_t step = 0; step < 100; ++step) {
    put(*writer, step);
  }
  EXPECT_EQ(writer->count().held_ns, 0U);
  ReaderOptions options;
  options.mode = Mode::follow;
  auto reader = open(options);
  EXPECT_EQ(reader->count().first, 96U);
  const auto retained = reader->retained();
  ASSERT_TRUE(retained.ok());
  EXPECT_EQ(retained->first, 96U);
  EXPECT_EQ(retained->end, 100U);
  EXPECT_EQ(retained->newest_step, 99);
  Batch batch;
  ASSERT_TRUE(read(*reader, 4, 10, batch).ok());
  EXPECT_EQ(batch.steps[0], 96);
  EXPECT_EQ(batch.count, 4U);
  expect_content(batch, box_of(0, rows, 0, columns));
  expect_equation(reader->count());
}

TEST_F(Series, AFollowerLosesWhatIsOverwrittenAndSaysSo) {
  auto writer = create(4);
  ReaderOptions options;
  options.mode = Mode::follow;
  auto reader = open(options);
  for (std::int64_t step = 0; step < 10; ++step) {
    put(*writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 100, batch).ok());
  EXPECT_EQ(batch.count, 4U);
  EXPECT_EQ(batch.lost, 6U);
  EXPECT_EQ(batch.ordinals[0], 6U);
  EXPECT_EQ(reader->count().lost, 6U);
  EXPECT_EQ(reader->count().lost_torn, 0U);
  expect_equation(reader->count());
  put(*writer, 10);
  ASSERT_TRUE(read(*reader, 1, 100, batch).ok());
  EXPECT_EQ(batch.lost, 0U);
}

TEST_F(Series, ASlotThatIsBeingWrittenIsNotDelivered) {
  auto writer = create(2);
  ReaderOptions options;
  options.mode = Mode::follow;
  auto reader = open(options);
  put(*writer, 0);
  put(*writer, 1);
  ASSERT_TRUE(writer->claim(2).ok());  // overwrites step 0 from now on
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 100, batch).ok());
  ASSERT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 1);
  EXPECT_EQ(batch.lost, 1U);
  expect_equation(reader->count());
}

TEST_F(Series, StartsWhereItIsTold) {
  auto writer = create(8);
  for (std::int64_t step = 0; step < 50; step += 10) {
    put(*writer, step);
  }
  const auto first_of = [&](From from, std::int64_t from_step) {
    ReaderOptions options;
    options.from = from;
    options.from_step = from_step;
    auto reader = open(options);
    return reader->count().first;
  };
  EXPECT_EQ(first_of(From::oldest, 0), 0U);
  EXPECT_EQ(first_of(From::newest, 0), 4U);
  EXPECT_EQ(first_of(From::next, 0), 5U);
  EXPECT_EQ(first_of(From::step, 20), 2U);
  EXPECT_EQ(first_of(From::step, 21), 3U);
  EXPECT_EQ(first_of(From::step, 99), 5U);
}

TEST_F(Series, FromAStepThatIsToComeSkipsWhatIsBefore) {
  auto writer = create(4);
  ReaderOptions options;
  options.from = From::step;
  options.from_step = 55;
  auto reader = open(options);
  for (std::int64_t step = 10; step <= 40; step += 10) {
    put(*writer, step);
  }
  Batch batch;
  EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::not_yet);  // gives the skipped slots back
  for (std::int64_t step = 50; step <= 70; step += 10) {
    put(*writer, step);
  }
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.steps[0], 60);
  EXPECT_EQ(batch.count, 2U);
  EXPECT_EQ(reader->count().skipped, 5U);
  expect_equation(reader->count());
}

TEST_F(Series, WhatACrashedWriterPublishedStaysThenItsNameIsTold) {
  auto writer = create(8);
  auto reader = open();
  put(*writer, 1);
  put(*writer, 2);
  ASSERT_TRUE(writer->claim(3).ok());
  writer_environment.die();
  Batch batch;
  ASSERT_TRUE(read(*reader, 5, 8, batch).ok());  // the wait ends with the series and gives what is left
  EXPECT_EQ(batch.count, 2U);
  const Status gone = read(*reader, 1, 1, batch);
  EXPECT_EQ(gone.code(), Code::peer_lost);
  EXPECT_NE(gone.text().find("peer 0"), std::string::npos) << gone.text();
  EXPECT_NE(gone.text().find("eta"), std::string::npos) << gone.text();
  auto late = open();  // and a reader that comes afterwards gets them too
  ASSERT_TRUE(read(*late, 1, 8, batch).ok());
  EXPECT_EQ(batch.count, 2U);
}

TEST_F(Series, AWaitingReaderIsToldThatTheWriterDied) {
  auto writer = create(8);
  auto reader = open();
  std::thread killer([&] {
    while (reader_environment.slices == 0) {  // until the reader sleeps
      std::this_thread::yield();
    }
    writer_environment.die();
  });
  Batch batch;
  EXPECT_EQ(read(*reader, 1, 1, batch, -1).code(), Code::peer_lost);
  killer.join();
}

TEST_F(Series, ARestartedWriterIsANewIncarnation) {
  auto reader_of_nothing = std::unique_ptr<Reader>();
  {
    auto writer = create(4);
    reader_of_nothing = open();
    put(*writer, 1);
    put(*writer, 2);
    writer_environment.die();
  }
  Reader& reader = *reader_of_nothing;
  FakeEnvironment again(world, 0, "ocean", 1);
  WriterOptions options;
  options.slots = 4;
  auto writer = Writer::create(again, team, {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)},
                               options, soon());
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  for (std::int64_t step = 100; step < 106; ++step) {
    put(**writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(reader, 1, 10, batch).ok());
  EXPECT_EQ(batch.count, 2U);
  EXPECT_EQ(batch.incarnation, 0U);
  EXPECT_EQ(read(reader, 1, 10, batch).code(), Code::end);  // ~Writer closed it
  EXPECT_EQ(read(reader, 1, 10, batch).code(), Code::restarted);
  expect_equation(reader.count());
  ASSERT_TRUE(read(reader, 1, 10, batch).ok());
  EXPECT_EQ(batch.incarnation, 1U);
  EXPECT_EQ(batch.steps[0], 102);
  EXPECT_EQ(batch.count, 4U);
  EXPECT_EQ(batch.lost, 2U);
  expect_equation(reader.count());
  EXPECT_EQ(reader.count().published, 8U);
}

TEST_F(Series, AnInterruptEndsAWait) {
  auto writer = create(2);
  auto reader = open();
  reader_environment.interrupt = true;
  Batch batch;
  EXPECT_EQ(read(*reader, 1, 1, batch, -1).code(), Code::not_yet);
}

TEST_F(Series, AStepOfNoElementsIsAStep) {
  WriterOptions options;
  options.slots = 2;
  auto writer = Writer::create(writer_environment, team,
                               {"eta", COUPLET_INT32, {rows, columns}, box_of(0, 0, 0, columns)}, options, soon());
  ASSERT_TRUE(writer.ok());
  ReaderOptions reading;
  reading.box = box_of(3, 3, 0, columns);
  auto reader = open(reading);
  ASSERT_TRUE((*writer)->put(nullptr, 4).ok());
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 2, batch).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 4);
  EXPECT_EQ(batch.step_bytes, 0U);
}

}  // namespace
}  // namespace couplet::series
