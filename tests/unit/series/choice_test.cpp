// What a reader chooses to be given: every n-th step, the latest, torn ones with their mark.
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

class Choice : public Series {};

TEST_F(Choice, EveryThirdStepIsDeliveredAndTheOthersAreSkipped) {
  auto writer = create(16);
  ReaderOptions options;
  options.every = 3;
  auto reader = open(options);
  for (std::int64_t step = 100; step < 111; ++step) {
    put(*writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 2, 3, batch).ok());
  ASSERT_EQ(batch.count, 3U);
  EXPECT_EQ(batch.steps[0], 100);
  EXPECT_EQ(batch.steps[1], 103);
  EXPECT_EQ(batch.steps[2], 106);
  EXPECT_EQ(batch.ordinals[2], 6U);
  expect_content(batch, box_of(0, rows, 0, columns));
  expect_equation(reader->count());
  ASSERT_TRUE(writer->close(soon()).ok());
  ASSERT_TRUE(read(*reader, 1, 3, batch).ok());
  ASSERT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 109);
  EXPECT_EQ(read(*reader, 1, 3, batch).code(), Code::end);
  const Statistics statistics = reader->count();
  EXPECT_EQ(statistics.delivered, 4U);
  EXPECT_EQ(statistics.skipped, 7U);
  EXPECT_EQ(statistics.pending, 0U);
  EXPECT_EQ(statistics.lost, 0U);
  expect_equation(statistics);
}

TEST_F(Choice, AHolderOfEveryTenthStepDoesNotHoldTheOthers) {
  WriterOptions patient;
  patient.wait_timeout_s = 0;
  auto writer = create(4, patient);
  ReaderOptions options;
  options.every = 10;
  auto reader = open(options);
  Batch batch;
  std::int64_t step = 0;
  for (int round = 0; round < 5; ++round) {
    put(*writer, step++);
    ASSERT_TRUE(read(*reader, 1, 4, batch).ok());
    ASSERT_EQ(batch.count, 1U);
    EXPECT_EQ(batch.steps[0], round * 10);
    for (int other = 1; other < 10; ++other) {
      put(*writer, step++);  // never FULL
    }
  }
  for (int number = 0; number < 4; ++number) {
    put(*writer, step++);
  }
  EXPECT_EQ(writer->put(field(step).data(), step).code(), Code::full);  // the chosen one is held
  expect_equation(reader->count());
  EXPECT_EQ(reader->count().lost, 0U);
  EXPECT_EQ(read(*reader, 2, 4, batch).code(), Code::limit);  // ten steps apart, and four slots
}

TEST_F(Choice, OfWhatIsOverwrittenOnlyTheChosenOnesAreLost) {
  auto writer = create(2);
  ReaderOptions options;
  options.mode = Mode::follow;
  options.every = 4;
  auto reader = open(options);
  put(*writer, 0);
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  for (std::int64_t step = 1; step <= 12; ++step) {
    put(*writer, step);
  }
  ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  EXPECT_EQ(batch.steps[0], 12);
  EXPECT_EQ(batch.lost, 2U);  // 4 and 8
  EXPECT_EQ(reader->count().skipped, 9U);
  expect_equation(reader->count());
}

TEST_F(Choice, TheLatestStepsAndNothingOlder) {
  auto writer = create(8);
  ReaderOptions options;
  options.mode = Mode::follow;
  options.latest = true;
  auto reader = open(options);
  for (std::int64_t step = 0; step < 6; ++step) {
    put(*writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  ASSERT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 5);
  EXPECT_EQ(reader->count().skipped, 5U);
  EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::not_yet);
  put(*writer, 6);
  put(*writer, 7);
  put(*writer, 8);
  ASSERT_TRUE(read(*reader, 2, 8, batch).ok());
  ASSERT_EQ(batch.count, 2U);
  EXPECT_EQ(batch.steps[0], 7);
  EXPECT_EQ(batch.steps[1], 8);
  expect_equation(reader->count());
}

TEST_F(Choice, AHolderCannotHaveOnlyTheLatestAndEveryNeedsANumber) {
  auto writer = create(4);
  ReaderOptions options;
  options.latest = true;
  EXPECT_EQ(Reader::open(reader_environment, team, "eta", options, soon()).code(), Code::argument);
  options.latest = false;
  options.every = 0;
  EXPECT_EQ(Reader::open(reader_environment, team, "eta", options, soon()).code(), Code::argument);
}

// ---- of each interval of physical time the first step ----

class Interval : public Series {
 protected:
  void put_at(Writer& writer, std::int64_t step, double time) {
    ASSERT_TRUE(writer.set_time(time).ok());
    put(writer, step);
  }
  static ReaderOptions every(double interval) {
    ReaderOptions options;
    options.interval = interval;
    return options;
  }
};

