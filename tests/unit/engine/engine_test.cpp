#include "engine/engine.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "os/descriptor.hpp"
#include "os/socket.hpp"
#include "os/ticks.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::engine {
namespace {

using test::TemporaryDirectory;

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = os::Doorbell::open(directory_ / "bell", flag_);
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    doorbell_ = std::move(*opened);
  }
  TemporaryDirectory directory_;
  os::SleepFlag flag_;
  std::unique_ptr<os::Doorbell> doorbell_;
};

// Counts up when its word was set by somebody.
struct WordSource : Source {
  std::atomic<std::uint32_t> given{0};
  std::uint32_t taken = 0;
  std::atomic<int> polls{0};
  int ticks = 0;
  int poll(std::uint64_t, int) override {
    ++polls;
    const std::uint32_t now = given.load(std::memory_order_acquire);
    const auto work = static_cast<int>(now - taken);
    taken = now;
    return work;
  }
  [[nodiscard]] bool ready() const override { return given.load(std::memory_order_acquire) != taken; }
  void tick(std::uint64_t) override { ++ticks; }
};

std::string nothing() {
  return "nothing";
}

constexpr Patience spins{.spin_ns = 20'000, .yield_ns = 20'000};
constexpr Patience never_spins{};

TEST_F(EngineTest, PollDoesWhatThereIsAndNeverBlocks) {
  Engine engine(*doorbell_, spins);
  WordSource source;
  EXPECT_EQ(engine.poll(), 0);
  engine.add(source, Rate::often);
  engine.add(source, Rate::often);  // once is enough
  source.given = 3;
  EXPECT_EQ(engine.poll(), 3);
  EXPECT_EQ(engine.poll(), 0);
  engine.remove(source);
  source.given = 4;
  EXPECT_EQ(engine.poll(), 0);
}

TEST_F(EngineTest, ATimeoutSaysWhatWasAwaited) {
  for (const Patience patience : {spins, never_spins}) {
    Engine engine(*doorbell_, patience);
    WordSource source;
    engine.add(source, Rate::often);
    const Status status = engine.wait([] { return false; }, os::now_ns() + 30'000'000, [] { return "program 'b'"; });
    EXPECT_EQ(status.code(), Code::timeout);
    EXPECT_NE(status.text().find("s for program 'b'"), std::string::npos) << status.text();
    EXPECT_LT(source.polls, 100000);
  }
}

TEST_F(EngineTest, ADeadlineInThePastStillPollsEverythingOnce) {
  for (const Patience patience : {spins, never_spins}) {
    Engine engine(*doorbell_, patience);
    WordSource often;
    WordSource seldom;
    engine.add(often, Rate::often);
    engine.add(seldom, Rate::seldom);
    EXPECT_EQ(engine.wait([] { return false; }, 0, nothing, &often).code(), Code::timeout);
    EXPECT_GE(often.polls, 1);
    EXPECT_EQ(seldom.polls, 1);
    seldom.given = 1;
    EXPECT_TRUE(engine.wait([&] { return seldom.taken == 1; }, 0, nothing, &often).ok());
  }
}

struct ThrowingSource final : WordSource {
  int throws = 3;
  bool of_memory = true;
  int poll(std::uint64_t now_ns, int budget) override {
    if (throws > 0 && throws-- > 0) {
      if (of_memory) throw std::bad_alloc();
      throw std::runtime_error("a mistake");
    }
    return WordSource::poll(now_ns, budget);
  }
};

TEST_F(EngineTest, NoExceptionOfASourcePassesThroughACaller) {
  Engine engine(*doorbell_, spins);
  ThrowingSource source;
  engine.add(source, Rate::often);
  source.given = 1;
  EXPECT_EQ(engine.poll(), 0);
  engine.look_at_all();
  EXPECT_TRUE(engine.wait([&] { return source.taken == 1; }, os::never, nothing).ok());
  EXPECT_EQ(engine.caught_exceptions(), 3U);
  engine.remove(source);  // nobody walks any more: it is gone at once
  source.given = 2;
  EXPECT_EQ(engine.poll(), 0);
}

