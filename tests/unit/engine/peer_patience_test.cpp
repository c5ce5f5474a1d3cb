// Fault: what was on a slow network when its sender left was lost, since leaving waited 5 s however much was taken.
#include "engine/peer_patience.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "engine/engine.hpp"
#include "os/clock.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::engine {
namespace {

constexpr std::uint64_t limit_ns = 300'000'000;

struct PeerPatienceTest : ::testing::Test {
  test::TemporaryDirectory directory;
  os::SleepFlag flag;
  Result<std::unique_ptr<os::Doorbell>> doorbell = os::Doorbell::open(directory / "bell", flag);
  Engine engine{**doorbell, Patience{}};
  std::uint64_t taken = 0;
  int calls = 0;
  PeerPatience patience{limit_ns, [this] {
                          ++calls;
                          return taken;
                        }};

  Status wait(const std::function<bool()>& done) {
    return patience.wait(engine, done, [] { return "the last bytes"; });
  }
};

TEST_F(PeerPatienceTest, EndsAtOnceIfThereIsNothingToWaitFor) {
  EXPECT_TRUE(wait([] { return true; }).ok());
}

TEST_F(PeerPatienceTest, EndsIfNothingIsTakenForTheLimit) {
  const Status status = wait([] { return false; });
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_NE(status.text().find("waited for the last bytes; for 0.3 s no peer has taken anything"), std::string::npos)
      << status.text();
}

TEST_F(PeerPatienceTest, GoesOnAsLongAsSomethingIsTaken) {
  const std::uint64_t start_ns = os::now_ns();
  const auto done = [&] {
    taken = (os::now_ns() - start_ns) / (limit_ns / 3);
    return os::now_ns() - start_ns > 3 * limit_ns;
  };
  EXPECT_TRUE(wait(done).ok());
}

// Ctrl-C while a process left ended the process, so that its peers took it for dead.
TEST_F(PeerPatienceTest, EndsIfTheUserInterrupts) {
  engine.set_interrupt([] { return true; });
  const Status status = patience.wait(
      engine, [] { return false; }, [] { return "the last bytes"; });
  EXPECT_EQ(status.code(), Code::interrupted) << status.text();
}

TEST_F(PeerPatienceTest, BeginsAnewIfItIsTold) {
  EXPECT_EQ(wait([] { return false; }).code(), Code::timeout);
  patience.renew();
  const std::uint64_t start_ns = os::now_ns();
  EXPECT_EQ(wait([] { return false; }).code(), Code::timeout);
  EXPECT_GE(os::now_ns() - start_ns, limit_ns);
}

TEST_F(PeerPatienceTest, WhatOneWaitHasUsedUpTheNextDoesNotHave) {
  EXPECT_EQ(wait([] { return false; }).code(), Code::timeout);
  calls = 0;
  EXPECT_EQ(wait([] { return false; }).code(), Code::timeout);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace couplet::engine
