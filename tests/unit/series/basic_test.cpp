// One writer, one reader: what put, claim, read, retained, count and close do.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "series/reader.hpp"
#include "series/writer.hpp"
#include "support/series_world.hpp"

namespace couplet::series {
namespace {

using testing::FakeEnvironment;
using testing::SeriesWorld;
using testing::SoloTeam;

constexpr std::int64_t rows = 7;
constexpr std::int64_t columns = 11;
constexpr double patience_s = 20;

std::uint64_t soon() {
  return os::deadline_after(patience_s);
}

layout::Box box_of(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  layout::Box box;
  box.dimensions = 2;
  box.start = {a, c};
  box.stop = {b, d};
  return box;
}

std::int32_t element(std::int64_t step, std::int64_t index) {
  return static_cast<std::int32_t>(step * 1000003 + index * 31);
}

std::vector<std::int32_t> field(std::int64_t step) {
  std::vector<std::int32_t> values(rows * columns);
  for (std::size_t index = 0; index < values.size(); ++index) {
    values[index] = element(step, static_cast<std::int64_t>(index));
  }
  return values;
}

// Every element of every step of the batch is that step's.
void expect_content(const Batch& batch, const layout::Box& box) {
  const auto* value = reinterpret_cast<const std::int32_t*>(batch.data);
  for (std::uint64_t number = 0; number < batch.count; ++number) {
    for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
      for (std::int64_t column = box.start[1]; column < box.stop[1]; ++column) {
        ASSERT_EQ(*value++, element(batch.steps[number], row * columns + column)) << "step " << batch.steps[number];
      }
    }
  }
}

void expect_equation(const Statistics& s) {
  EXPECT_EQ(s.published - s.first, s.delivered + s.lost + s.skipped + s.pending);
}

class Series : public ::testing::Test {
 protected:
  std::unique_ptr<Writer> create(std::uint64_t slots, WriterOptions options = {}) {
    options.slots = slots;
    auto writer = Writer::create(writer_environment, team,
                                 {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)}, options, soon());
    EXPECT_TRUE(writer.ok()) << writer.status().text();
    return writer.ok() ? std::move(writer).value() : nullptr;
  }
  std::unique_ptr<Reader> open(ReaderOptions options = {}) {
    auto reader = Reader::open(reader_environment, team, "eta", options, soon());
    EXPECT_TRUE(reader.ok()) << reader.status().text();
    return reader.ok() ? std::move(reader).value() : nullptr;
  }
  void put(Writer& writer, std::int64_t step) {
    const Status status = writer.put(field(step).data(), step);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  static Status read(Reader& reader, std::uint64_t at_least, std::uint64_t up_to, Batch& batch,
                     double timeout_s = patience_s) {
    return reader.read(at_least, up_to, os::deadline_after(timeout_s), nullptr, 0, batch);
  }

  SeriesWorld world;
  SoloTeam team;
  FakeEnvironment writer_environment{world, 0, "ocean"};
  FakeEnvironment reader_environment{world, 1, "nowcast"};
};

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

}  // namespace
}  // namespace couplet::series