TEST_F(EngineTest, AnExceptionThatIsNoLackOfMemoryEndsTheWait) {
  Engine engine(*doorbell_, spins);
  ThrowingSource source;
  source.throws = 1;
  source.of_memory = false;
  engine.add(source, Rate::often);
  const Status status = engine.wait([] { return false; }, os::deadline_after(30), nothing);
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_NE(status.text().find("a mistake"), std::string::npos) << status.text();
}

// Fault: a caller that only tests looked at sockets in every 16th call.
TEST_F(EngineTest, WhatNeedsASystemCallIsLookedAtByTimeAndNotByCalls) {
  Engine engine(*doorbell_, spins);
  WordSource seldom;
  engine.add(seldom, Rate::seldom);
  for (int call = 1; call <= 20; ++call) {
    const std::uint64_t start_ns = os::now_ns();
    while (os::now_ns() < start_ns + 20'000) {
    }
    engine.poll();
    EXPECT_EQ(seldom.polls, call);
  }
  const std::uint64_t start_ns = os::now_ns();
  constexpr int calls = 10000;
  for (int call = 0; call < calls; ++call) engine.poll();
  const std::uint64_t passed_us = (os::now_ns() - start_ns) / 1000;
  EXPECT_LE(static_cast<std::uint64_t>(seldom.polls - 20), passed_us * 5 / 2 + 1);  // 2 us, whatever a tick is here
}

// Fault: a rank that waited for a message over memory looked at its sockets, 3 us, whenever 2 us had passed.
TEST_F(EngineTest, BesideACloseLookSystemCallsTakeASmallPartOfTheTime) {
  class SlowSource final : public Source {
   public:
    int poll(std::uint64_t /*now_ns*/, int /*budget*/) override {
      const std::uint64_t start = os::ticks();
      while (os::ticks() - start < os::ticks_per_us) {
      }
      ++polls;
      return work;
    }
    [[nodiscard]] bool ready() const override { return false; }
    std::uint64_t polls = 0;
    int work = 0;
  } seldom;
  Engine engine(*doorbell_, spins);
  engine.add(seldom, Rate::seldom);
  const auto ticks_of = [&engine, &seldom](std::uint64_t polls) {
    seldom.polls = 0;
    const std::uint64_t start = os::ticks();
    while (seldom.polls < polls) engine.poll_others();
    return os::ticks() - start;
  };
  EXPECT_GE(ticks_of(101), 100 * 50 * os::ticks_per_us);  // at least 1 us each, so at most 2 % of the time
  // What moves something is looked at again soon.
  seldom.work = 1;
  ticks_of(1);
  std::uint64_t least = UINT64_MAX;
  for (int trial = 0; trial < 100; ++trial) least = std::min(least, ticks_of(10));
  EXPECT_LE(least, 10 * 10 * os::ticks_per_us);
}

TEST_F(EngineTest, InACrowdNobodySpins) {
  Engine engine(*doorbell_, spins);
  EXPECT_EQ(engine.spin_ns(), spins.spin_ns);
  int runnable = 9;
  engine.set_crowd([&] { return Load{.processes = 9, .usable_cores = 2, .runnable = runnable, .cores = 2}; });
  EXPECT_EQ(engine.spin_ns(), 0U);
  runnable = 1;
  EXPECT_TRUE(engine.wait([&] { return engine.spin_ns() != 0; }, os::deadline_after(60), nothing).ok());
}

