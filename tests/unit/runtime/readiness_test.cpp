// What is said to be ready, in which order, and when the descriptor can be read. Rank 0 waits; rank 1, or a writer in
// this process, makes things ready.
#include "runtime/readiness.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "series/part.hpp"
#include "series/slot_protocol.hpp"
#include "support/child.hpp"
#include "support/parties.hpp"
#include "support/system_calls.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::runtime {
namespace {

using message::Request;
using series::testing_fixture::soon;
using test::LaneKind;
using test::Parties;

constexpr std::uint64_t no_time = 0;
constexpr std::int32_t tag = 7;
constexpr std::uint64_t an_hour_ns = 3'600'000'000'000;

Awaited message_from(message::Group& group, std::int32_t source = COUPLET_ANY_SOURCE, std::int32_t which = tag) {
  return {.group = &group, .source = source, .tag = which};
}
Awaited steps_of(series::Reader& reader, std::uint64_t at_least = 1) {
  return {.reader = &reader, .at_least = at_least};
}
bool readable(int descriptor, int timeout_ms) {
  pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, timeout_ms) == 1;
}

class ReadinessTest : public series::testing_fixture::Series {
 protected:
  void SetUp() override {
    parties_[0].engine->set_counters(counters_);
    make(an_hour_ns);  // so that no alarm hides a wake-up that was lost
  }
  void make(std::uint64_t alarm_ns) {
    readiness_ =
        std::make_unique<Readiness>(*parties_[0].engine, parties_[0].doorbell(), *parties_[0].messenger, alarm_ns);
  }
  // Returns the place, or -1 for not_yet.
  std::int32_t wait(std::span<const Awaited> awaited, std::uint64_t deadline_ns = no_time) {
    std::int32_t index = -1;
    const Status status = readiness_->wait(awaited, deadline_ns, index, about_);
    EXPECT_TRUE(status.ok() || status.code() == Code::not_yet) << status.text();
    return status.ok() ? index : -1;
  }
  std::int32_t arm(std::span<const Awaited> awaited) {
    std::int32_t index = -1;
    const Status status = readiness_->arm(awaited, index, about_);
    EXPECT_TRUE(status.ok() || status.code() == Code::not_yet) << status.text();
    return status.ok() ? index : -1;
  }
  void send(std::uint64_t number, std::int32_t which = tag) {
    ASSERT_TRUE(parties_[1].messenger->send(parties_[1].group(), &number, 1, COUPLET_UINT64, 0, which).ok());
  }
  std::uint64_t receive(std::int32_t which = tag) {
    std::uint64_t number = 0;
    EXPECT_TRUE(parties_[0].messenger->recv(group(), &number, 1, COUPLET_UINT64, 1, which, nullptr).ok());
    return number;
  }
  // Calls `make_ready` on another thread, once a wait of rank 0 has slept.
  template <typename Call>
  std::thread after_a_sleep(const Call& make_ready) {
    return std::thread([this, make_ready, before = counters_.get(counters::Counter::sleeps)] {
      while (counters_.get(counters::Counter::sleeps) == before) {
        std::this_thread::yield();
      }
      make_ready();
    });
  }
  message::Group& group() { return parties_[0].group(); }

  counters::Counters counters_;
  Parties parties_{LaneKind::shm, 2};
  std::unique_ptr<Readiness> readiness_;
  couplet_message about_{};
};

TEST_F(ReadinessTest, NothingIsReadyBeforeItCame) {
  const auto writer = create(4);
  const auto reader = open();
  const std::array awaited = {steps_of(*reader), message_from(group())};
  EXPECT_EQ(wait(awaited), -1);
  EXPECT_EQ(wait(awaited, os::deadline_after(0.02)), -1);
}

TEST_F(ReadinessTest, AReadySeriesStaysReadyUntilItIsRead) {
  const auto writer = create(4);
  const auto reader = open();
  const std::array awaited = {message_from(group()), steps_of(*reader)};
  put(*writer, 1);
  EXPECT_EQ(wait(awaited), 1);
  EXPECT_EQ(wait(awaited), 1);
  EXPECT_EQ(reader->count().pending, 1U);
  series::Batch batch;
  ASSERT_TRUE(read(*reader, 1, 64, batch, 0).ok());
  EXPECT_EQ(wait(awaited), -1);
}

