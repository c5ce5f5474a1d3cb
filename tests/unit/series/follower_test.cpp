// Followers that are slower than the writer: they jump ahead, count what they pass over, and look at their deadline.
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

// Each copy takes as long as the writer needs for so many steps, whatever the machine does meanwhile: it lets the
// writer put them.
class SlowCopier final : public Copier {
 public:
  explicit SlowCopier(double claims_per_copy) : claims_per_copy_(claims_per_copy) {}
  void copy(const layout::CopyPlan& plan, std::byte* target, const std::byte* source,
            layout::CopyMethod method) noexcept override {
    ++copies;
    layout::copy_racing(plan, target, source, method);
    for (due_ += claims_per_copy_; writer != nullptr && due_ >= 1; due_ -= 1) {
      advance();
    }
  }
  // The writer's next step, or its end.
  void advance() {
    if (next_step >= close_at) {
      EXPECT_TRUE(writer->close(soon()).ok());
      writer = nullptr;
      return;
    }
    EXPECT_TRUE(writer->put(field(next_step).data(), next_step).ok());
    ++next_step;
  }
  Writer* writer = nullptr;
  std::int64_t next_step = 0;
  std::int64_t close_at = INT64_MAX;
  std::uint64_t copies = 0;

 private:
  double claims_per_copy_;
  double due_ = 0;
};

class Follower : public Series {
 protected:
  static ReaderOptions following(SlowCopier& copier) {
    ReaderOptions options;
    options.mode = Mode::follow;
    options.copier = &copier;
    options.bytes_between_looks = rows * columns * sizeof(std::int32_t);  // one look for each step
    return options;
  }
  void put_first(Writer& writer, SlowCopier& copier, std::int64_t count) {
    for (; copier.next_step < count; ++copier.next_step) {
      put(writer, copier.next_step);
    }
  }
  // How many steps of 2,000 a follower is given.
  double share_of(std::uint64_t slots, double claims_per_copy, std::uint64_t at_least, std::uint64_t up_to,
                  bool latest = false) {
    auto writer = create(slots);
    SlowCopier copier(claims_per_copy);
    auto options = following(copier);
    options.latest = latest;
    auto reader = open(options);
    put_first(*writer, copier, static_cast<std::int64_t>(slots));
    copier.writer = writer.get();
    copier.close_at = 2000;
    std::int64_t last = -1;
    Batch batch;
    Status last_status;
    for (Status status; status.ok() || status.code() == Code::not_yet;) {
      status = read(*reader, at_least, up_to, batch, copier.writer == nullptr ? patience_s : 0);
      last_status = status;
      if (!status.ok()) {
        if (copier.writer != nullptr && status.code() == Code::not_yet) {  // caught up: time goes on
          copier.advance();
        }
        continue;
      }
      EXPECT_GT(batch.count, 0U);
      for (std::uint64_t number = 0; number < batch.count; ++number) {
        EXPECT_GT(batch.steps[number], last);
        last = batch.steps[number];
      }
      expect_content(batch, box_of(0, rows, 0, columns));
    }
    const Statistics statistics = reader->count();
    EXPECT_EQ(last_status.code(), Code::end) << last_status.text();
    expect_equation(statistics);
    return static_cast<double>(statistics.delivered) / static_cast<double>(statistics.published);
  }
};

TEST_F(Follower, OneThatTakesTwoPointFourPeriodsGetsAThirdOfTheSteps) {
  for (const std::uint64_t slots : {5U, 8U, 32U}) {
    EXPECT_GE(share_of(slots, 2.4, 1, 1), 0.35) << slots << " slots, one by one";
    EXPECT_GE(share_of(slots, 2.4, 1, 8), 0.35) << slots << " slots, up to eight";
  }
}

TEST_F(Follower, BatchesOfSeveralStepsAreGatheredOneByOne) {
  // Its reads end after one copy, and each waits for four new steps first: at most one of four.
  EXPECT_GE(share_of(8, 2.4, 4, 4), 0.2);
  EXPECT_GE(share_of(16, 5, 4, 8), 0.17);
}

TEST_F(Follower, TheLatestStepOfASlowReaderIsWhole) {
  EXPECT_GE(share_of(8, 2.4, 1, 8, true), 0.35);
}

TEST_F(Follower, OneThatIsFastEnoughGetsAll) {
  EXPECT_EQ(share_of(8, 0.3, 1, 8), 1);
}