TEST(Patience, TheChoiceOfTheUserCounts) {
  EXPECT_GT(patience_for().spin_ns, 0U);
  EXPECT_GT(patience_for().yield_ns, 0U);
  EXPECT_EQ(patience_for(50).spin_ns, 50'000U);
  EXPECT_EQ(patience_for(0).spin_ns, 0U);
}

TEST_F(EngineTest, TheFocusIsLookedAtMostOthersSeldom) {
  Engine engine(*doorbell_, {.spin_ns = 5'000'000, .yield_ns = 0});
  WordSource focus;
  WordSource other;
  WordSource seldom;
  engine.add(focus, Rate::often);
  engine.add(other, Rate::often);
  engine.add(seldom, Rate::seldom);
  EXPECT_TRUE(engine.wait([&] { return focus.polls >= 1280; }, os::never, nothing, &focus).ok());
  EXPECT_GE(other.polls, 40);
  EXPECT_LE(other.polls, 160);
  EXPECT_GE(seldom.polls, 10);
  EXPECT_LE(seldom.polls, 40);
}

TEST_F(EngineTest, TicksAndInterruptsComeInSlices) {
  Engine engine(*doorbell_, never_spins);
  counters::Counters counters;
  engine.set_counters(counters);
  WordSource source;
  engine.add(source, Rate::often);
  int asked = 0;
  engine.set_interrupt([&] { return ++asked == 3; });
  EXPECT_EQ(engine.wait([] { return false; }, os::now_ns() + 250'000'000, nothing).code(), Code::timeout);
  EXPECT_EQ(asked, 0) << "only waits that say so are interrupted";
  EXPECT_EQ(engine.wait([] { return false; }, os::never, nothing, nullptr, true).code(), Code::interrupted);
  EXPECT_EQ(asked, 3);
  EXPECT_GE(counters.get(counters::Counter::sleeps), 2U);
  EXPECT_GE(counters.get(counters::Counter::slept_ns), 50'000'000U);
  EXPECT_GE(counters.get(counters::Counter::polls), 3U);
  EXPECT_GE(source.ticks, 3);
  EXPECT_LE(source.polls, 50) << "it slept in between";
}

TEST_F(EngineTest, AReadableDescriptorWakesItsSource) {
  struct EventSource final : Source {
    explicit EventSource(int number) : descriptor(number) {}
    int poll(std::uint64_t, int) override {
      std::uint64_t count = 0;
      const bool read = ::read(descriptor, &count, sizeof count) == static_cast<ssize_t>(sizeof count);
      events += read ? 1 : 0;
      return read ? 1 : 0;
    }
    [[nodiscard]] bool ready() const override { return false; }
    int descriptor;
    int events = 0;
  };
  Engine engine(*doorbell_, never_spins);
  const os::Descriptor event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  EventSource source(event.number());
  engine.add(source, Rate::seldom);
  ASSERT_TRUE(engine.watch(event.number(), false, source).ok());
  std::thread writer([&] {
    // When the flag is up the engine is about to sleep or does.
    EXPECT_TRUE(test::eventually([&] { return flag_.sleeping.load() == 1; }));
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(event.number(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  });
  EXPECT_TRUE(engine.wait([&] { return source.events == 1; }, os::deadline_after(30), nothing).ok());
  writer.join();
  engine.unwatch(event.number());
  engine.remove(source);
}

TEST_F(EngineTest, SourcesMayComeAndGoWhileTheyArePolled) {
  struct Restless final : Source {
    Engine* engine = nullptr;
    WordSource* other = nullptr;
    int polls = 0;
    int poll(std::uint64_t, int) override {
      if (++polls % 2 == 1) {
        engine->add(*other, Rate::often);
      } else {
        engine->remove(*other);
        engine->remove(*this);
      }
      return 1;
    }
    [[nodiscard]] bool ready() const override { return false; }
  };
  Engine engine(*doorbell_, spins);
  WordSource other;
  Restless restless;
  restless.engine = &engine;
  restless.other = &other;
  engine.add(restless, Rate::often);
  EXPECT_EQ(engine.poll(), 1);
  EXPECT_EQ(other.polls, 1);
  EXPECT_EQ(engine.poll(), 1);
  EXPECT_EQ(engine.poll(), 0);
  EXPECT_EQ(restless.polls, 2);
  EXPECT_EQ(other.polls, 1);
}

// The race between "nothing there, I sleep" and "here is something, does anybody sleep?". The engine would only lose a
// slice (100 ms) by each lost wake-up; test_shm_link has the same race with sleeps that do not end by themselves.
void ping_pong(os::Doorbell& doorbell, os::Bell& other_bell, WordSource& in, std::atomic<std::uint32_t>& out,
               bool begin, Patience patience, std::uint32_t count, bool& in_time) {
  Engine engine(doorbell, patience);
  engine.add(in, Rate::often);
  for (std::uint32_t number = 1; number <= count; ++number) {
    if (begin) {
      out.store(number, std::memory_order_release);
      other_bell.ring_if_asleep();
    }
    const Status status = engine.wait([&] { return in.taken >= number; }, os::deadline_after(60), nothing, &in);
    in_time = in_time && status.ok();
    if (!begin) {
      out.store(number, std::memory_order_release);
      other_bell.ring_if_asleep();
    }
    if (!in_time) {
      return;
    }
  }
}

TEST_F(EngineTest, NoWakeUpIsLostBetweenThreads) {
  os::SleepFlag other_flag;
  auto other_doorbell = os::Doorbell::open(directory_ / "other", other_flag);
  ASSERT_TRUE(other_doorbell.ok());
  for (const Patience patience : {never_spins, Patience{.spin_ns = 0, .yield_ns = 5'000}, Patience{.spin_ns = 3'000}}) {
    WordSource to_here;
    WordSource to_there;
    os::Bell bell_here(directory_ / "bell", flag_);
    os::Bell bell_there(directory_ / "other", other_flag);
    bool here_in_time = true;
    bool there_in_time = true;
    constexpr std::uint32_t count = 20000;
    std::thread there([&] {
      ping_pong(**other_doorbell, bell_here, to_there, to_here.given, false, patience, count, there_in_time);
    });
    ping_pong(*doorbell_, bell_there, to_here, to_there.given, true, patience, count, here_in_time);
    there.join();
    EXPECT_TRUE(here_in_time && there_in_time);
  }
}

TEST_F(EngineTest, ASignalWakesButDoesNotEndTheWait) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  Engine engine(*doorbell_, never_spins);
  WordSource source;
  engine.add(source, Rate::often);
  const pthread_t waiter = ::pthread_self();
  std::thread signaller([&] {
    EXPECT_TRUE(test::eventually([&] { return flag_.sleeping.load() == 1; }));
    ::pthread_kill(waiter, SIGUSR1);
    EXPECT_TRUE(test::eventually([&] { return source.polls >= 2; }));
    source.given = 1;
    os::Bell(directory_ / "bell", flag_).ring_if_asleep();
  });
  EXPECT_TRUE(engine.wait([&] { return source.taken == 1; }, os::deadline_after(30), nothing).ok());
  signaller.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

// Fault: a thread that waited elsewhere, and asked only whether it was interrupted, kept its turn for ever.
TEST_F(EngineTest, AThreadThatWaitsElsewhereLetsOthersIn) {
  Turn turn;
  turn.serialise();
  Engine engine(*doorbell_, spins);
  ASSERT_TRUE(engine.set_turn(turn).ok());
  std::atomic<bool> waits{false};
  bool stop = false;  // belongs to the thread that has the turn
  std::thread waiter([&] {
    ASSERT_TRUE(turn.begin().ok());
    const std::uint64_t deadline_ns = os::deadline_after(60);
    while (!stop && os::now_ns() < deadline_ns) {
      waits = true;
      EXPECT_FALSE(engine.interrupted(os::now_ns()));
    }
    EXPECT_TRUE(stop) << "nobody else got the turn";
    turn.end();
  });
  EXPECT_TRUE(test::eventually([&] { return waits.load(); }));
  ASSERT_TRUE(turn.begin().ok());
  stop = true;
  turn.end();
  waiter.join();
}

}  // namespace
}  // namespace couplet::engine