TEST_F(ReadinessTest, ASeriesIsReadyWhenAsManyStepsAreThereAsTheReadAsksFor) {
  const auto writer = create(4);
  const auto reader = open();
  const std::array awaited = {steps_of(*reader, 3)};
  put(*writer, 1);
  put(*writer, 2);
  EXPECT_EQ(wait(awaited), -1);
  put(*writer, 3);
  EXPECT_EQ(wait(awaited), 0);
}

TEST_F(ReadinessTest, OneOfEveryThreeStepsIsReadyOnceItIsThere) {
  const auto writer = create(8);
  const auto reader = open({.every = 3});
  const std::array awaited = {steps_of(*reader)};
  put(*writer, 1);
  EXPECT_EQ(wait(awaited), 0);
  series::Batch batch;
  ASSERT_TRUE(read(*reader, 1, 64, batch, 0).ok());
  put(*writer, 2);
  put(*writer, 3);
  EXPECT_EQ(wait(awaited), -1);
  put(*writer, 4);
  EXPECT_EQ(wait(awaited), 0);
}

TEST_F(ReadinessTest, TheEndIsReady) {
  const auto writer = create(4);
  const auto reader = open();
  const std::array awaited = {steps_of(*reader)};
  EXPECT_EQ(wait(awaited), -1);
  ASSERT_TRUE(writer->close(soon()).ok());
  EXPECT_EQ(wait(awaited), 0);
  series::Batch batch;
  EXPECT_EQ(read(*reader, 1, 64, batch, 0).code(), Code::end);
}