// The review measured 6.8 s in a read with a timeout of 0.1 s: a read went on as long as everything was torn.
TEST_F(Follower, AReadWhoseTimeIsOverEndsAfterOneCopy) {
  auto writer = create(3);
  SlowCopier copier(5);  // no copy survives
  auto reader = open(following(copier));
  put_first(*writer, copier, 3);
  copier.writer = writer.get();
  Batch batch;
  for (int number = 0; number < 20; ++number) {
    const std::uint64_t before = copier.copies;
    const Status status = read(*reader, 1, 3, batch, 0);
    EXPECT_EQ(status.code(), Code::not_yet) << status.text();
    EXPECT_LE(copier.copies - before, 1U);
  }
  EXPECT_GT(copier.copies, 10U);
  EXPECT_EQ(reader->count().delivered, 0U);
  expect_equation(reader->count());
}

// It waited for a step that comes while it reads, and the writer waited for it.
TEST_F(Follower, ASlowOneReadsWhatIsThereIfTheWriterPauses) {
  auto writer = create(3);
  SlowCopier copier(5);
  auto reader = open(following(copier));
  put_first(*writer, copier, 3);
  copier.writer = writer.get();
  Batch batch;
  for (int number = 0; number < 5; ++number) {
    EXPECT_EQ(read(*reader, 1, 3, batch, 0).code(), Code::not_yet);
  }
  copier.writer = nullptr;
  const std::uint64_t start_ns = os::now_ns();
  ASSERT_TRUE(read(*reader, 1, 3, batch, 60).ok());
  EXPECT_LT(os::now_ns() - start_ns, 10'000'000'000U);  // and not when its time is over
  EXPECT_EQ(batch.steps[batch.count - 1], copier.next_step - 1);
  expect_equation(reader->count());
}

TEST_F(Follower, WhatWasCopiedWhenTheTimeIsOverIsDeliveredAndTheRestIsPending) {
  auto writer = create(8);
  SlowCopier copier(0);
  auto options = following(copier);
  options.mode = Mode::hold;
  auto reader = open(options);
  put_first(*writer, copier, 6);
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 8, batch, 0).ok());
  EXPECT_EQ(batch.count, 1U);
  EXPECT_EQ(reader->count().pending, 5U);
  expect_equation(reader->count());
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.count, 5U);
  EXPECT_EQ(batch.steps[0], 1);
  expect_content(batch, box_of(0, rows, 0, columns));
}

TEST_F(Follower, AnInterruptEndsAReadThatFindsOnlyTornSteps) {
  auto writer = create(3);
  SlowCopier copier(5);
  auto reader = open(following(copier));
  put_first(*writer, copier, 3);
  copier.writer = writer.get();
  reader_environment.interrupt_now = true;
  Batch batch;
  EXPECT_EQ(read(*reader, 1, 3, batch).code(), Code::interrupted);
}

TEST_F(Follower, ACopyEndsWhereItsStepIsReplaced) {
  auto writer = create(2);
  SlowCopier copier(3);
  auto options = following(copier);
  options.bytes_between_looks = 40;  // of 308
  auto reader = open(options);
  put_first(*writer, copier, 2);
  copier.writer = writer.get();
  Batch batch;
  EXPECT_EQ(read(*reader, 1, 1, batch, 0).code(), Code::not_yet);
  EXPECT_EQ(copier.copies, 1U);  // slice
  EXPECT_EQ(reader->count().lost_torn, 1U);
}

// A batch of steps that were all replaced, at the end of a series: it was OK with a count of 0.
TEST_F(Follower, AnEndWhoseLastStepsAreLostIsAnEnd) {
  auto writer = create(2);
  SlowCopier copier(2);
  auto reader = open(following(copier));
  put_first(*writer, copier, 2);
  ASSERT_TRUE(writer->close(soon()).ok());
  auto& control = writer->file().control();
  // As if the writer had begun to replace both steps when it died after its end was announced.
  control.claimed.claimed.store(4, std::memory_order_release);
  begin_write(writer->file().slot_header(0), 2);
  begin_write(writer->file().slot_header(1), 3);
  Batch batch;
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::end);
  EXPECT_EQ(reader->count().lost, 2U);
  expect_equation(reader->count());
}

}  // namespace
}  // namespace couplet::series
