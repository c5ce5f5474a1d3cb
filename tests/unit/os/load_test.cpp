// How much a process runs, as the system says.
#include "os/load.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "os/clock.hpp"
#include "support/child.hpp"

namespace couplet::os {
namespace {

double share_of(std::uint32_t process, std::uint64_t for_ns) {
  RunMeter meter(process);
  static_cast<void>(meter.share(now_ns()));
  ::usleep(static_cast<useconds_t>(for_ns / 1000));
  return meter.share(now_ns());
}

TEST(RunMeterTest, AProcessThatSpinsRunsOrWantsTo) {
  const test::Child child([] {
    for (;;) {
    }
    return 0;
  });
  // The system counts a wait for a core when it has ended, so on a busy machine the last one may be missing.
  double largest = 0;
  for (int attempt = 0; attempt < 50 && largest <= 0.8; ++attempt) {
    largest = std::max(largest, share_of(static_cast<std::uint32_t>(child.process()), 100'000'000));
  }
  EXPECT_GT(largest, 0.8);
}

TEST(RunMeterTest, AProcessThatSleepsDoesNot) {
  const test::Child child([] {
    ::pause();
    return 0;
  });
  // It has to get a core before it can sleep, which takes time on a busy machine.
  double smallest = 1;
  for (int attempt = 0; attempt < 50 && smallest >= 0.2; ++attempt) {
    smallest = std::min(smallest, share_of(static_cast<std::uint32_t>(child.process()), 100'000'000));
  }
  EXPECT_LT(smallest, 0.2);
}

TEST(RunMeterTest, OneThatHasEndedDoesNotAndOneThatIsNotKnownMay) {
  std::uint32_t ended = 0;
  std::optional<RunMeter> meter;
  {
    const test::Child child([] {
      ::pause();
      return 0;
    });
    ended = static_cast<std::uint32_t>(child.process());
    meter.emplace(ended);
  }
  EXPECT_EQ(meter->share(now_ns()), 0);
  EXPECT_EQ(RunMeter(0).share(now_ns()), 1);
}

}  // namespace
}  // namespace couplet::os