TEST_F(Interval, TheFirstStepOfEachIsDelivered) {
  auto writer = create(16);
  auto reader = open(every(0.5));
  const std::array<double, 9> times = {0.0, 0.2, 0.4, 0.5, 0.7, 1.9, 1.95, 2.0, 2.1};
  for (std::size_t step = 0; step < times.size(); ++step) {
    put_at(*writer, static_cast<std::int64_t>(step), times[step]);
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 3, batch).ok());
  ASSERT_EQ(batch.count, 3U);
  EXPECT_EQ(std::vector(batch.steps, batch.steps + 3), (std::vector<std::int64_t>{0, 3, 5}));
  EXPECT_EQ(batch.times[2], 1.9);
  expect_content(batch, box_of(0, rows, 0, columns));
  expect_equation(reader->count());
  ASSERT_TRUE(read(*reader, 1, 3, batch).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 7);
  EXPECT_EQ(read(*reader, 1, 3, batch, 0).code(), Code::not_yet);
  ASSERT_TRUE(writer->close(soon()).ok());
  EXPECT_EQ(read(*reader, 1, 3, batch).code(), Code::end);
  const Statistics statistics = reader->count();
  EXPECT_EQ(statistics.delivered, 4U);
  EXPECT_EQ(statistics.skipped, 5U);
  EXPECT_EQ(statistics.lost, 0U);
  EXPECT_EQ(statistics.pending, 0U);
  expect_equation(statistics);
}

TEST_F(Interval, ATimeThatRoundingPutJustBelowBelongsToTheNextOne) {
  auto writer = create(16);
  auto reader = open(every(0.1));
  double time = 0;
  for (std::int64_t step = 0; step < 10; ++step) {
    put_at(*writer, step, time);
    time += 0.1;
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 16, batch).ok());
  EXPECT_EQ(batch.count, 10U);
}

// An interval so short that the number of a window did not fit into 64 bits gave only the first step.
TEST_F(Interval, OneThatIsShorterThanTheTimesCanTellDeliversEachTime) {
  for (const double interval : {1e-15, 1e-300, 5e-324}) {
    auto writer = create(16);
    auto reader = open(every(interval));
    const std::array<double, 7> times = {-2e5, -1e5, 0, 5e-324, 1e5, 2e5, std::nextafter(2e5, 3e5)};
    for (std::size_t step = 0; step < times.size(); ++step) {
      put_at(*writer, static_cast<std::int64_t>(step), times[step]);
    }
    Batch batch;
    ASSERT_TRUE(read(*reader, 1, 16, batch).ok()) << interval;
    EXPECT_EQ(batch.count, interval > 5e-324 ? times.size() - 1 : times.size()) << interval;  // of 0 and 5e-324
    expect_equation(reader->count());
    ASSERT_TRUE(writer->close(soon()).ok());
  }
}

TEST_F(Interval, AHolderDoesNotHoldWhatItDoesNotWant) {
  WriterOptions patient;
  patient.wait_timeout_s = 0;
  auto writer = create(3, patient);
  auto reader = open(every(10));
  Batch batch;
  std::int64_t step = 0;
  for (int round = 0; round < 4; ++round) {
    put_at(*writer, step, static_cast<double>(step));
    ++step;
    ASSERT_TRUE(read(*reader, 1, 4, batch).ok());
    ASSERT_EQ(batch.count, 1U);
    EXPECT_EQ(batch.steps[0], round * 10);
    for (int other = 1; other < 10; ++other) {
      put_at(*writer, step, static_cast<double>(step));  // never FULL once the reader has looked
      ++step;
      EXPECT_EQ(read(*reader, 1, 4, batch, 0).code(), Code::not_yet);
    }
  }
  expect_equation(reader->count());
  EXPECT_EQ(reader->count().lost, 0U);
  EXPECT_EQ(reader->count().delivered, 4U);
}

TEST_F(Interval, WhatAFollowerHasNotSeenIsLost) {
  auto writer = create(4);
  auto options = every(1);
  options.mode = Mode::follow;
  auto reader = open(options);
  for (std::int64_t step = 0; step < 10; ++step) {
    put_at(*writer, step, 0.5 * static_cast<double>(step));
  }
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(std::vector(batch.steps, batch.steps + batch.count), (std::vector<std::int64_t>{6, 8}));
  EXPECT_EQ(batch.lost, 6U);
  expect_equation(reader->count());
}

