// Fault: fifty peers that sleep made each message sixty times slower, since processes were counted that exist and not
// those that run.
#include "engine/crowd.hpp"

#include <gtest/gtest.h>

namespace couplet::engine {
namespace {

struct CrowdTest : ::testing::Test {
  Load load{.processes = 52, .usable_cores = 2, .runnable = 2, .cores = 2};
  Crowd crowd{[this] { return load; }};
  std::uint64_t now_ns = 1'000'000'000;

  bool after(int periods) {
    for (int period = 0; period < periods; ++period) {
      now_ns += Crowd::period_ns;
      crowd.look(now_ns);
    }
    return crowd.crowded();
  }
};

TEST_F(CrowdTest, AsManyAsThereAreCoresIsNoCrowd) {
  EXPECT_FALSE(after(1));
  EXPECT_FALSE(after(100));
}

TEST_F(CrowdTest, MoreThatRunThanCoresIsACrowdFromTheFirstLookOn) {
  load.runnable = 8;
  EXPECT_TRUE(after(1));
  EXPECT_TRUE(after(100));
}

TEST_F(CrowdTest, SleepersAreNoCrowd) {  // however many processes there are, only those that run are reported
  load.runnable = 1;
  EXPECT_FALSE(after(10));
}

// Fault: two ranks on two cores slept for each message while a compiler ran beside them: 500 us instead of 0.4.
TEST_F(CrowdTest, OtherProgramsOfTheHostAreNoCrowdForAsManyRanksAsThereAreCores) {
  load.processes = 2;
  load.runnable = 9;
  EXPECT_FALSE(after(1));
  EXPECT_FALSE(after(20));
  load.processes = 3;
  EXPECT_TRUE(after(1));
}

TEST_F(CrowdTest, AnotherOneThatRunsForAMomentIsNoCrowd) {
  EXPECT_FALSE(after(10));
  load.runnable = 3;
  EXPECT_FALSE(after(1));
  load.runnable = 2;
  EXPECT_FALSE(after(1));
}

// Fault: a process that asks is awake itself, and has just woken its peer: two of fifty-two ran, on two cores. That
// counted as a crowd for as long as they did not spin, so they never spun again.
TEST_F(CrowdTest, ACrowdAtTheBeginningDoesNotKeepTwoThatTalkFromSpinning) {
  load.runnable = 12;  // all have just joined
  EXPECT_TRUE(after(3));
  load.runnable = 2;  // fifty sleep
  EXPECT_FALSE(after(40));
  EXPECT_FALSE(after(1000));
}

TEST_F(CrowdTest, AThirdThatKeepsRunningIsACrowdNearlyAlways) {
  EXPECT_FALSE(after(10));
  const auto periods_spun = [this](int periods) {
    int spun = 0;
    for (int period = 0; period < periods; ++period) {
      load.runnable = crowd.crowded() ? 2 : 3;  // while the pair does not spin, one of the two runs, and the third
      spun += after(1) ? 0 : 1;
    }
    return spun;
  };
  EXPECT_LE(periods_spun(1000), 50);  // the first 5 s: trials come after 20, 40, 80, ... ms
  EXPECT_LE(periods_spun(4000), 60);
  load.runnable = 2;  // the third has ended
  EXPECT_FALSE(after(500));
  EXPECT_FALSE(after(1000));
}

TEST_F(CrowdTest, AfterALongCalmTheNextCrowdIsTriedSoonAgain) {
  for (int again = 0; again < 12; ++again) {
    load.runnable = 5;
    EXPECT_TRUE(after(10));
    load.runnable = 1;
    EXPECT_FALSE(after(500)) << again;
  }
  EXPECT_FALSE(after(500));
  load.runnable = 5;
  EXPECT_TRUE(after(10));
  load.runnable = 1;
  EXPECT_FALSE(after(20));
}

TEST_F(CrowdTest, NobodyAsksMoreOftenThanAPeriod) {
  int asked = 0;
  Crowd counted([&] {
    ++asked;
    return Load{};
  });
  for (std::uint64_t time = 1; time < 10; ++time) counted.look(1'000'000'000 + time * 1000);
  EXPECT_EQ(asked, 1);
}

TEST_F(CrowdTest, OnSomeCoresOnlyItCountsWhetherThisThreadHadToWait) {
  load = {.processes = 8, .usable_cores = 4, .runnable = 60, .cores = 64, .restricted = true};
  EXPECT_FALSE(after(10));  // others are busy elsewhere
  load.runnable = 2;
  for (int period = 0; period < 3; ++period) {
    load.delay_ns += Crowd::period_ns / 2;
    EXPECT_TRUE(after(1));
  }
  EXPECT_TRUE(after(5));  // nobody spins, so nobody waits: it must last
  EXPECT_FALSE(after(30));
}

}  // namespace
}  // namespace couplet::engine
