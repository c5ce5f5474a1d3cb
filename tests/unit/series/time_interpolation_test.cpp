#include "series/time_interpolation.hpp"

#include "unit/series/remap_fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

// Steps 10, 20, ... at times 1, 2, ...: element i of step s is 100 i + (s / 10)^2.
class ReadAt : public Series {
 protected:
  ReadAt() {
    WriterSpecification specification("wind", COUPLET_DOUBLE, {3}, line());
    auto made = Writer::create(writer_environment, team, specification, {.slots = 4}, soon());
    EXPECT_TRUE(made.ok()) << made.status().text();
    writer = std::move(made).value();
  }
  static layout::Box line() {
    layout::Box box;
    box.dimensions = 1;
    box.stop[0] = 3;
    return box;
  }
  void open_at(BeyondNewest beyond = BeyondNewest::wait, ReaderOptions options = {}) {
    auto made = Reader::open(reader_environment, team, "wind", options, soon());
    ASSERT_TRUE(made.ok()) << made.status().text();
    reader = std::move(made).value();
    interpolation = std::make_unique<TimeInterpolation>(*reader, team, reader_environment, beyond);
  }
  void put_step(std::int64_t number, double time) {
    const double square = double(number) * double(number);
    const std::array<double, 3> values = {square, 100 + square, 200 + square};
    ASSERT_TRUE(writer->set_time(time).ok());
    ASSERT_TRUE(writer->put(values.data(), 10 * number).ok());
  }
  Status at(std::vector<double> times, double timeout_s = patience_s) {
    return interpolation->read(times, os::deadline_after(timeout_s), {}, batch);
  }
  [[nodiscard]] double value(std::size_t number, std::size_t element = 0) const {
    return reinterpret_cast<const double*>(batch.data)[3 * number + element];
  }
  void expect_refused(const Status& status, Code code, const std::string& words) {
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
  }

  std::unique_ptr<Writer> writer;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<TimeInterpolation> interpolation;
  Batch batch;
};

TEST_F(ReadAt, ValuesAreLinearBetweenTheStepsAround) {
  open_at();
  for (std::int64_t number = 1; number <= 4; ++number) {
    put_step(number, double(number));
  }
  ASSERT_TRUE(at({1, 1.25, 1.5, 2, 3.75}).ok());
  ASSERT_EQ(batch.count, 5U);
  EXPECT_EQ(value(0), 1);
  EXPECT_EQ(value(1), 1.75);
  EXPECT_EQ(value(2, 2), 202.5);
  EXPECT_EQ(value(3), 4);
  EXPECT_EQ(value(4, 1), 109 + 0.75 * 7);
  EXPECT_EQ(std::vector(batch.steps, batch.steps + 5), (std::vector<std::int64_t>{10, 10, 10, 20, 30}));
  EXPECT_EQ(batch.times[4], 3.75);
  EXPECT_EQ(batch.ordinals[4], 2U);
  ASSERT_TRUE(at({3.75, 4}).ok());  // the steps around the last time are kept
  EXPECT_EQ(value(0, 1), 109 + 0.75 * 7);
  EXPECT_EQ(value(1), 16);
}

TEST_F(ReadAt, ATimeThatNoStepHasReachedIsWaitedForAndNothingIsLost) {
  open_at();
  put_step(1, 1);
  put_step(2, 2);
  ASSERT_TRUE(at({1.5, 2.5, 3.5}, 0.01).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(value(0), 2.5);
  EXPECT_EQ(at({2.5}, 0.01).code(), Code::not_yet);
  ASSERT_TRUE(at({1.5}, 0.01).ok());  // the steps before are still there
  put_step(3, 3);
  ASSERT_TRUE(at({2.5}).ok());
  EXPECT_EQ(value(0), 6.5);
}

TEST_F(ReadAt, ATimePastTheNewestStepIsRefusedIfTheOptionsSaySo) {
  open_at(BeyondNewest::refuse);
  put_step(1, 1);
  put_step(2, 2);
  expect_refused(at({2.5}), Code::argument, "time 2.5 to read at lies past the newest step 20 (time 2)");
  put_step(3, 3);
  ASSERT_TRUE(at({2.5}).ok());
  EXPECT_EQ(value(0), 6.5);
}

TEST_F(ReadAt, ATimeBeforeTheOldestStepIsRefused) {
  open_at();
  put_step(1, 1);
  put_step(2, 2);
  expect_refused(at({0.5}), Code::argument, "time 0.5 to read at lies before step 10 (time 1)");
  ASSERT_TRUE(at({1.5}).ok());
}

TEST_F(ReadAt, TheEndIsToldAfterWhatCouldBeDelivered) {
  open_at();
  put_step(1, 1);
  put_step(2, 2);
  ASSERT_TRUE(writer->close(soon()).ok());
  ASSERT_TRUE(at({1.5, 2.5}).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(at({2.5}).code(), Code::end);
}

TEST_F(ReadAt, MisuseIsNamed) {
  open_at();
  put_step(1, 1);
  expect_refused(at({}), Code::argument, "no times are given");
  expect_refused(at({1, std::nan("")}), Code::argument, "time number 1 to read at is nan");
  expect_refused(at({2, 1}), Code::argument, "must not descend: 1 comes after 2");
  std::array<double, 3> small{};
  const Out out{small.data(), sizeof small, nullptr};
  expect_refused(interpolation->read(std::array{1.0, 1.0}, soon(), std::span(&out, 1), batch), Code::argument,
                 "out has 24 bytes, values at 2 times of 24 bytes do not fit");
  ASSERT_TRUE(interpolation->read(std::array{1.0}, soon(), std::span(&out, 1), batch).ok());
  EXPECT_EQ(small[1], 101);
}

TEST_F(ReadAt, AStepWithoutATimeIsNamed) {
  open_at();
  const std::array<double, 3> values{};
  ASSERT_TRUE(writer->put(values.data(), 5).ok());
  expect_refused(at({1}), Code::argument, "step 5 has no physical time");
}

// Fault: after a read of another kind, which said that the series was restarted, the old error came.
TEST_F(ReadAt, WhatWasLeftForTheNextReadIsForgottenWithTheSteps) {
  open_at();
  put_step(1, 1);
  put_step(2, 2);
  const std::array<double, 3> values{};
  ASSERT_TRUE(writer->put(values.data(), 25).ok());
  ASSERT_TRUE(at({1.5, 3.5}).ok());
  EXPECT_EQ(batch.count, 1U);
  interpolation->forget();
  put_step(3, 3);
  put_step(4, 4);
  const Status status = at({3.5});
  EXPECT_TRUE(status.ok()) << status.text();
}

TEST_F(ReadAt, StepsWhoseTimesDoNotGrowAreNamed) {
  open_at();
  put_step(1, 1);
  put_step(2, 1);
  expect_refused(at({1.5}), Code::argument, "step 20 has time 1, which is not later than the time 1 of step 10");
}

TEST_F(ReadAt, RemappedRowsAreInterpolatedToo) {
  Weights weights;
  weights.source_points = 3;
  weights.row_offsets = {0, 2, 2};
  weights.sources = {0, 2};
  weights.values = {0.5, 0.5};
  weights.fill = -9;
  ReaderOptions options;
  options.weights = shared(weights);
  open_at(BeyondNewest::wait, options);
  put_step(1, 1);
  put_step(2, 2);
  ASSERT_TRUE(at({1.5}).ok());
  const auto* values = reinterpret_cast<const double*>(batch.data);
  EXPECT_EQ(values[0], 102.5);
  EXPECT_EQ(values[1], -9);
}

}  // namespace
}  // namespace couplet::series