TEST_F(Interval, AllRanksOfATeamChooseTheSame) {
  WriterOptions required;
  required.required_readers = std::vector<std::string>{"nowcast"};  // they miss nothing
  auto writer = create(8, required);
  testing::TeamRoom room(2);
  std::array<std::vector<std::int64_t>, 2> seen;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      FakeEnvironment environment(world, static_cast<channel::PeerId>(10 + rank), "nowcast");
      testing::ThreadTeam both(room, rank);
      auto options = every(0.25);
      options.box = box_of(rank * 3, rank * 3 + 3, 0, columns);
      auto reader = Reader::open(environment, both, "eta", options, soon());
      ASSERT_TRUE(reader.ok()) << reader.status().text();
      Batch batch;
      while ((*reader)->read(1, 3, soon(), nullptr, 0, batch).ok()) {
        auto& list = seen[static_cast<std::size_t>(rank)];
        list.insert(list.end(), batch.steps, batch.steps + batch.count);
      }
      EXPECT_EQ((*reader)->count().lost, 0U);
      EXPECT_EQ((*reader)->count().pending, 0U);
      expect_equation((*reader)->count());
    });
  }
  for (std::int64_t step = 0; step < 200; ++step) {
    put_at(*writer, step, 0.1 * static_cast<double>(step));
  }
  ASSERT_TRUE(writer->close(soon()).ok());
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0].size(), 80U);  // 20 units of time
}

TEST_F(Interval, ChoicesThatMakeNoSenseAreNamed) {
  auto writer = create(4);
  const auto code_of = [&](const ReaderOptions& options) {
    return Reader::open(reader_environment, team, "eta", options, soon()).code();
  };
  EXPECT_EQ(code_of(every(-1)), Code::argument);
  EXPECT_EQ(code_of(every(std::numeric_limits<double>::quiet_NaN())), Code::argument);
  auto both = every(1);
  both.every = 2;
  EXPECT_EQ(code_of(both), Code::argument);
  auto reader = open(every(1));
  Batch batch;
  EXPECT_EQ(read(*reader, 2, 2, batch).code(), Code::limit);
  put(*writer, 5);  // without a time
  const Status status = read(*reader, 1, 1, batch);
  EXPECT_EQ(status.code(), Code::argument);
  EXPECT_NE(status.text().find("step 5 has no physical time"), std::string::npos) << status.text();
}

// A writer that does nothing but put: sooner or later a step is replaced while it is copied, also where sanitizers make
// all but the copies slow. All bytes of a step are the same.
TEST_F(Choice, ATornStepIsDeliveredWithItsMark) {
  constexpr std::int64_t extent = 1 << 20;
  constexpr std::size_t bytes = extent * sizeof(std::int32_t);
  constexpr std::int64_t kinds = 3;  // more than slots
  const std::vector<std::int64_t> shape = {extent};
  WriterOptions few;
  few.slots = 2;
  auto made =
      Writer::create(writer_environment, team, {"big", COUPLET_INT32, shape, layout::whole(shape)}, few, soon());
  ASSERT_TRUE(made.ok()) << made.status().text();
  std::vector<std::vector<std::byte>> values;
  for (int kind = 0; kind < kinds; ++kind) {
    values.emplace_back(bytes, static_cast<std::byte>(kind));
  }
  std::atomic<bool> over = false;
  std::thread writing([&] {
    for (std::int64_t step = 0; !over; ++step) {
      EXPECT_TRUE((*made)->put(values[static_cast<std::size_t>(step % kinds)].data(), step).ok());
    }
  });
  ReaderOptions options;
  options.mode = Mode::follow;
  options.torn = true;
  auto reader = Reader::open(reader_environment, team, "big", options, soon());
  ASSERT_TRUE(reader.ok());
  std::uint64_t marked = 0;
  for (const std::uint64_t end = os::deadline_after(patience_s); marked == 0 && os::now_ns() < end;) {
    Batch batch;
    ASSERT_TRUE((*reader)->read(1, 1, soon(), nullptr, 0, batch).ok());
    ASSERT_EQ(batch.count, 1U);
    if (batch.torn[0] != 0) {
      ++marked;
    } else {
      EXPECT_EQ(batch.data[0], static_cast<std::byte>(batch.steps[0] % kinds));
      EXPECT_EQ(std::memcmp(batch.data, batch.data + 1, bytes - 1), 0);
    }
  }
  over = true;
  writing.join();
  const Statistics statistics = (*reader)->count();
  EXPECT_GT(marked, 0U) << statistics.delivered << " of " << statistics.published << " steps came";
  EXPECT_EQ(statistics.delivered_torn, marked);
  EXPECT_EQ(statistics.lost_torn, 0U);
  expect_equation(statistics);
}

}  // namespace
}  // namespace couplet::series
