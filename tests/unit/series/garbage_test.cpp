// What others wrote into shared memory is never trusted, and writers that disagree do not stop a reader for ever.
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

class Garbage : public Series {
 protected:
  // Nothing else looks at the number of published steps before the reader does.
  static void say_published(Writer& writer, std::uint64_t published) {
    writer.file().control().claimed.claimed.store(published, std::memory_order_release);
    writer.file().control().published.published.store(published, std::memory_order_release);
  }
  Batch batch;
};

TEST_F(Garbage, ANumberOfStepsThatCannotBeIsAnError) {
  auto writer = create(4);
  auto reader = open();
  put(*writer, 1);
  say_published(*writer, std::uint64_t{1} << 63);
  const Status status = read(*reader, 1, 4, batch);
  EXPECT_EQ(status.code(), Code::protocol);
  EXPECT_NE(status.text().find("9223372036854775808"), std::string::npos) << status.text();
  EXPECT_EQ(reader->retained().code(), Code::protocol);
  expect_equation(reader->count());
}

TEST_F(Garbage, NoLoopRunsOverAllStepsThatAreSaidToBePublished) {
  constexpr std::uint64_t many = std::uint64_t{1} << 51;
  auto writer = create(4);
  put(*writer, 1);
  ReaderOptions options;
  options.mode = Mode::follow;
  auto plain = open(options);
  options.from = From::step;
  options.from_step = 50;
  auto from_step = open(options);
  options.from = From::oldest;
  options.interval = 1;
  auto by_time = open(options);
  say_published(*writer, many);
  for (Reader* const reader : {plain.get(), from_step.get(), by_time.get()}) {
    EXPECT_EQ(read(*reader, 1, 4, batch, 0).code(), Code::not_yet);
    EXPECT_EQ(reader->retained().code(), Code::not_yet);
    expect_equation(reader->count());
  }
  options.interval = 0;
  options.from = From::step;
  EXPECT_NE(open(options), nullptr);
}

TEST_F(Garbage, RetainedEndsWhereTheNewestStepCannotBeNamed) {
  auto writer = create(3);
  auto reader = open();
  for (std::int64_t step = 1; step < 4; ++step) {
    put(*writer, step);
  }
  begin_write(writer->file().slot_header(2), 2);  // as a relay leaves a step that it could not push whole
  auto retained = reader->retained();
  ASSERT_TRUE(retained.ok());
  EXPECT_EQ(retained->newest_step, 2);
  EXPECT_EQ(retained->end, 3U);
  begin_write(writer->file().slot_header(0), 0);
  begin_write(writer->file().slot_header(1), 1);
  EXPECT_EQ(reader->retained().code(), Code::not_yet);
}

// Fault: with one slot it looked for a step that was not being written for ever.
TEST_F(Garbage, RetainedEndsWhereTheOnlySlotIsBeingWritten) {
  auto writer = create(1);
  ReaderOptions options;
  options.mode = Mode::follow;
  auto reader = open(options);
  put(*writer, 1);
  EXPECT_EQ(reader->retained()->newest_step, 1);
  writer->file().control().claimed.claimed.store(2, std::memory_order_release);
  begin_write(writer->file().slot_header(1), 1);
  EXPECT_EQ(reader->retained().code(), Code::not_yet);
}

TEST_F(Garbage, AnEveryOfTwoToTheSixtyFourMinusOneGivesTheFirstStep) {
  auto writer = create(4);
  ReaderOptions options;
  options.every = UINT64_MAX;
  auto reader = open(options);
  for (std::int64_t step = 1; step < 10; ++step) {
    put(*writer, step);
    if (step == 1) {
      ASSERT_TRUE(read(*reader, 1, 4, batch).ok());
      EXPECT_EQ(batch.count, 1U);
    }
  }
  EXPECT_EQ(read(*reader, 1, 4, batch, 0).code(), Code::not_yet);
  ASSERT_TRUE(writer->close(soon()).ok());
  EXPECT_EQ(read(*reader, 1, 4, batch).code(), Code::end);
  EXPECT_EQ(reader->count().skipped, 8U);
  expect_equation(reader->count());
}

// Two writer ranks, each of which puts what it likes.
class Disagreement : public Garbage {
 protected:
  Disagreement() {
    testing::TeamRoom room(2);
    const auto creating = [&](int rank) {
      testing::ThreadTeam both(room, rank);
      auto made =
          Writer::create(rank == 0 ? writer_environment : other, both,
                         {"eta", COUPLET_INT32, {rows, columns}, box_of(rank * 3, rank == 0 ? 3 : rows, 0, columns)},
                         {.slots = 8}, soon());
      EXPECT_TRUE(made.ok()) << made.status().text();
      writers[static_cast<std::size_t>(rank)] = std::move(made).value();
    };
    std::thread second(creating, 1);
    creating(0);
    second.join();
  }
  void put_both(std::int64_t first, std::int64_t second) {
    ASSERT_TRUE(writers[0]->put(field(first).data(), first).ok());
    ASSERT_TRUE(writers[1]->put(field(second).data() + 3 * columns, second).ok());
  }
  FakeEnvironment other{world, 7, "ocean"};
  std::array<std::unique_ptr<Writer>, 2> writers;
};

TEST_F(Disagreement, IsToldOnceAndPassed) {
  auto reader = open();
  put_both(1, 1);
  put_both(2, 3);
  put_both(4, 4);
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.count, 1U);
  expect_equation(reader->count());
  const Status status = read(*reader, 1, 8, batch);
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_NE(status.text().find("ordinal 1 is step 2 on writer rank 0, but step 3 on writer rank 1"), std::string::npos)
      << status.text();
  EXPECT_EQ(reader->count().lost, 1U);
  expect_equation(reader->count());
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 4);
  EXPECT_EQ(batch.lost, 1U);
  expect_content(batch, box_of(0, rows, 0, columns));
}