TEST_F(ReadinessTest, ALostWriterIsReadyAndTheReadNamesIt) {
  auto dying = std::make_unique<couplet::testing::FakeEnvironment>(world, 2, "dying");
  layout::Box box;
  box.dimensions = 1;
  box.stop = {4};
  series::WriterOptions options;
  options.slots = 4;
  auto writer = series::Writer::create(*dying, team, {"rho", COUPLET_INT32, {4}, box}, options, soon());
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  auto reader = series::Reader::open(reader_environment, team, "rho", {}, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  const std::array awaited = {steps_of(**reader)};
  EXPECT_EQ(wait(awaited), -1);
  dying->die();
  EXPECT_EQ(wait(awaited, soon()), 0);
  series::Batch batch;
  EXPECT_EQ(read(**reader, 1, 64, batch, 0).code(), Code::peer_lost);
  // What was lost stays ready until its next incarnation is there, and the read goes over to it.
  EXPECT_EQ(wait(awaited, soon()), 0);
  couplet::testing::FakeEnvironment returned(world, 2, "dying", 1);
  auto again = series::Writer::create(returned, team, {"rho", COUPLET_INT32, {4}, box}, options, soon());
  ASSERT_TRUE(again.ok()) << again.status().text();
  Status status = Code::peer_lost;
  while (status.code() == Code::peer_lost || status.code() == Code::not_yet) {
    ASSERT_EQ(wait(awaited, soon()), 0);
    status = read(**reader, 1, 64, batch, 0);
  }
  EXPECT_EQ(status.code(), Code::restarted) << status.text();
  EXPECT_EQ(wait(awaited), -1);
  const std::array<std::int32_t, 4> values{};
  ASSERT_TRUE((*again)->put(values.data(), 1).ok());
  EXPECT_EQ(wait(awaited), 0);
}

TEST_F(ReadinessTest, AMessageIsReadyAndIsDescribedButNotReceived) {
  const std::array awaited = {message_from(group(), 1, COUPLET_ANY_TAG)};
  send(5, 12);
  EXPECT_EQ(wait(awaited), 0);
  EXPECT_EQ(about_.source, 1);
  EXPECT_EQ(about_.tag, 12);
  EXPECT_EQ(about_.bytes, 8U);
  EXPECT_EQ(about_.count, 8U);
  EXPECT_EQ(wait(awaited), 0);
  EXPECT_EQ(receive(12), 5U);
  EXPECT_EQ(wait(awaited), -1);
}

TEST_F(ReadinessTest, AMessageOfAnotherTagOrSourceIsNotReady) {
  send(5, 12);
  EXPECT_EQ(wait(std::array{message_from(group(), 1, 13)}), -1);
  EXPECT_EQ(wait(std::array{message_from(group(), 0, 12)}), -1);
  EXPECT_EQ(wait(std::array{message_from(group(), COUPLET_ANY_SOURCE, 12)}), 0);
  EXPECT_EQ(receive(12), 5U);
}

TEST_F(ReadinessTest, AMessageForAPostedReceiveIsNotReadyTwice) {
  std::uint64_t number = 0;
  Request* request = nullptr;
  ASSERT_TRUE(parties_[0].messenger->irecv(group(), &number, 1, COUPLET_UINT64, 1, tag, &request).ok());
  const std::array awaited = {message_from(group()), Awaited{.request = request}};
  EXPECT_EQ(wait(awaited), -1);
  send(5);
  EXPECT_EQ(wait(awaited), 1);
  EXPECT_EQ(wait(awaited), 1);
  ASSERT_TRUE(parties_[0].messenger->wait(&request, soon(), nullptr).ok());
  EXPECT_EQ(number, 5U);
}

TEST_F(ReadinessTest, ALostSenderIsReady) {
  const std::array awaited = {message_from(group(), 1)};
  EXPECT_EQ(wait(awaited), -1);
  parties_[0].messenger->peer_lost(1, fail(Code::peer_lost, "party 1 has died"));
  EXPECT_EQ(wait(awaited), 0);
  EXPECT_EQ(about_.bytes, 0U);
}

TEST_F(ReadinessTest, ATaskIsReadyWhenItIsDone) {
  task::Task task;
  const std::array awaited = {Awaited{.task = &task}};
  EXPECT_EQ(wait(awaited), -1);
  task.done = true;
  EXPECT_EQ(wait(awaited), 0);
}

TEST_F(ReadinessTest, EachOfSeveralReadyThingsHasItsTurn) {
  const auto writer = create(4);
  const auto reader = open();
  put(*writer, 1);
  send(1, 1);
  send(2, 2);
  const std::array awaited = {steps_of(*reader), message_from(group(), 1, 1), message_from(group(), 1, 2)};
  while (wait(std::array{awaited[2]}) < 0) {
  }
  std::array<int, 3> found{};
  for (int call = 0; call < 30; ++call) {
    ++found.at(static_cast<std::size_t>(wait(awaited)));
  }
  EXPECT_EQ(found, (std::array{10, 10, 10}));
  EXPECT_EQ(receive(1) + receive(2), 3U);
}

// A search that began at a place of its own in each call would forget it whenever another array comes between.
TEST_F(ReadinessTest, AnotherArrayTakesNobodysTurn) {
  send(1, 1);
  send(2, 2);
  send(3, 3);
  const std::array two = {message_from(group(), 1, 1), message_from(group(), 1, 2)};
  const std::array one = {message_from(group(), 1, 3)};
  while (wait(one) < 0) {
  }
  std::array<int, 2> found{};
  for (int call = 0; call < 20; ++call) {
    ++found.at(static_cast<std::size_t>(wait(two)));
    EXPECT_EQ(wait(one), 0);
  }
  EXPECT_EQ(found, (std::array{10, 10}));
  EXPECT_EQ(receive(1) + receive(2) + receive(3), 6U);
}

// A caller that takes what is ready has a new request in each round.
TEST_F(ReadinessTest, ARequestThatIsRenewedLeavesOthersTheirTurn) {
  task::Task done;
  done.done = true;
  send(1);
  int messages = 0;
  for (int call = 0; call < 20; ++call) {
    std::array<task::Task, 2> tasks{};
    tasks[0].done = true;
    messages +=
        wait(std::array{Awaited{.task = &tasks[static_cast<std::size_t>(call % 2)]}, message_from(group())}) == 1;
  }
  EXPECT_GE(messages, 5);
  EXPECT_EQ(receive(), 1U);
}

TEST_F(ReadinessTest, ASleepingWaitEndsWhenAnySeriesHasAStep) {
  const auto writer = create(64);
  const auto reader = open();
  const std::array awaited = {message_from(group()), steps_of(*reader)};
  series::Batch batch;
  for (std::int64_t step = 1; step <= 5; ++step) {
    std::thread later = after_a_sleep([&] { put(*writer, step); });
    EXPECT_EQ(wait(awaited, soon()), 1);
    later.join();
    ASSERT_TRUE(read(*reader, 1, 64, batch, 0).ok());
  }
}

TEST_F(ReadinessTest, ASleepingWaitEndsWhenAMessageCame) {
  const auto writer = create(4);
  const auto reader = open();
  const std::array awaited = {steps_of(*reader), message_from(group())};
  for (std::uint64_t number = 1; number <= 5; ++number) {
    std::thread later = after_a_sleep([&] { send(number); });
    EXPECT_EQ(wait(awaited, soon()), 1);
    later.join();
    EXPECT_EQ(receive(), number);
  }
}

// Of 64 things the one that is ready is the last one that is looked at.
TEST_F(ReadinessTest, AmongManyThingsTheReadyOneIsFoundWithoutASystemCall) {
  constexpr std::int32_t many = 32;
  const auto writer = create(4);
  put(*writer, 1);
  std::vector<std::unique_ptr<series::Reader>> readers;
  std::vector<Awaited> awaited;
  for (std::int32_t each = 0; each < many; ++each) {
    const bool last = each + 1 == many;
    readers.push_back(open({.mode = series::Mode::follow, .from = last ? series::From::oldest : series::From::next}));
    awaited.push_back(message_from(group(), 1, each));
    awaited.push_back(steps_of(*readers.back()));
  }
  const auto found = static_cast<std::int32_t>(awaited.size()) - 1;
  ASSERT_EQ(wait(awaited), found);
  bool good = true;
  std::int32_t index = -1;
  // Now and then it asks the system whether the writers live. That may be due if this thread had to wait for a core.
  std::optional<int> calls = 1;
  for (int attempt = 0; attempt < 20 && calls.value_or(0) > 0; ++attempt) {
    calls = test::system_calls_of([&] {
      for (int call = 0; call < 20; ++call) {
        good = readiness_->wait(awaited, no_time, index, about_).ok() && index == found && good;
      }
    });
  }
  if (!calls) {
    GTEST_SKIP() << "this kernel does not tell about system calls";
  }
  EXPECT_TRUE(good);
  EXPECT_EQ(*calls, 0);
  constexpr std::uint64_t rounds = 2000;
  const std::uint64_t start_ns = os::now_ns();
  for (std::uint64_t call = 0; call < rounds; ++call) {
    static_cast<void>(readiness_->wait(awaited, no_time, index, about_));
  }
  RecordProperty("ns_per_call", static_cast<int>((os::now_ns() - start_ns) / rounds));
}

// ---- the descriptor ----

TEST_F(ReadinessTest, ArmingNeedsTheDescriptor) {
  std::int32_t index = 0;
  const Status status = readiness_->arm(std::array{message_from(group())}, index, about_);
  EXPECT_EQ(status.code(), Code::state);
  EXPECT_NE(status.text().find("couplet_universe_descriptor"), std::string::npos) << status.text();
}

TEST_F(ReadinessTest, WhatIsReadyIsToldInsteadOfArming) {
  ASSERT_TRUE(readiness_->descriptor().ok());
  send(1);
  EXPECT_EQ(arm(std::array{message_from(group())}), 0);
  EXPECT_FALSE(readiness_->armed());
  EXPECT_EQ(receive(), 1U);
}

TEST_F(ReadinessTest, TheArmedDescriptorBecomesReadableForAStep) {
  const int descriptor = *readiness_->descriptor();
  const auto writer = create(64);
  const auto reader = open();
  const std::array awaited = {message_from(group()), steps_of(*reader)};
  series::Batch batch;
  for (std::int64_t step = 1; step <= 20; ++step) {
    while (arm(awaited) >= 0) {
      ASSERT_TRUE(read(*reader, 1, 64, batch, 0).ok());
    }
    put(*writer, step);
    std::int32_t found = -1;
    while (found < 0) {
      ASSERT_TRUE(readable(descriptor, 20'000));
      found = arm(awaited);
    }
    EXPECT_EQ(found, 1);
  }
}

TEST_F(ReadinessTest, TheArmedDescriptorBecomesReadableForAMessage) {
  const int descriptor = *readiness_->descriptor();
  const std::array awaited = {message_from(group())};
  for (std::uint64_t number = 1; number <= 20; ++number) {
    ASSERT_EQ(arm(awaited), -1);
    send(number);
    ASSERT_TRUE(readable(descriptor, 20'000));
    std::int32_t found = -1;
    while (found < 0) {
      ASSERT_TRUE(readable(descriptor, 20'000));
      found = arm(awaited);
    }
    EXPECT_EQ(receive(), number);
  }
}

// Calls a function in one of its polls.
struct AtPoll final : engine::Source {
  int poll(std::uint64_t /*now_ns*/, int /*budget*/) override {
    if (--polls_left == 0) {
      call();
    }
    return 0;
  }
  [[nodiscard]] bool ready() const override { return false; }
  int polls_left = 0;
  std::function<void()> call;
};

// A message that comes behind the last poll of a look, when arming after the look would not notice it.
TEST_F(ReadinessTest, AMessageThatComesDuringTheLookIsFoundOrMakesTheDescriptorReadable) {
  const int descriptor = *readiness_->descriptor();
  const std::array awaited = {message_from(group())};
  AtPoll source;
  parties_[0].engine->add(source, engine::Rate::often);
  for (int polls = 1; polls <= 5; ++polls) {
    ASSERT_EQ(arm(awaited), -1);
    parties_[0].doorbell().lower_flag();  // as the first ring does
    source.call = [&] { send(static_cast<std::uint64_t>(polls)); };
    source.polls_left = polls;
    std::int32_t found = arm(awaited);
    while (found < 0 && source.polls_left > 0) {
      found = arm(awaited);
    }
    while (found < 0) {
      ASSERT_TRUE(readable(descriptor, 20'000)) << "poll " << polls;
      found = arm(awaited);
    }
    EXPECT_EQ(receive(), static_cast<std::uint64_t>(polls));
  }
  parties_[0].engine->remove(source);
}

// The other side makes each thing ready at another moment of the next look.
TEST_F(ReadinessTest, NoWakeUpIsLostBetweenArmingAndSleeping) {
  constexpr std::int64_t rounds = 5000;
  const int descriptor = *readiness_->descriptor();
  const auto writer = create(8);
  const auto reader = open();
  const std::array awaited = {steps_of(*reader), message_from(group())};
  std::atomic<std::int64_t> taken = 0;
  std::atomic<bool> over = false;
  std::thread other([&] {
    for (std::int64_t round = 1; round <= rounds && !over; ++round) {
      while (taken != round - 1 && !over) {
        std::this_thread::yield();
      }
      for (std::int64_t pause = round * 7919 % 211; pause > 0; --pause) {
        os::pause();
      }
      round % 4 == 0 ? put(*writer, round) : send(static_cast<std::uint64_t>(round));
    }
  });
  series::Batch batch;
  for (std::int64_t round = 1; round <= rounds && !over; ++round) {
    std::int32_t found = arm(awaited);
    while (found < 0 && !over) {
      const bool woken = readable(descriptor, 20'000);
      EXPECT_TRUE(woken) << "round " << round;
      over = !woken;
      found = arm(awaited);
    }
    if (found == 0) {
      EXPECT_TRUE(read(*reader, 1, 64, batch, 0).ok());
    } else if (found == 1) {
      EXPECT_EQ(receive(), static_cast<std::uint64_t>(round));
    }
    taken = round;
  }
  over = true;
  other.join();
}

// A part that does something when it is asked what the watching thread should sleep on, and names nothing.
class AskedPart final : public series::Part {
 public:
  AskedPart(std::unique_ptr<series::SeriesFile> file, const std::function<void()>& asked)
      : file_(std::move(file)), asked_(asked) {}
  [[nodiscard]] const char* route() const noexcept override { return "test"; }
  [[nodiscard]] series::SeriesFile& file() noexcept override { return *file_; }
  Status alive() override { return {}; }
  std::shared_ptr<series::SeriesFile> watched() override {
    asked_();
    return nullptr;
  }

 private:
  std::unique_ptr<series::SeriesFile> file_;
  const std::function<void()>& asked_;
};

class AskedElsewhere final : public couplet::testing::FakeEnvironment {
 public:
  explicit AskedElsewhere(const couplet::testing::SeriesWorld& world) : FakeEnvironment(world, 5, "nowcast") {
    node_number = 1;
  }
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const series::PartSelection& /*selection*/,
                                                  std::uint64_t /*until*/) override {
    COUPLET_TRY_VALUE(auto file, series::SeriesFile::open(node_directory() + "/" + record.parts[part].file));
    return std::unique_ptr<series::Part>(std::make_unique<AskedPart>(std::move(file), asked));
  }
  std::function<void()> asked = [] {};
};

// Fault: the thread was asked first, and its bell was cleared afterwards. If it still waited for a step that had been
// read already, it did not take the new request, and the ring for the old one was cleared: nobody watched the series.
TEST_F(ReadinessTest, ALateRingForAnEarlierStepDoesNotHideTheNextStep) {
  const int descriptor = *readiness_->descriptor();
  const auto writer = create(8);
  const auto near = open();
  AskedElsewhere elsewhere(world);
  auto far = series::Reader::open(elsewhere, team, "eta", {}, soon());
  ASSERT_TRUE(far.ok()) << far.status().text();
  const std::array awaited = {steps_of(*near), steps_of(**far, 8)};
  auto& wake_at = writer->file().control().published.wake_at;
  ASSERT_EQ(arm(awaited), -1);
  ASSERT_TRUE(test::eventually([&] { return wake_at.load() == 1; }));
  wake_at = series::nobody_sleeps;  // so that the thread sleeps on when the step is there
  put(*writer, 1);
  ASSERT_EQ(arm(awaited), 0);
  series::Batch batch;
  ASSERT_TRUE(read(*near, 1, 8, batch, 0).ok());
  elsewhere.asked = [&] { static_cast<void>(readable(descriptor, 1000)); };  // the late ring
  ASSERT_EQ(arm(awaited), -1);
  elsewhere.asked = [] {};
  put(*writer, 2);
  std::int32_t found = -1;
  while (found < 0) {
    ASSERT_TRUE(readable(descriptor, 20'000));
    found = arm(awaited);
  }
  EXPECT_EQ(found, 0);
}

// Another call may take in, from the same channel, what the descriptor was armed for.
TEST_F(ReadinessTest, AnotherCallMakesTheArmedDescriptorReadable) {
  const int descriptor = *readiness_->descriptor();
  ASSERT_EQ(arm(std::array{message_from(group())}), -1);
  ASSERT_TRUE(readiness_->armed());
  readiness_->rouse();
  EXPECT_FALSE(readiness_->armed());
  EXPECT_TRUE(readable(descriptor, 0));
  ASSERT_EQ(arm(std::array{message_from(group())}), -1);
  parties_[0].engine->poll();
  EXPECT_TRUE(readable(descriptor, 0));
}

TEST_F(ReadinessTest, TheArmedDescriptorBecomesReadableNowAndThen) {
  make(Readiness::usual_alarm_ns);
  const int descriptor = *readiness_->descriptor();
  ASSERT_EQ(arm(std::array{message_from(group())}), -1);
  EXPECT_TRUE(readable(descriptor, 20'000));
}

TEST_F(ReadinessTest, AnIdleDescriptorIsNotReadable) {
  const int descriptor = *readiness_->descriptor();
  const std::array awaited = {message_from(group())};
  int quiet = 0;
  for (int call = 0; call < 50 && quiet == 0; ++call) {
    ASSERT_EQ(arm(awaited), -1);
    quiet += readable(descriptor, 0) ? 0 : 1;
  }
  EXPECT_EQ(quiet, 1);
}

}  // namespace
}  // namespace couplet::runtime