// Steps of an earlier turn were counted as delivered and given to nobody when a later turn failed.
TEST_F(Disagreement, WhatWasReadBeforeItIsDelivered) {
  auto reader = open();
  put_both(1, 1);
  put_both(2, 3);
  put_both(4, 4);
  ASSERT_TRUE(read(*reader, 2, 8, batch).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(reader->count().delivered, 1U);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::mismatch);
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.steps[0], 4);
}

// Each reader rank reads one of the writers: only together they see that the steps differ.
TEST_F(Disagreement, BetweenReaderRanksIsToldToAllAndPassed) {
  testing::TeamRoom room(2);
  const auto reading = [&](int rank) {
    FakeEnvironment environment(world, static_cast<channel::PeerId>(20 + rank), "nowcast");
    testing::ThreadTeam both(room, rank);
    ReaderOptions options;
    options.box = box_of(rank * 3, rank == 0 ? 3 : rows, 0, columns);
    auto reader = Reader::open(environment, both, "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    if (rank == 0) {
      put_both(1, 1);
      put_both(2, 3);
      put_both(4, 4);
    }
    Batch own;
    ASSERT_TRUE((*reader)->read(1, 1, soon(), nullptr, 0, own).ok());
    const Status status = (*reader)->read(1, 8, soon(), nullptr, 0, own);
    EXPECT_EQ(status.code(), Code::mismatch) << status.text();
    ASSERT_TRUE((*reader)->read(1, 8, soon(), nullptr, 0, own).ok());
    EXPECT_EQ(own.steps[0], 4);
    EXPECT_EQ((*reader)->count().lost, 1U);
    expect_equation((*reader)->count());
  };
  std::thread second(reading, 1);
  reading(0);
  second.join();
}

// A holder whose entry was freed in its name went on with "OK, lost 4".
TEST_F(Garbage, AHolderThatWasReleasedIsToldBeforeAnythingIsDelivered) {
  auto writer = create(2);
  auto reader = open();
  put(*writer, 1);
  put(*writer, 2);
  ASSERT_EQ(owner_of(writer->file().readers()[0]).peer, reader_environment.self());
  writer->file().readers()[0].owner.store(0);
  for (std::int64_t step = 3; step < 6; ++step) {
    const Status status = read(*reader, 1, 2, batch, 0);
    EXPECT_EQ(status.code(), Code::evicted);
    EXPECT_NE(status.text().find("writer rank 0 was released"), std::string::npos) << status.text();
    EXPECT_EQ(reader->retained().code(), Code::evicted);
    expect_equation(reader->count());
    put(*writer, step);
  }
  EXPECT_EQ(read(*reader, 1, 2, batch, 0).code(), Code::evicted);
  EXPECT_EQ(reader->count().delivered, 0U);
  EXPECT_EQ(reader->count().lost, 3U);  // the two newest are still there
  reader.reset();                       // which gives up nothing of another reader
}

// The same while it copies: what it has copied is not delivered.
TEST_F(Garbage, AHolderThatIsReleasedDuringItsCopyDeliversNothing) {
  class Releasing final : public Copier {
   public:
    void copy(const layout::CopyPlan& plan, std::byte* target, const std::byte* source,
              layout::CopyMethod method) noexcept override {
      layout::copy_racing(plan, target, source, method);
      file->readers()[0].owner.store(0);
    }
    const SeriesFile* file = nullptr;
  };
  auto writer = create(2);
  Releasing releasing;
  releasing.file = &writer->file();
  ReaderOptions options;
  options.copier = &releasing;
  auto reader = open(options);
  put(*writer, 1);
  EXPECT_EQ(read(*reader, 1, 2, batch, 0).code(), Code::evicted);
  EXPECT_EQ(reader->count().delivered, 0U);
  expect_equation(reader->count());
}

TEST_F(Garbage, StridedMemoryHasABoundAndAPlaceForEachStep) {
  auto writer = create(4);
  auto reader = open();
  put(*writer, 1);
  put(*writer, 2);
  std::vector<std::int32_t> memory(2 * rows * columns);
  const std::array<std::int64_t, 3> no_distance = {0, columns * 4, 4};
  Out out{memory.data(), 0, no_distance.data()};
  Status status = reader->read(1, 2, soon(), std::span(&out, 1), batch);
  EXPECT_EQ(status.code(), Code::argument);
  EXPECT_NE(status.text().find("stride of 0 from step to step"), std::string::npos) << status.text();
  EXPECT_TRUE(reader->read(1, 1, soon(), std::span(&out, 1), batch).ok());  // one step needs no distance
  const std::array<std::int64_t, 3> strides = {rows * columns * 4, columns * 4, 4};
  out = {memory.data(), 2 * rows * columns * 4 - 1, strides.data()};
  status = reader->read(1, 2, soon(), std::span(&out, 1), batch);
  EXPECT_EQ(status.code(), Code::argument);
  EXPECT_NE(status.text().find("616 bytes"), std::string::npos) << status.text();
  out.bytes = 2 * rows * columns * 4;
  EXPECT_TRUE(reader->read(1, 2, soon(), std::span(&out, 1), batch).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(memory[0], element(2, 0));
  const std::array<std::int64_t, 3> far = {INT64_MAX, columns * 4, 4};
  out = {memory.data(), 0, far.data()};
  EXPECT_EQ(reader->read(1, 4, soon(), std::span(&out, 1), batch).code(), Code::argument);
}

}  // namespace
}  // namespace couplet::series
